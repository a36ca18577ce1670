import t from 'tap'
import type { Policy } from '../../../src/simulator/policies.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { probesOff } from '../../support/models.ts'
import { completion, scriptedServer } from '../../support/scripted-server.ts'

/** Is the number even? Draw n of `flips` contradicts draw n - 1; a critique quotes what it saw. */
const parity: Policy = ({ answer, text }, { index }) => {
  if (text.includes('Criticise')) return `It says ${answer}.`
  const isRight = Number.parseInt(answer, 10) % 2 === 0
  return answer.startsWith('7') ? String(index % 2) : isRight ? '1' : '0'
}

t.test('steps ask their models', async (t) => {
  const { servers, config } = await testModel(t, 1, { policy: parity, maxModelLen: 4000 }, { cache: 'never' })
  const no = await testModel(t, 1, { policy: () => '0' })
  const scalar = await testModel(t, 1, {
    policy: ({ answer }) => ({ score: answer.includes('It says 4') ? 1 : 0, reason: '' }),
  })
  const kept = await testModel(t, 1, { policy: () => '1' }, { cache: 'always' })
  const hasty = await scriptedServer((seen) => completion(seen, '1', { finish_reason: 'length' }), ['judge'])
  t.teardown(() => hasty.kill())
  const judge = { name: 'q', function: 'digit-judge', model: 'judge' }
  const panel = { ...judge, model: ['judge', 'no'] }
  const models = { judge: config, no: no.config, scalar: scalar.config }
  const small = { ...config, max_prompt_tokens: 200 }
  const votes = (n: number, aggregate: string, more = {}) => ({
    votes: { n, aggregate, early_stop: true, ...more },
  })
  const gateway = await testGateway(t, {
    majority: { models, steps: [{ ...judge, ...votes(5, 'majority') }] },
    quorum: { models, steps: [{ ...judge, ...votes(4, 'quorum') }] },
    panel: { models, steps: [{ ...panel, votes: { n: 2 } }] },
    agreed: { models, steps: [{ ...panel, ...votes(3, 'majority') }] },
    expected: { models, steps: [{ ...judge, verdict: 'expected' }] },
    'expected-yes': {
      models,
      steps: [{ name: 'y', function: 'yes-no-judge', model: 'judge', verdict: 'expected' }],
    },
    chosen: { models, steps: [{ name: 'c', function: 'label-judge', model: 'judge' }] },
    chain: {
      models,
      steps: [
        { name: 'critique', function: 'critic', model: 'judge', votes: { n: 2 } },
        { name: 'scalar', function: 'scalar-after', model: 'scalar', after: 'critique' },
      ],
    },
    fails: { models: { small }, steps: [{ ...judge, model: 'small' }] },
    counts: {
      models: { counted: { ...small, count_tokens: 'tokenize' } },
      steps: [{ ...judge, model: 'counted' }],
    },
    cuts: {
      models: { cut: { ...small, on_long_prompt: 'truncate_middle', count_tokens: 'tokenize' } },
      steps: [{ ...judge, model: 'cut' }],
    },
    asks: {
      models: { asked: { ...small, on_long_prompt: 'truncate_middle' } },
      steps: [{ name: 'y', function: 'yes-no-judge', model: 'asked' }],
    },
    cutoff: {
      models: { hasty: { ...config, instances: [hasty.url] } },
      steps: [{ ...judge, model: 'hasty' }],
    },
    kept: { models: { kept: kept.config }, steps: [{ ...judge, model: 'kept' }] },
    duel: { models: { small }, steps: [{ name: 'd', function: 'number-duel', model: 'small' }] },
  })
  const asked = () => servers.reduce((sum, one) => sum + one.stats().sequences.finished, 0)
  const one = async (reward: string, response: string, parts = {}) => {
    const before = asked()
    const [outcome] = await outcomesOf(gateway, reward, [sampleOf(response, parts)])
    return { outcome, result: resultOf(outcome), calls: asked() - before }
  }

  await t.test('votes that cannot change the result are not cast', async (t) => {
    t.match(await one('majority', '4'), {
      result: 1,
      calls: 3,
      outcome: { terms: [{ draws: 3, spread: 0 }] },
    })
    t.match(await one('majority', '7'), { result: 0, calls: 5, outcome: { terms: [{ draws: 5 }] } })
    t.match(await one('quorum', '4'), { result: 1, calls: 3 })
    t.match(await one('quorum', '7'), { result: 'judge_unparseable', calls: 4 })
    t.match((await one('quorum', '7')).outcome, { failure: { detail: /votes\.aggregate/ } })
  })

  await t.test('a panel reports its disagreement', async (t) => {
    const { outcome, result, calls } = await one('panel', '4')
    t.equal(result, 0.5)
    t.equal(calls, 2)
    t.match(outcome?.terms[0], { draws: 4, spread: 0.5, score: { details: { panel: { judge: 1, no: 0 } } } })
    t.match(await one('agreed', '5'), {
      result: 0,
      outcome: { terms: [{ draws: 4, score: { details: { panel: { judge: 0, no: 0 } } } }] },
    })
  })

  await t.test('an expected verdict is the probability-weighted mean of the replies', async (t) => {
    const even = await one('expected', '4')
    const odd = await one('expected', '5')
    t.ok(Number(even.result) > 0.75 && Number(even.result) < 1, String(even.result))
    t.ok(Number(odd.result) < 0.25 && Number(odd.result) > 0, String(odd.result))
    const [term] = even.outcome?.terms ?? []
    const { probabilities = {} } = (term?.status === 'scored' && term.score.details) || {}
    const { '1': yes = 0, '0': no = 0 } = probabilities as Record<string, number>
    t.ok(Math.abs(yes + no - 1) < 1e-9)
    t.equal(even.result, yes)
    t.ok(Number((await one('expected-yes', '4')).result) > 0.75)
    t.ok(Number((await one('chosen', '4')).result) > 0.75, 'a function asks for probabilities itself')
    servers[0]?.set({ kind: '500' })
    t.match((await one('expected', '44')).result, /^(judge_unreachable|overloaded)$/)
    servers[0]?.set()
  })

  await t.test('a scalar model judges prompt, response and critique', async (t) => {
    const good = await one('chain', '4')
    const poor = await one('chain', '6')
    t.ok(Number(good.result) > 1 && Number(poor.result) < -1, `${good.result} ${poor.result}`)
    t.equal(good.calls, 2)
    t.match(good.outcome?.terms[0], { status: 'text', texts: ['It says 4.', 'It says 4.'] })
  })

  await t.test('a prompt over the budget fails, and an answer too long by itself is refused', async (t) => {
    t.equal((await one('fails', `4${' '.repeat(300)}`)).result, 1)
    t.match(await one('fails', `4 ${'x'.repeat(2000)}`), {
      result: 0,
      calls: 0,
      outcome: { flags: ['q:refused'] },
    })
    t.match(await one('fails', `4 ${'x'.repeat(690)}`), { result: 'prompt_too_long', calls: 0 })
    t.match(await one('counts', `4 ${'x'.repeat(2000)}`), { result: 0, outcome: { flags: ['q:refused'] } })
    t.match(await one('counts', `4 ${'x'.repeat(600)}`), { result: 1 })
    const pair = ['4', '5'].map((digit, index) =>
      sampleOf(`${digit} ${'x'.repeat(450)}`, { id: digit, group: { id: 'p', index } }),
    )
    const together = (await outcomesOf(gateway, 'duel', pair)).map(resultOf)
    t.strictSame(together, ['prompt_too_long', 'prompt_too_long'], 'each fits alone: neither is to blame')
    servers[0]?.set({ kind: '500' })
    t.match(
      (await one('counts', `4 ${'y'.repeat(600)}`)).result,
      /^(judge_unreachable|overloaded)$/,
      'no count does not mean no limit',
    )
    servers[0]?.set()
  })

  await t.test('truncation cuts the middle of responses, the longest ones most', async (t) => {
    for (const filling of ['x', '好', '🙂', '9 ']) {
      const cut = await one('cuts', `4 ${filling.repeat(3000)}`)
      t.match(cut, { result: 1, calls: 1, outcome: { flags: ['q:truncated'] } }, filling)
    }
    t.match(
      await one('asks', '4 ', { prompt: 'long '.repeat(300) }),
      { result: 'prompt_too_long', calls: 0 },
      'the question is not cut',
    )
    const rows = ['4', '5', `6 ${'x'.repeat(3000)}`].map((response, index) =>
      sampleOf(response, { id: String(index), group: { id: 'g', index } }),
    )
    const [four, five, long] = await outcomesOf(gateway, 'duel', rows)
    t.equal(resultOf(long), 0)
    t.match(long?.flags, ['d:refused'])
    t.ok(Number(resultOf(four)) > 0 && Number(resultOf(five)) > 0)
  })

  await t.test(
    'an answer without a verdict is not cached, so a recovered judge is asked again',
    async (t) => {
      for (const kind of ['refusal', 'length', 'tool-call'] as const) {
        kept.servers[0]?.set({ kind })
        const { outcome } = await one('kept', '4')
        t.match(outcome, { valid: false, failure: { kind: /^judge_/ } }, kind)
        kept.servers[0]?.set()
      }
      t.match(await one('kept', '4'), { result: 1 })
      kept.servers[0]?.set({ kind: 'refusal' })
      t.match(await one('kept', '4'), { result: 1 }, 'a verdict is kept')
      t.equal((await one('cutoff', '4')).result, 'judge_truncated', 'whatever the truncated text says')
    },
  )
})

