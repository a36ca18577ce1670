import t from 'tap'
import type { FunctionKind } from '../../../src/contract/index.ts'
import type { Json } from '../../../src/core/sample/sample.ts'
import { discover } from '../../../src/scoring/functions/discover.ts'
import type { Call, CallRow } from '../../../src/scoring/functions/function-host.ts'
import type { JobRunner } from '../../../src/scoring/functions/job.ts'
import { inPlace, inPlaceFunctions, inPlaceLimit } from '../../../src/scoring/functions/pooled-host.ts'
import { freeze } from '../../../src/scoring/functions/worker/run-job.ts'
import { numberOf, openWith } from '../../support/function-calls.ts'
import { isWithin } from '../../support/yardstick.ts'

const rowOf = (prompt: string, response: string, groundTruth: Json = null): CallRow =>
  // Own code gets rows as they are: one that it changed would throw.
  freeze({
    sample: { id: '1', prompt, response, groundTruth, rmPrompts: {}, extraInfo: {} },
    earlier: { critique: { score: null, texts: [response.slice(0, 100)] } },
  })

const host = await openWith([])
t.teardown(() => host.close())

const kinds = new Map<string, FunctionKind>()
for (const name of inPlaceFunctions) kinds.set(name, (await host.describe(name)).kind)
const ofRow: readonly (FunctionKind | undefined)[] = ['model', 'questions']
const names = [...inPlaceFunctions].filter((name) => kinds.get(name) !== 'rule')
const rules = [...inPlaceFunctions].filter((name) => kinds.get(name) === 'rule')

const truthOf = (name: string): Json =>
  name === 'countdown'
    ? { target: 24, numbers: [2, 3, 4] }
    : name.startsWith('search')
      ? { target: ['7'] }
      : name === 'choice-match'
        ? 'A'
        : name === 'rubric-judge'
          ? [
              { text: 'Names the number', must: true },
              { text: 'Is short', weight: -2 },
            ]
          : '7'

/** Milliseconds of this process's time, its threads' too; the least of three tries, so that a collection of garbage is none. */
async function busyMs(work: () => Promise<unknown>): Promise<number> {
  const tries: number[] = []
  for (let at = 0; at < 3; at += 1) {
    const began = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(began)
    tries.push((user + system) / 1000)
  }
  return Math.min(...tries)
}

const callOf = async (name: string, op: 'preprocess' | 'postprocess', response: string, reply: string) => {
  const { ask } = await host.describe(name)
  const decided = { probabilities: [0.5, 0.5], expected: 0.5, mass: 1 }
  const answer = ask === 'classify' ? 0.5 : ask === 'decide' ? decided : { text: reply, finishReason: 'stop' }
  const bound = await host.bind(name, {})
  const truth = truthOf(name)
  const rows = [rowOf('How many?', response, truth), rowOf('How many?', `${response}!`, truth)]
  return {
    op,
    function: bound,
    rows: ofRow.includes(kinds.get(name)) ? rows.slice(0, 1) : rows,
    ...(op === 'postprocess' && { answer, ...(kinds.get(name) === 'questions' && { at: 0 }) }),
  }
}

t.test(
  'a judge of the package asks the same of an answer that is too long for the main thread',
  async (t) => {
    for (const name of names) {
      const long = 'x'.repeat(inPlaceLimit.preprocess + 1)
      const [short, other] = await Promise.all(
        ['y', long].map(async (text) => host.call(await callOf(name, 'preprocess', text, ''))),
      )
      t.match(short?.status, /^questions?$/, name)
      const spelled = JSON.stringify(short).replaceAll('y!', `${long}!`).replaceAll('"y"', `"${long}"`)
      if (name !== 'scalar-score')
        t.equal(JSON.stringify(other) === spelled, true, `${name}: the same question`)
      else t.equal(other?.status, 'question', name)
    }
  },
)

t.test('a call with a text too long for the main thread goes to a worker', async (t) => {
  const elsewhere: JobRunner = { run: (_job, end) => end({ status: 'overloaded' }), close: async () => {} }
  const runner = inPlace((await discover([])).sources, elsewhere)
  const status = (row: CallRow, answer?: Call['answer']) =>
    new Promise((resolve) => {
      const op = answer === undefined ? 'preprocess' : 'postprocess'
      const job = { type: 'call', name: 'yes-no-judge', op, options: '{}', rows: [row] } as const
      runner.run(answer === undefined ? job : { ...job, answer }, (end) => resolve(end.status))
    })
  const [short, long] = [rowOf('p', 'r'), 'x'.repeat(inPlaceLimit.preprocess)]
  const withSample = (parts: Partial<CallRow['sample']>): CallRow => ({
    ...short,
    sample: { ...short.sample, ...parts },
  })
  t.equal(await status(short), 'done')
  t.equal(await status(short, { text: 'Yes', finishReason: 'stop' }), 'done')
  for (const parts of [
    { response: long },
    { prompt: long },
    { prompt: [{ role: 'user', content: long }] },
    { rmPrompt: long },
    { groundTruth: long },
    { groundTruth: { target: [long] } },
  ])
    t.equal(await status(withSample(parts)), 'overloaded', Object.keys(parts).join())
  t.equal(await status({ ...short, earlier: { critique: { score: null, texts: [long] } } }), 'overloaded')
  t.equal(await status(short, { text: long, finishReason: 'stop' }), 'overloaded')
})

