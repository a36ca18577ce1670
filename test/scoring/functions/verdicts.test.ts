import { deserialize, serialize } from 'node:v8'
import t from 'tap'
import { z } from 'zod'
import {
  type AskName,
  defineGroupRule,
  defineListReward,
  defineModelReward,
  definePairReward,
  defineRule,
  type RewardFunction,
} from '../../../src/contract/index.ts'
import type { Sample } from '../../../src/core/sample/sample.ts'
import {
  packChunk,
  packResults,
  unpackChunk,
  unpackResults,
} from '../../../src/scoring/functions/chunk-message.ts'
import { FrameReader, frame, MalformedMessage } from '../../../src/scoring/functions/frames.ts'
import type { Call } from '../../../src/scoring/functions/function-host.ts'
import type { FunctionJob, JobResult } from '../../../src/scoring/functions/job.ts'
import { decodeResult } from '../../../src/scoring/functions/node-messages.ts'
import { boundedDetails, checkQuestion } from '../../../src/scoring/functions/worker/check-results.ts'
import { bind, describe, runCall } from '../../../src/scoring/functions/worker/run-job.ts'
import { failureOf, sampleOf } from '../../support/function-calls.ts'

const truth = z.unknown()
const range = [0, 1] as const

/** A function that returns `value`, whatever its type says. */
const rule = (value: unknown) => defineRule({ truth, range, parts: ['a'], score: () => value as never })

function run(fn: unknown, op: Call['op'] = 'score', count = 1, answer?: unknown) {
  const rows = Array.from({ length: count }, (_, i) => ({ sample: sampleOf(`r${i}`), earlier: {} }))
  const job = { type: 'call', name: 'f', op, options: '{}', rows, answer: answer as never } as const
  const ended = runCall(fn as RewardFunction, job)
  if (ended.type !== 'called') throw new TypeError(ended.type)
  return ended.result
}

const said = (value: unknown): string => failureOf(run(rule(value)))

t.test('a verdict is a number in range, a score of known keys, or null', async (t) => {
  const score = { value: 1, parts: { a: 2 }, details: { why: 'x' }, flags: ['f'] }
  const verdicts: readonly (readonly [returned: unknown, verdict: unknown])[] = [
    [null, null],
    [0, { value: 0 }],
    [1, { value: 1 }],
    [score, score],
  ]
  for (const [returned, verdict] of verdicts)
    t.strictSame(run(rule(returned)), { status: 'verdicts', verdicts: [verdict] }, JSON.stringify(returned))
})

t.test('minus zero is zero', async (t) => {
  const zero = run(rule(-0))
  t.ok(zero.status === 'verdicts' && Object.is(zero.verdicts[0]?.value, 0))
})

t.test('what is no verdict fails its sample, with what is wrong about it', async (t) => {
  const late = Promise.reject(new Error('late'))
  const refused: readonly (readonly [returned: unknown, reason: string | RegExp])[] = [
    [undefined, 'rule_error: score returned undefined, not a number, a score or null'],
    [Number.POSITIVE_INFINITY, 'rule_error: score returned Infinity'],
    [1.5, 'rule_error: score returned 1.5, outside its range 0 to 1'],
    [-0.5, 'rule_error: score returned -0.5, outside its range 0 to 1'],
    [{ value: -1e-9 }, /outside its range/],
    [[1], /returned an array/],
    [{ value: '1' }, /whose value is string/],
    [{ value: 1, reward: 2 }, /gave it another key/],
    [{ value: 1, parts: [1] }, /parts that are an array/],
    // The part and the remedy (M40).
    [
      { value: 1, parts: { b: 1 } },
      /the part 'b', which its function does not declare: write its name into `parts: \[\.\.\.\]`/,
    ],
    [{ value: 1, parts: { a: Number.NaN } }, /the part a as NaN/],
    [{ value: 1, flags: [1] }, /a flag is text/],
    [{ value: 1, flags: Array(40).fill('x') }, /at most 32/],
    [{ value: 1, details: [] }, /details are an array/],
    [{ value: 1, details: { f: () => 1 } }, /details.f is function, not JSON/],
    [late, /returned a promise: reward functions are synchronous/],
  ]
  for (const [returned, reason] of refused) t.match(said(returned), reason)
})

