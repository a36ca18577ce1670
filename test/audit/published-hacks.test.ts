import t from 'tap'
import { audit } from '../../src/audit/audit.ts'
import { attacks as catalogue } from '../../src/audit/catalogue/index.ts'
import { findingsOf } from '../../src/audit/findings.ts'
import { auditParsers } from '../../src/audit/parsers.ts'
import { auditRows } from '../support/audit-rows.ts'
import { testGateway, testModel } from '../support/gateway.ts'
import { hackClasses } from './published-hacks.ts'

const judges = ['yes-no-judge', 'consistency-judge']
/** Rows whose data is at fault: no reward can be right on them. */
const faultyRows = [
  'graph-nameless',
  'graph-text-ids',
  'graph-no-label',
  'graph-status-label',
  'graph-fraction',
]
const known = faultyRows.concat('tool-call-texts', 'tool-call-lists')
/** Sound modes beside those of the classes. */
const more = [
  ['gsm8k-boxed', 'numbers'],
  ['gsm8k-stock', 'numbers'],
  ['math-boxed', 'boxed'],
  ['math-dapo', 'dapo'],
  ['npg-muse-math', 'boxed'],
  ['search-subem', 'search'],
  ['choice-match', 'choices'],
] as const

t.test('the audit finds the hacks of published rewards, and none in their sound modes', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: '1' })
  const used = [...hackClasses.map(({ reward, rows }) => [reward, rows] as const), ...more]
  const names = [...new Set(used.map(([reward]) => reward))]
  const rewards = ['reference', 'sound'].flatMap((mode) =>
    names.map((name) => {
      const [fn, options] =
        name === 'tool-call-thinking' ? ['tool-call', { mode, variant: 'egpo' }] : [name, { mode }]
      const isModal = name !== 'choice-match'
      const step = { name: 'q', function: fn, options: isModal ? options : {} }
      return judges.includes(name)
        ? [`${name}-${mode}`, { models: { judge: config }, steps: [{ ...step, model: 'judge' }] }]
        : [`${name}-${mode}`, { steps: [step] }]
    }),
  )
  const gateway = await testGateway(t, Object.fromEntries(rewards))
  const { signal } = new AbortController()
  const findingsFor = new Map<string, readonly string[]>()
  const succeeded = async (name: string, mode: string, rows: string): Promise<readonly string[]> => {
    const key = `${name}-${mode} ${rows}`
    const done = findingsFor.get(key)
    if (done) return done
    const reward = `${name}-${mode}`
    const chosen = auditRows(rows)
    if (judges.includes(name)) {
      const read = chosen[0] ? await auditParsers(gateway, reward, chosen[0]) : []
      const best = read.filter(({ readAsBest }) => readAsBest).map(({ reply }) => `faulty reply/${reply}`)
      findingsFor.set(key, best)
      return best
    }
    // Each rule's own tests hold its cost; published faults are those of rules.
    const attacks = catalogue.filter(
      ({ against }) => against === 'rule' || (mode === 'sound' && against === 'judge'),
    )
    const findings = findingsOf(await audit(gateway, { reward, rows: chosen, signal, attacks }))
    const found = findings.attacks.filter(({ successes }) => successes > 0).map((one) => one.name)
    findingsFor.set(key, found)
    return found
  }
  let flagged = 0
  for (const { hack, reward, rows, found } of hackClasses) {
    if (found === null) continue
    const names = await succeeded(reward, 'reference', rows)
    const isFound = names.some((one) => one.startsWith(found))
    t.ok(isFound, `${reward}: ${hack}`)
    if (isFound) flagged += 1
  }
  t.comment(`${flagged} of ${hackClasses.length} classes of hacks are found`)
  t.ok(flagged / hackClasses.length >= 0.9, `${flagged} of ${hackClasses.length}`)
  const sound = [...new Set(used.filter(([, rows]) => !known.includes(rows)).map((one) => one.join(' ')))]
  for (const one of sound) {
    const [name = '', rows = ''] = one.split(' ')
    t.strictSame(await succeeded(name, 'sound', rows), [], `${name} in its sound mode on ${rows}`)
  }
})