t.test('no text blocks the main thread', async (t) => {
  const pieces = [
    '{',
    '{a',
    '[',
    ' ',
    '\n',
    '"',
    '<think>',
    '</think>',
    '1(',
    '1 )',
    '\\',
    '{"scores":[',
    '“',
    'é',
  ]
  for (const name of names) {
    for (const piece of pieces) {
      const text = piece.repeat(Math.floor(inPlaceLimit.preprocess / piece.length / 4))
      for (const op of ['preprocess', 'postprocess'] as const) {
        if (op === 'postprocess' && (await host.describe(name)).critique) continue
        const call = await callOf(name, op, op === 'preprocess' ? text : 'x', text)
        let status = ''
        const ms = await busyMs(async () => ({ status } = await host.call(call)))
        t.ok(isWithin(ms, 150), `${name} ${op} ${JSON.stringify(piece)}: ${ms} ms`)
        t.not(status, 'failed', `${name} ${op} ${JSON.stringify(piece)}`)
      }
    }
  }
})

t.test('a rule of the package scores an answer the same on the main thread and in a worker', async (t) => {
  const answers = [
    '#### 7',
    'A',
    '<answer>7</answer>',
    '\\boxed{7}',
    'none',
    '<think>two by three</think><answer>2 * 3 * 4</answer>',
    '7',
  ]
  for (const name of rules) {
    const bound = await host.bind(name, {})
    const scoreOf = async (response: string) =>
      JSON.stringify(
        await host.call({ op: 'score', function: bound, rows: [rowOf('p', response, truthOf(name))] }),
      )
    const said = new Set<string>()
    for (const answer of answers) {
      const here = await scoreOf(answer)
      said.add(here)
      t.match(here, '"verdicts"', `${name}: ${answer}`)
      // Blanks before an answer say nothing; so many take it to a worker.
      t.equal(await scoreOf(`${' '.repeat(inPlaceLimit.score)}${answer}`), here, `${name}: ${answer}`)
    }
    t.ok(said.size > 1, `${name} tells answers apart`)
  }
})

t.test("rules beyond a turn's share go to the workers, and none is lost or mixed up", async (t) => {
  const bound = await host.bind('exact-match', {})
  const filler = 'x'.repeat(20_000)
  const results = await Promise.all(
    Array.from({ length: 1000 }, (_, at) =>
      host.call({ op: 'score', function: bound, rows: [rowOf('p', `${filler}${at % 3}`, `${filler}1`)] }),
    ),
  )
  const values = results.map(numberOf)
  t.same(
    values,
    values.map((_, at) => Number(at % 3 === 1)),
  )
})

t.test('no answer or ground truth makes a rule block the main thread', async (t) => {
  const pieces = [
    '#',
    '#### ',
    '1',
    '-',
    '1,',
    '\\boxed{',
    '{',
    '<answer>',
    '</answer>',
    '(',
    '1+',
    ' ',
    '\n',
    'é',
    '$',
    'A ',
    'the answer is ',
  ]
  for (const name of rules) {
    const bound = await host.bind(name, {})
    for (const piece of pieces) {
      const text = piece.repeat(Math.floor(inPlaceLimit.score / piece.length) - 50)
      const row = rowOf('p', text, truthOf(name))
      const ms = await busyMs(() => host.call({ op: 'score', function: bound, rows: [row] }))
      t.ok(isWithin(ms, 60), `${name} ${JSON.stringify(piece)}: ${ms} ms`)
    }
    let deep: Json = 'x'
    for (let level = 0; level < 5000; level += 1) deep = [deep]
    const truths: Json[] = ['7'.repeat(70_000), deep, Array<Json>(70_000).fill(0)]
    for (const truth of truths) {
      const row = { sample: { ...rowOf('p', '7').sample, groundTruth: truth }, earlier: {} }
      const { status } = await host.call({ op: 'score', function: bound, rows: [row] })
      t.ok(['failed', 'verdicts'].includes(status), name)
    }
  }
})

t.test('a closed host runs nothing in place either', async (t) => {
  const other = await openWith([])
  const bound = await other.bind('yes-no-judge', {})
  await other.close()
  const result = await other.call({ op: 'preprocess', function: bound, rows: [rowOf('a', 'b')] })
  t.equal(result.status === 'failed' && result.failure.kind, 'cancelled')
})