t.test('a detail named like a property of objects is data', async (t) => {
  const { details, cut } = boundedDetails(JSON.parse('{"__proto__": {"x": 1}, "n": 1, "t": true}'))
  t.notOk(cut)
  t.ok(Object.hasOwn(details, '__proto__'))
  t.equal(Object.getPrototypeOf(details), Object.prototype)
})

t.test('a detail that JSON cannot hold becomes a text, null or nothing', async (t) => {
  t.strictSame(boundedDetails({ n: Number.NaN, i: 10n, u: undefined, a: [undefined] }).details, {
    n: 'NaN',
    i: '10',
    a: [null],
  })
})

t.test('details are cut, however they grow', async (t) => {
  let deep: unknown = 1
  for (let i = 0; i < 10_000; i++) deep = [deep]
  const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key number ${i}`, i]))
  for (const [how, details] of Object.entries({ deep, many: Array(100_000).fill('y'), keys }))
    t.ok(boundedDetails({ [how]: details }).cut, how)
  const { text } = boundedDetails({ text: `${'x'.repeat(4095)}😀` }).details
  t.equal(text, 'x'.repeat(4095), 'no half of a character is left')
})

t.test('any exception is reported by name and place', async (t) => {
  const thrower = (value: unknown) =>
    defineRule({
      truth,
      range,
      score: () => {
        throw value
      },
    })
  t.match(failureOf(run(thrower('secret'))), 'rule_error: score threw a value that is no Error')
  t.match(failureOf(run(thrower(Object.assign(new Error('x'), { name: 'a secret' })))), /threw Error at /)
  const schema = z.unknown().transform(() => JSON.parse('{'))
  const bad = defineRule({ truth: schema, range, score: () => 1 })
  t.match(failureOf(run(bad)), /^bad_sample: .*SyntaxError/)
})

t.test('group rules give one verdict per row', async (t) => {
  const group = (value: unknown) => defineGroupRule({ truth, range, score: () => value as never })
  t.strictSame(run(group([1, null]), 'score', 2), { status: 'verdicts', verdicts: [{ value: 1 }, null] })
  for (const count of [0, 1, 3])
    t.match(failureOf(run(group(Array(count).fill(1)), 'score', 2)), `returned ${count} verdicts for 2 rows`)
  t.match(failureOf(run(group(Array(2)), 'score', 2)), /returned undefined/, 'a hole is no verdict')
  t.match(failureOf(run(group(1), 'score', 2)), /returned a number, not one verdict a row/)
  const strict = defineGroupRule({ truth: z.string(), range, score: () => [1, 1] })
  t.match(failureOf(run(strict, 'score', 2)), /^bad_sample: ground_truth of row 0/)
})

t.test('pairs and lists ask once for their rows', async (t) => {
  const pair = definePairReward({
    ask: 'generate',
    truth,
    range,
    rm_preprocess: (a, b) => `${a.sample.response} or ${b.sample.response}`,
    rm_postprocess: ({ text }) => Number(text),
  })
  t.strictSame(run(pair, 'preprocess', 2), { status: 'question', question: 'r0 or r1' })
  t.strictSame(run(pair, 'postprocess', 2, { text: '0.5' }), {
    status: 'verdicts',
    verdicts: [{ value: 0.5 }],
  })
  t.match(failureOf(run(pair, 'postprocess', 2, { text: '2' })), /^judge_out_of_range/)
  const list = defineListReward({
    ask: 'generate',
    truth,
    range,
    rm_preprocess: (rows) => rows.map(({ sample }) => sample.response).join(),
    rm_postprocess: ({ text }, rows) => (text === '' ? null : rows.map(() => 1)),
  })
  t.strictSame(run(list, 'preprocess', 2), { status: 'question', question: 'r0,r1' })
  t.strictSame(run(list, 'postprocess', 2, { text: '' }), { status: 'verdicts', verdicts: [null, null] })
  t.strictSame(run(list, 'postprocess', 2, { text: 'x' }), {
    status: 'verdicts',
    verdicts: [{ value: 1 }, { value: 1 }],
  })
})

t.test('a function is only asked for hooks of its kind', async (t) => {
  const critique = defineModelReward({ ask: 'generate', truth, range, rm_preprocess: () => 'q' })
  t.match(failureOf(run(critique, 'postprocess', 1, { text: '' })), /a critique has no rm_postprocess/)
  t.match(failureOf(run(critique)), /a model reward has no score/)
  t.match(failureOf(run(rule(1), 'preprocess')), /a rule has no preprocess/)
  t.match(describe('c', critique as RewardFunction), { description: { critique: true, ask: 'generate' } })
})

t.test('a question in the shape of its ask is passed on, without other keys', async (t) => {
  const chat = { kind: 'chat', messages: [{ role: 'user', content: 'x' }] }
  const prompt = { kind: 'prompt', literals: ['a', ''], values: ['v'] }
  t.strictSame(checkQuestion('classify', chat), chat)
  t.strictSame(checkQuestion('generate', { ...prompt, extra: () => 1 }), prompt)
  t.strictSame(checkQuestion('embed', ['a', 'b']), ['a', 'b'])
  const choice = { question: 'q', labels: ['A', 'B'] }
  t.strictSame(checkQuestion('choose', choice), choice)
})

t.test('a question of another shape is refused with what is wrong about it', async (t) => {
  const refused: readonly (readonly [ask: AskName, question: unknown, reason: RegExp])[] = [
    ['embed', [], /texts to embed/],
    ['choose', { question: 'q', labels: ['A', 'A'] }, /all different/],
    ['generate', null, /returned null/],
    ['generate', { kind: 'prompt', literals: ['a'], values: ['v'] }, /do not match/],
    ['generate', { kind: 'chat', messages: [{ content: 'x' }] }, /role and content/],
    ['generate', { kind: 'other' }, /neither a prompt nor a chat/],
    ['generate', 'x'.repeat(17 * 1024 * 1024), /over 16777216 characters/],
  ]
  for (const [ask, question, reason] of refused) t.throws(() => checkQuestion(ask, question), reason)
})

t.test('options are checked when they are bound', async (t) => {
  const odd = (parts: object) => ({ ...rule(1), ...parts }) as RewardFunction
  t.match(bind(odd({ range: () => [1, 0] }), '{}'), {
    problems: [{ message: /gives no \[low, high\] for these options/ }],
  })
  t.match(bind(odd({ truth: () => 1 }), '{}'), { problems: [{ message: /gives no zod schema/ }] })
  t.match(bind(odd({ parts: () => null }), '{}'), { problems: [{ message: /threw TypeError/ }] })
  const reply = { choice: ['1', '0'] }
  const judge = defineModelReward({ ask: 'generate', reply, truth, range, rm_preprocess: () => 'q' })
  const bound = bind(judge as RewardFunction, '{}')
  t.match(bound, { bound: { range: [0, 1], reply } })
  t.strictSame('bound' in bound && bound.bound.parts, [])
})

t.test('frames are read from any pieces, and a length over the limit ends the stream', async (t) => {
  const texts: string[] = []
  const bytes = Buffer.concat([frame('one'), frame('zwei ü'), frame('')])
  for (const size of [1, 2, 5, 100]) {
    const reader = new FrameReader((text) => texts.push(text))
    for (let i = 0; i < bytes.length; i += size) t.ok(reader.read(bytes.subarray(i, i + size)))
  }
  t.strictSame(texts, Array(4).fill(['one', 'zwei ü', '']).flat())
  t.notOk(new FrameReader(() => {}).read(Buffer.from([255, 255, 255, 255])))
})

const bare: Sample = {
  id: '1',
  prompt: 'p',
  response: 'r',
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
  hasExtraInfo: false,
}
const full: Sample = {
  id: '2',
  prompt: [{ role: 'user', content: 'p' }],
  response: '\ud800 lone',
  groundTruth: { a: [1, null] },
  dataSource: 'd',
  rmPrompt: 'q',
  rmPrompts: { s: 'q' },
  group: { id: 'g', size: 2, index: 0 },
  extraInfo: { n: -0, 'a b': true },
  flags: ['non_finite_input'],
}
const { hasExtraInfo: _, ...withInfo } = bare
const earlier = { rule: { score: { value: 1 }, texts: [] } }
const call = (name: string, op: 'score' | 'preprocess', sample: Sample): FunctionJob => ({
  type: 'call',
  name,
  op,
  options: '{}',
  rows: [{ sample, earlier: {} }],
})

t.test('a chunk arrives as it was sent, whatever its jobs', async (t) => {
  const chunk: FunctionJob[] = [
    call('a', 'score', bare),
    call('a', 'score', full),
    call('a', 'score', withInfo),
    call('b', 'score', bare),
    { type: 'describe', name: 'a' },
    call('b', 'preprocess', { ...bare, dataSource: 'd' }),
    { type: 'bind', name: 'a', options: '{"x":1}' },
    {
      type: 'call',
      name: 'b',
      op: 'postprocess',
      options: '{}',
      rows: [{ sample: full, earlier }],
      answer: { text: 'yes', finishReason: 'stop' },
    },
    {
      type: 'call',
      name: 'g',
      op: 'score',
      options: '{}',
      rows: [
        { sample: bare, earlier: {} },
        { sample: full, earlier },
      ],
    },
    call('a', 'score', bare),
  ]
  t.strictSame(unpackChunk(deserialize(serialize(packChunk(chunk)))), chunk)
})

t.test('results arrive in order', async (t) => {
  const verdicts = (...of: ({ value: number } | null)[]): JobResult => ({
    type: 'called',
    result: { status: 'verdicts', verdicts: of },
  })
  const score = {
    value: 0.5,
    parts: { p: 1 },
    details: JSON.parse('{"__proto__":1,"reason":"\\ud800"}'),
    flags: ['f'],
  }
  const results: JobResult[] = [
    verdicts({ value: 1 }),
    { type: 'late' },
    verdicts(score),
    verdicts(null),
    verdicts({ value: 1 }, null),
    { type: 'called', result: { status: 'verdicts', verdicts: [{ value: 0 }] }, error: 'thrown late' },
    {
      type: 'called',
      result: { status: 'failed', failure: { kind: 'rule_error', retryable: false, detail: 'x' } },
    },
    verdicts({ value: -1 }),
  ]
  const ms = results.map((_result, at) => at / 8)
  const arrived = unpackResults(deserialize(serialize(packResults({ results, ms }))))
  t.strictSame(arrived, { results, ms })
  t.equal(JSON.stringify(arrived.results[2]), JSON.stringify(results[2]))
})

t.test('a result that fits no job is malformed, though its message has the right key (M5)', async (t) => {
  const job = call('a', 'score', bare)
  const deep = JSON.parse(`${'['.repeat(9999)}${']'.repeat(9999)}`)
  const forged: Record<string, unknown> = {
    infinite: JSON.parse('1e999'),
    'a text': '1',
    'a value that is a text': { value: '1' },
    'a value that is infinite': { value: JSON.parse('1e999') },
    many: Array.from({ length: 1000 }, () => 1),
    none: [],
    deep,
    'a list of numbers': [1],
    'deep details': { value: 1, details: { deep } },
    'parts that are no numbers': { value: 1, parts: { a: '1' } },
    'too many flags': { value: 1, flags: Array(65).fill('x') },
    'a question': { question: 'x' },
    'a program': { execution: { files: {} } },
    'a failure of no kind': { failed: ['fine', 'x'] },
    'a description': { described: { kind: 'rule' } },
    'bound options': { bound: { range: ['0', '1'], parts: [] } },
    nothing: {},
    true: true,
  }
  for (const [what, result] of Object.entries(forged)) {
    let error: unknown = null
    try {
      decodeResult(result, job)
    } catch (thrown) {
      error = thrown
    }
    t.ok(error instanceof MalformedMessage, `${what}: ${error}`)
  }
  t.strictSame(decodeResult({ value: 1 }, job), {
    type: 'called',
    result: { status: 'verdicts', verdicts: [{ value: 1 }] },
  })
})
