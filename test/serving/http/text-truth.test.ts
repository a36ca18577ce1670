import t from 'tap'
import { z } from 'zod'
import {
  defineGroupRule,
  definePairReward,
  defineRule,
  type RewardFunction,
} from '../../../src/contract/index.ts'
import type { Json } from '../../../src/core/sample/sample.ts'
import { runCall } from '../../../src/scoring/functions/worker/run-job.ts'
import { problemsOf } from '../../../src/scoring/functions/worker/schema-problems.ts'
import { testApp } from '../../support/app.ts'
import { cheapestMs, cpuMs } from '../../support/cpu.ts'
import { sampleOf } from '../../support/function-calls.ts'
import { openLook } from '../../support/preflight.ts'

const game = { steps: [{ name: 'game', function: 'countdown' }] }
const app = await testApp(t, {
  game,
  text: { steps: [{ name: 'same', function: 'exact-match' }] },
})

async function post(url: string, payload: object) {
  const answer = await app.inject({ method: 'POST', url, payload })
  return answer.json()
}

const puzzle = { target: 24, numbers: [4, 6] }
const asText = JSON.stringify(puzzle)
const right = '<think>Four times six.</think><answer>4*6</answer>'
const wrong = '<think>Four plus six.</think><answer>4+6</answer>'

t.test('an object ground truth sent as JSON text is the object, in every format (M37)', async (t) => {
  const samples = [puzzle, asText, ` ${JSON.stringify(puzzle, null, 2)}\n`].flatMap((ground_truth) =>
    [right, wrong].map((response) => ({ prompt: 'p', response, ground_truth })),
  )
  const { results } = await post('/v1/score', { reward: 'game', samples })
  const rewards = results.map(({ reward }: { reward: number }) => reward)
  t.strictSame(
    rewards,
    [1, 0.5, 1, 0.5, 1, 0.5].map((reward, at) => (at % 2 ? rewards[1] : reward)),
  )
  t.ok(rewards[1] < 1)
  t.strictSame(
    results.map(({ flags }: { flags: string[] }) => flags),
    [[], [], ...Array(4).fill(['game:truth_from_text'])],
  )
  const query = [`<|im_start|>user\np<|im_end|>\n<|im_start|>assistant\n${right}`]
  for (const labels of [[asText], [JSON.stringify({ ground_truth: asText })], [{ ground_truth: puzzle }]])
    t.strictSame((await post('/wire/openrlhf/game', { query, labels })).rewards, [1], `${labels}`)
  t.equal(await post('/wire/slime/game', { prompt: 'p', response: right, label: asText }), 1)
  const item = { ground_truth: asText }
  t.match(await post('/wire/azure/game', { sample: { output_text: right }, item }), { score: 1 })
})

t.test('a ground truth with a mistyped key in each of many items is refused in linear time', (t) => {
  const truth = z.array(z.strictObject({ allowed_ids: z.number() }))
  const parsed = truth.safeParse(Array.from({ length: 40_000 }, () => ({ allowed_id: 1 })))
  if (parsed.success) throw new Error('accepted')
  const { error } = parsed
  const ms = cheapestMs(2000, 2, () => problemsOf(error))
  t.ok(ms < 2000, `${ms} ms`)
  t.match(problemsOf(error).at(-1)?.message, "did you mean 'allowed_ids'?")
  t.end()
})

t.test('a text that the function accepts stays a text (M37)', async (t) => {
  const one = async (response: string, ground_truth: string) =>
    (await post('/v1/score', { reward: 'text', samples: [{ response, ground_truth }] })).results[0]
  t.match(await one(asText, asText), { reward: 1, flags: { length: 0 } })
  t.match(await one('4', '"4"'), { reward: 0, flags: { length: 0 } })
  t.match(await one('null', 'null'), { reward: 1, flags: { length: 0 } })
})

/** The ground truth that a rule with this schema gets, with its flags, or the error. */
function read(truth: z.ZodType, sent: Json) {
  let seen: unknown
  const rule = defineRule({
    truth,
    range: [0, 1],
    score(row) {
      seen = row.truth
      return { value: 1, flags: ['own'] }
    },
  })
  const rows = [{ sample: sampleOf('x', sent), earlier: {} }]
  const job = { type: 'call', name: 'f', op: 'score', options: '{}', rows } as const
  const ended = runCall(rule as RewardFunction, job)
  if (ended.type !== 'called') throw new TypeError(ended.type)
  const { result } = ended
  if (result.status === 'failed') return `${result.failure.kind}: ${result.failure.detail}`
  if (result.status !== 'verdicts') throw new TypeError(result.status)
  return { seen, flags: result.verdicts[0]?.flags }
}

const parsed = ['own', 'truth_from_text']

t.test("the function's schema decides what a text is read as (M37)", async (t) => {
  const withText = z.union([z.string(), z.object({ a: z.unknown() })])
  for (const [schema, text, seen, flags] of [
    [z.number(), '42', 42, parsed],
    [z.enum(['A', 'B']), '"A"', 'A', parsed],
    [z.array(z.number()), '[1, 2.5e3]', [1, 2500], parsed],
    [withText, '{"a": 1}', '{"a": 1}', ['own']],
    [z.coerce.number(), '42', 42, ['own']],
    [z.object({ a: z.unknown() }), '{"a": "9007199254740993"}', { a: '9007199254740993' }, parsed],
  ] as const)
    t.strictSame(read(schema, text), { seen, flags }, text)
})

