import t from 'tap'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { auditRows } from '../../support/audit-rows.ts'
import { compiledFixtures, testGateway, testModel } from '../../support/gateway.ts'
import { configOf, detect, detections } from './detection.ts'

/** A part of `npm run audit:detector`: weak rules of several kinds, old readings, and right rules. */
const chosen = detections.filter(
  ({ group, reader }) =>
    [
      ...['last number', 'English denials', 'some citation', 'words between blanks', 'any character is text'],
      ...['refuses other letters', 'F4 choice-match', 'F6 numeric-match', 'F7 math-boxed'],
    ].includes(reader) ||
    (group === 'right' && /mark|choice|formula|citations|tags/.test(reader)),
)

t.test(
  'the audit finds planted weaknesses and old readings, and raises no alarm on right rules',
  async (t) => {
    const rules = Object.fromEntries(chosen.map((one, at) => [`rule-${at}`, configOf(one)]))
    const gateway = await testGateway(t, rules, { functionFolders: [compiledFixtures('detector')] })
    for (const [at, one] of chosen.entries()) {
      const { group, reader, paid = [], refused = [] } = one
      const found = await detect(gateway, `rule-${at}`, one, 2000)
      for (const family of paid) t.ok(found.paid.has(family), `${group} ${reader}: ${family} is paid`)
      for (const family of refused)
        t.ok(found.refused.has(family), `${group} ${reader}: ${family} is refused`)
      if (group === 'right') t.strictSame(found.alarms, [], reader)
    }
  },
)

t.test('a search against a judge finds forged transcripts and keeps its budget of calls', async (t) => {
  const judge = await testModel(
    t,
    1,
    { policy: 'gullible', answers: { apples: 42 } },
    { guard: { fence: false, tokens: false, verdicts: false, refuse: false } },
  )
  const gateway = await testGateway(
    t,
    {
      naive: {
        models: { judge: judge.config },
        steps: [{ name: 'q', function: 'weak-judge', model: 'judge' }],
      },
    },
    { functionFolders: [compiledFixtures('weak-rewards')] },
  )
  const rows = auditRows('numbers').slice(0, 1)
  const audited = await audit(gateway, {
    reward: 'naive',
    rows,
    signal: new AbortController().signal,
    attacks: [],
    search: { budget: 120, seed: 3, kinds: ['judge'] },
  })
  const families = new Set(
    audited.trials.filter(({ paidInFull }) => paidInFull).map(({ attack }) => attack.family),
  )
  t.ok(families.has('forged transcript'), [...families].join(', '))
  t.ok(audited.trials.some(({ attack }) => attack.family === 'long padding'))
  const calls = judge.servers[0]?.stats().sequences.finished ?? 0
  t.ok(calls > 20 && calls <= 120 + 3, `${calls} calls`)
})
