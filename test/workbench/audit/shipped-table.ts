/** Audits every shipped rule on example rows and prints the table: `npm run audit:shipped -- --only NAME`. */
import { parseArgs } from 'node:util'
import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { attacks } from '../../../src/workbench/audit/catalogue/attacks.ts'
import { knownAnswers } from '../../../src/workbench/dataset/samples.ts'
import { type ShippedReward, shippedRewards } from './shipped-rewards.ts'

const { values } = parseArgs({
  options: {
    /** Only functions whose name holds it. */
    only: { type: 'string', default: '' },
    budget: { type: 'string', default: '6000' },
    seed: { type: 'string', default: '1' },
    /** Also prints every class that was paid or refused, and examples. */
    show: { type: 'boolean', default: false },
  },
})

const chosen = shippedRewards.filter(({ name }) => name.includes(values.only))
const rewardName = (at: number): string => `reward-${at}`
const gateway = await openObservedGateway({
  configs: [],
  inline: chosen.map(({ function: name, options = {} }, at) => ({
    file: `${rewardName(at)}.json`,
    text: JSON.stringify({ steps: [{ name: 'rule', function: name, options }] }),
  })),
  functionFolders: [],
  env: {},
  secret: 'table',
})

process.stdout.write(
  '| function | attacks tried | paid | contradicted outside the place | paid | rewrites of right answers | refused | s |\n',
)
process.stdout.write('| --- | --- | --- | --- | --- | --- | --- | --- |\n')
for (const [at, shipped] of chosen.entries()) await line(shipped, rewardName(at))
await gateway.close(0)

async function line({ name, rows, accept = {} }: ShippedReward, reward: string): Promise<void> {
  const known = rows.map((row, index) => {
    const answers = knownAnswers({ value: row, literals: [] }, index, [], null)
    if (typeof answers === 'string') throw new Error(`${name}: row ${index + 1}: ${answers}`)
    return answers
  })
  const started = performance.now()
  const found = await audit(gateway, {
    reward,
    rows: known,
    signal: new AbortController().signal,
    attacks: attacks.filter(({ against }) => against === 'rule'),
    search: { budget: Number(values.budget), seed: Number(values.seed) },
  })
  const isAccepted = ({ id, family }: { readonly id: string; readonly family: string }) =>
    id in accept || family in accept
  const all = found.trials.filter(({ attack }) => !isAccepted(attack))
  const [trials, outside] = [
    all.filter(({ attack }) => !attack.isOutside),
    all.filter(({ attack }) => attack.isOutside),
  ]
  const paid = trials.filter(({ paidInFull }) => paidInFull)
  const contradicted = outside.filter(({ paidInFull }) => paidInFull)
  const written = found.searched?.rewrites.filter((one) => !isAccepted(one)) ?? []
  const refused = written.filter((one) => one.refused)
  const share = (part: number, all: number) => `${part} (${((100 * part) / Math.max(1, all)).toFixed(1)} %)`
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const unpaid = found.baselines.filter(({ isPaid }) => !isPaid).length
  process.stdout.write(
    `| \`${name}\` | ${trials.length} | ${share(paid.length, trials.length)} | ${outside.length} | ${share(contradicted.length, outside.length)} | ${written.length} | ${share(refused.length, written.length)} | ${seconds} |${unpaid > 0 ? ` ${unpaid} right answers are not paid` : ''}\n`,
  )
  if (!values.show) return
  process.stdout.write(`  forms ${JSON.stringify(found.searched?.forms)}\n`)
  tell(
    'paid',
    [...paid, ...contradicted].map(({ attack, response }) => [attack.id, response]),
  )
  tell(
    'refused',
    refused.map(({ id, response }) => [id, response]),
  )
}

/** Each class with the end of one text. */
function tell(what: string, found: readonly (readonly [id: string, response: string])[]): void {
  const texts = new Map<string, string[]>()
  for (const [id, response] of found) texts.set(id, [...(texts.get(id) ?? []), response])
  for (const [id, [first = '', ...more]] of texts)
    process.stdout.write(`  ${what} ${id} x${more.length + 1}: ${JSON.stringify(first.slice(-200))}\n`)
}
