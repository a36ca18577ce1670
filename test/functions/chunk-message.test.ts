import { deserialize, serialize } from 'node:v8'
import t from 'tap'
import { packChunk, packResults, unpackChunk, unpackResults } from '../../src/functions/chunk-message.ts'
import type { Job, JobResult } from '../../src/functions/job.ts'
import type { Sample } from '../../src/sample/sample.ts'

const bare: Sample = {
  id: '1',
  prompt: 'p',
  response: 'r',
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
  lacksExtraInfo: true,
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
const { lacksExtraInfo: _, ...withInfo } = bare
const earlier = { rule: { score: { value: 1 }, texts: [] } }
const call = (name: string, op: 'score' | 'preprocess', sample: Sample): Job => ({
  type: 'call',
  name,
  op,
  options: '{}',
  rows: [{ sample, earlier: {} }],
})

t.test('a chunk arrives as it was sent, whatever its jobs', async (t) => {
  const chunk: Job[] = [
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

t.test('results arrive in their order, scores and all others', async (t) => {
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