t.test(
  'a ready answer waits for its group, and a step for its judge, no longer than configured',
  async (t) => {
    const { config } = await testModel(t, 1, { policy: () => '1' }, probesOff)
    const slow = await testModel(t, 1, { policy: () => '1' }, probesOff)
    slow.servers[0]?.set({ kind: 'hang' })
    const clock = fakeClock()
    const calls: string[] = []
    const steps = [
      { name: 'first', function: 'digit-judge', model: 'judge', data_source: 'quick' },
      { name: 'second', function: 'digit-judge', model: 'slow', data_source: 'slow' },
      { name: 'rank', function: 'rank-rule', after: ['first', 'second'] },
    ]
    const models = { judge: config, slow: slow.config }
    const gateway = await testGateway(
      t,
      {
        whole: { models, group: { wait_s: 5 }, steps },
        some: { models, group: { wait_s: 5, min: 2 }, steps },
        hurried: { models, steps: [{ name: 'q', function: 'digit-judge', model: 'slow', timeout_s: 2 }] },
      },
      { clock, events: { functions: { called: ({ op }) => void calls.push(op) } } },
    )
    const rows = ['a', 'bb', 'ccc'].map((response, index) =>
      sampleOf(response, {
        id: response,
        group: { id: 'g', index },
        dataSource: index === 1 ? 'slow' : 'quick',
      }),
    )
    for (const [reward, wanted] of [
      ['whole', ['group_incomplete', 'deadline', 'group_incomplete']],
      ['some', [1, 'deadline', 2]],
    ] as const) {
      calls.length = 0
      const told: unknown[] = []
      const scored = outcomesOf(gateway, reward, rows, {
        deadlineMs: 60_000,
        onOutcome: (index) => told.push(index),
      })
      // Once two verdicts are in, two answers wait for the third.
      while (calls.filter((op) => op === 'postprocess').length < 2) await new Promise(setImmediate)
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      t.strictSame(told, [])
      clock.advance(5001)
      while (told.length < 2) await new Promise(setImmediate)
      clock.advance(60_000)
      t.strictSame((await scored).map(resultOf), wanted, reward)
    }
    const atSlow = () => gateway.models().find(({ name }) => name === 'slow')?.instances[0]?.inFlight
    while (atSlow() !== 0) await new Promise(setImmediate)
    const hurried = outcomesOf(gateway, 'hurried', [sampleOf('4')], { deadlineMs: 60_000 })
    while (atSlow() !== 1) await new Promise(setImmediate)
    clock.advance(1999)
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    t.equal(atSlow(), 1)
    clock.advance(1)
    t.strictSame((await hurried).map(resultOf), ['deadline'], 'a step may have less time than its request')
  },
)
