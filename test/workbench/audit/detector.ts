/** Measures the audit as a detector on the weak and right rules of the fixtures: `npm run audit:detector -- NAME SEED`. */
import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { compiledFixtures } from '../../support/gateway.ts'
import { configOf, detect, detections } from './detection.ts'

const [only = '', seed = '1'] = process.argv.slice(2)
const chosen = detections.filter(({ group, reader }) => `${group} ${reader}`.includes(only))
const gateway = await openObservedGateway({
  configs: [],
  inline: chosen.map((one, at) => ({ file: `rule-${at}.json`, text: JSON.stringify(configOf(one)) })),
  functionFolders: [compiledFixtures('detector')],
  env: {},
  secret: 'detector',
})
const say = (line: string) => process.stdout.write(`${line}\n`)
let [found, wanted, alarms, rights, slowest] = [0, 0, 0, 0, 0]
for (const [at, one] of chosen.entries()) {
  const seen = await detect(gateway, `rule-${at}`, one, 6000, Number(seed))
  slowest = Math.max(slowest, seen.seconds)
  const { group, reader, paid = [], refused = [] } = one
  if (group === 'right') {
    rights++
    if (seen.alarms.length > 0) alarms++
    say(`right    ${reader}: ${seen.alarms.length} alarms in ${seen.seconds.toFixed(1)} s`)
    for (const alarm of seen.alarms.slice(0, 12)) say(`    ${JSON.stringify(alarm)}`)
    continue
  }
  const missed = [
    ...paid.filter((family) => !seen.paid.has(family)),
    ...refused.filter((family) => !seen.refused.has(family)),
  ]
  wanted += paid.length + refused.length
  found += paid.length + refused.length - missed.length
  say(
    `${group}  ${reader}: ${missed.length === 0 ? 'all found' : `MISSED ${missed.join(', ')}`} in ${seen.seconds.toFixed(1)} s`,
  )
}
await gateway.close(0)
const share = ((100 * found) / wanted).toFixed(1)
say(
  `${found} of ${wanted} weaknesses found (${share} %); ${alarms} of ${rights} right rules with an alarm; slowest ${slowest.toFixed(1)} s`,
)
process.exitCode = found < 0.95 * wanted || alarms > 0 ? 1 : 0