t.test('a key of a text cannot reach a prototype (M37)', async (t) => {
  const { seen } = read(z.record(z.string(), z.unknown()), '{"__proto__": {"polluted": 1}}') as {
    seen: object
  }
  t.equal((seen as { polluted?: number }).polluted, undefined)
})

t.test('a text that would have to be guessed or rounded is refused with its reason (M37)', async (t) => {
  const object = z.object({ a: z.unknown() })
  const refused = {
    '{"a": 9007199254740993}': /^bad_sample: .*as JSON: it holds an integer beyond 2\^53/,
    '{"a": [NaN]}': /^bad_sample: .*as JSON: it holds NaN/,
    '{"a": -Infinity}': /as JSON: it holds NaN/,
    '{"a": 1e999}': /too large/,
    '{"a": 1, "a": 2}': /as JSON: it names a key twice/,
    '{"b": [': /^bad_sample: ground_truth: expected object, received string$/,
    '': /^bad_sample: ground_truth: expected object/,
    None: /^bad_sample: ground_truth: expected object/,
    null: /as JSON: expected object, received null/,
    '"{}"': /as JSON: expected object, received string/,
  }
  for (const [text, reason] of Object.entries(refused)) t.match(read(object, text), reason, text)
  t.match(read(z.object({ a: z.object({ b: z.number() }) }), '{"a": {"b": "x"}}'), /as JSON: a\.b: .*number/)
})

t.test(
  'a missing truth, and one of none of several types, is told without words that say nothing',
  async (t) => {
    const several = z.union([z.string(), z.number(), z.array(z.string()).min(1)])
    for (const [schema, sent, said] of [
      [several, null, 'ground_truth: the row has none; expected string or number or array'],
      [several, true, 'ground_truth: expected string or number or array'],
      [several, [1], 'ground_truth: [0]: expected string, received number'],
      [z.object({ a: z.number() }), null, 'ground_truth: the row has none; expected object'],
      [
        z.strictObject({ allowed_ids: z.array(z.number()) }),
        { allowed_id: [1] },
        'ground_truth: allowed_ids: is missing (expected array); Unrecognized key: "allowed_id"; did you mean \'allowed_ids\'?',
      ],
      [z.object({ a: several }), { a: {} }, 'ground_truth: a: expected string or number or array'],
      [z.unknown().refine((value) => value === 1), 2, "ground_truth: the function's schema refuses it"],
      [z.string().refine((text) => text === 'x', 'must be x'), 'y', 'ground_truth: must be x'],
    ] as const)
      t.equal(read(schema, sent), `bad_sample: ${said}`)
  },
)

t.test('only the scores of rows whose truth was a text are flagged (M37)', async (t) => {
  const group = defineGroupRule({
    truth: z.object({ a: z.number() }),
    range: [0, 1],
    score: (rows) => rows.map((row) => (row.truth.a > 9 ? null : row.truth.a / 10)),
  })
  const rows = ['{"a": 1}', { a: 2 }, '{"a": 10}'].map((sent) => ({
    sample: sampleOf('x', sent),
    earlier: {},
  }))
  const job = { type: 'call', name: 'f', op: 'score', options: '{}', rows } as const
  t.strictSame(runCall(group as RewardFunction, job), {
    type: 'called',
    result: {
      status: 'verdicts',
      verdicts: [{ value: 0.1, flags: ['truth_from_text'] }, { value: 0.2 }, null],
    },
  })
  const pair = definePairReward({
    ask: 'generate',
    truth: z.object({ a: z.number() }),
    range: [0, 1],
    rm_preprocess: () => 'q',
    rm_postprocess: () => 0.5,
  })
  const judged = {
    ...job,
    op: 'postprocess',
    answer: { text: '1' } as never,
    rows: rows.slice(0, 2),
  } as const
  t.match(runCall(pair as unknown as RewardFunction, judged), {
    result: { verdicts: [{ value: 0.5, flags: ['truth_from_text'] }] },
  })
})

t.test('a hostile truth costs linear time and no stack (M37)', async (t) => {
  const object = z.object({ a: z.unknown() })
  const mega = 1 << 20
  const texts = [
    '['.repeat(mega),
    '{"a":'.repeat(mega / 5),
    `{"a":"${'\\u0041'.repeat(mega / 6)}"}`,
    `{"a":${'9'.repeat(mega)}}`,
    `{"a":[${'1,'.repeat(mega / 2)}1]}`,
    ' '.repeat(mega),
    `{${Array.from({ length: mega / 16 }, (_, i) => `"${i}":{}`).join()}}`,
  ]
  for (const text of texts) {
    const start = cpuMs()
    read(object, text)
    const ms = Math.round(cpuMs() - start)
    t.ok(ms < 2000, `${text.slice(0, 12)}: ${ms} ms`)
  }
})

t.test('check --data says that a column of texts is read as JSON (M37)', async (t) => {
  const look = await openLook(t, [])
  const rows = [asText, asText, puzzle].map((ground_truth, at) => ({
    prompt: `Make 24 of 4 and 6, attempt ${at}.`,
    data_source: 'game',
    ground_truth,
    extra_info: { answer: right },
  }))
  const { findings } = await look(game, rows)
  const named = findings.filter(({ name }) => name === 'truth-from-text')
  t.match(named, [{ severity: 'note', count: 2, rows: ['1', '2'], message: /^step game: / }])
  t.notOk(findings.some(({ name }) => name === 'flagged-row' || name === 'refused-truth'))
})
