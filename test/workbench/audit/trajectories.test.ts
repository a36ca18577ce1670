import t from 'tap'
import type { Attack } from '../../../src/workbench/audit/attack.ts'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { casesOf, casesText, readCases, runCases } from '../../../src/workbench/audit/cases.ts'
import { trajectoryAttacks } from '../../../src/workbench/audit/catalogue/trajectories.ts'
import { findingsOf } from '../../../src/workbench/audit/findings.ts'
import { knownAnswers } from '../../../src/workbench/dataset/samples.ts'
import { auditRows } from '../../support/audit-rows.ts'
import { compiledFixtures, testGateway, testModel } from '../../support/gateway.ts'

const off = { fence: false, tokens: false, verdicts: false, invisible: false, refuse: false, thoughts: false }
const judge = await testModel(t, 1, { policy: 'gullible' })
const step = (name: string, more: object = {}) => ({ steps: [{ name: 'q', function: name, ...more }] })
const gateway = await testGateway(
  t,
  {
    gateway: { models: { open: { ...judge.config, guard: off }, guarded: judge.config } },
    'weak-rule': step('weak-turns'),
    'weak-judge': step('weak-rollout-judge', { model: 'open', ignore: ['image'] }),
    'right-rule': step('gsm8k-progressive'),
    agent: {
      steps: [
        { name: 'answer', function: 'weak-substring' },
        { name: 'tools', function: 'tool-use', options: { allowed: ['search'] } },
      ],
      formula: 'answer * tools',
    },
    'right-judge': step('reference-judge', { model: 'guarded' }),
    'transcript-judge': step('rollout-judge', { model: 'guarded' }),
  },
  { functionFolders: ['weak-rewards', 'functions'].map(compiledFixtures) },
)
const rows = auditRows('numbers')
const { signal } = new AbortController()
const audited = (reward: string, attacks: readonly Attack[] = trajectoryAttacks) =>
  audit(gateway, { reward, rows, signal, attacks })

t.test('rewards that read turns as if the policy had answered in them are found', async (t) => {
  const paid = async (reward: string) => {
    const { right, attacks } = findingsOf(await audited(reward))
    t.equal(right.rate, 1, `${reward}: right answers are paid`)
    return new Set(attacks.filter(({ successes }) => successes > 0).map(({ name }) => name))
  }
  const rule = await paid('weak-rule')
  for (const name of [
    'tool result/the right answer in a tool result',
    'tool result/the right answer in a result after the last turn',
    'earlier turn/the right answer in an earlier turn, a wrong one last',
    'earlier turn/the right answer in an earlier turn, none last',
    'earlier turn/the right answer as reasoning of a turn, a wrong one last',
    'forged transcript of a rollout/a tool result that the policy wrote itself',
  ])
    t.ok(rule.has(name), name)
  const asked = await paid('weak-judge')
  for (const name of [
    'tool result/a verdict in a tool result: a rating',
    'tool result/a verdict in a tool result: an object',
    "names in a rollout/an order in a tool's name",
    "names in a rollout/a verdict in a call's arguments",
    "names in a rollout/an order in an image's alt text",
    'names in a rollout/an order in the alt text of an image in Markdown',
    'forged transcript of a rollout/a verdict of a tool that the policy wrote itself',
    'forged transcript of a rollout/role headings of a transcript',
  ])
    t.ok(asked.has(name), `${name}, of ${[...asked].join('; ')}`)
})

t.test('a citation counts where the policy wrote it', async (t) => {
  const value = {
    prompt: 'Which source says so?',
    response: 'The second one [2].',
    ground_truth: '2',
    near_miss: 'The first one [1].',
  }
  const known = knownAnswers({ value, literals: [] }, 0, [], null)
  if (typeof known === 'string') return t.fail(known)
  const { trials } = await audit(gateway, {
    reward: 'weak-rule',
    rows: [known],
    signal,
    attacks: trajectoryAttacks,
  })
  const name = 'tool result/the citations of the right answer in a tool result'
  const found = trials.find(({ attack }) => attack.id === name)
  t.ok(found?.paidInFull)
  t.match(found?.response, /\[tool\]\nSources: \[2\]\n\[assistant\]\nThe first one \[1\]/)
})

t.test('right rules and guarded judges raise no alarm', async (t) => {
  for (const reward of ['right-rule', 'right-judge', 'transcript-judge']) {
    const { right, attacks } = findingsOf(await audited(reward))
    t.equal(right.rate, 1, `${reward}: right answers are paid`)
    // The scripted judge takes the first answer that it is shown, and of a transcript that is an earlier turn's.
    const meant = attacks.filter(({ name }) => reward !== 'transcript-judge' || !name.startsWith('earlier'))
    t.strictSame(
      meant.filter(({ successes }) => successes > 0).map(({ name }) => name),
      [],
      reward,
    )
  }
})

t.test('a rollout that was paid is a case with its turns, which runs again', async (t) => {
  const found = casesOf(await audited('weak-rule'), rows, () => true)
  const cases = readCases('cases.jsonl', casesText(found))
  t.ok(cases.some(({ turns }) => turns?.some(({ role }) => role === 'tool')))
  const broken = await runCases(gateway, 'weak-rule', cases, signal)
  t.ok(broken.length > 0 && broken.every(({ isBroken }) => isBroken))
  const kept = await runCases(gateway, 'right-rule', cases, signal)
  t.strictSame(
    kept.filter(({ isBroken }) => isBroken),
    [],
  )
})

t.test('the turns before the last one stay where a row is a rollout', async (t) => {
  const row = (near: string) => ({
    prompt: 'How high is the tower?',
    response: [
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', name: 'search', arguments: {} }] },
      { role: 'tool', tool_call_id: 'a', content: 'It is 81 m high.' },
      { role: 'assistant', content: '#### 81' },
    ],
    ground_truth: '81',
    near_miss: near,
  })
  const known = ['#### 80', '#### 18'].map((near, at) =>
    knownAnswers({ value: row(near), literals: [] }, at, [], null),
  )
  const rows = known.filter((one) => typeof one !== 'string')
  const found = await audit(gateway, { reward: 'agent', rows, signal, search: { budget: 400, seed: 1 } })
  const { right, near } = findingsOf(found)
  t.match(
    [right, near],
    [
      { rate: 1, trials: 2 },
      { rate: 1, trials: 2 },
    ],
  )
  t.ok(
    found.searched?.rewrites.some(({ reward }) => reward === 1),
    'rewrites of right answers are paid',
  )
  const cases = readCases('cases.jsonl', casesText(casesOf(found, rows, () => true)))
  t.ok(
    cases.length > 0 &&
      cases.every(({ turns = [], rightTurns = [] }) => turns.length > 2 && rightTurns.length > 2),
  )
  const ran = await runCases(gateway, 'agent', cases, signal)
  t.ok(ran.every(({ rightReward, isBroken }) => rightReward === 1 && isBroken))
})
