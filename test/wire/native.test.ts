import t from 'tap'
import type { Outcome } from '../../src/sample/outcome.ts'
import { writeNativeResult } from '../../src/wire/native-result.ts'
import { readNativeRows, readNativeSample } from '../../src/wire/native-sample.ts'

t.test('a row becomes a sample with its defaults', async (t) => {
  const expected = { id: '3', prompt: '', response: 'x', groundTruth: null, rmPrompts: {}, extraInfo: {} }
  t.strictSame(readNativeSample({ response: 'x' }, 3), { ...expected, lacksExtraInfo: true })
  t.strictSame(readNativeSample({ response: 'x', extra_info: {} }, 3), expected)
})

t.test('messages, parts of content and the group are read', async (t) => {
  const read = readNativeSample(
    {
      id: 7,
      prompt: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
      response: [
        { role: 'assistant', content: 'one' },
        { role: 'assistant', content: null },
      ],
      group_id: 'g',
      group_index: 1,
      group_size: 4,
      data_source: 'd',
      rm_prompt: 'p',
    },
    0,
  )
  t.match(read, {
    id: '7',
    prompt: [{ role: 'user', content: 'ab' }],
    response: 'one\n',
    group: { id: 'g', index: 1, size: 4 },
    dataSource: 'd',
    rmPrompt: 'p',
  })
})

t.test('an unreadable row says which field is wrong', async (t) => {
  const rows: [unknown, RegExp][] = [
    [{}, /^response/],
    [{ response: 1 }, /^response/],
    [{ response: 'x', groundtruth: '1' }, /groundtruth/],
    ['text', /^sample/],
    [{ response: 'x', ground_truth: JSON.parse('['.repeat(200) + ']'.repeat(200)) }, /^ground_truth: nested/],
  ]
  for (const [row, detail] of rows) {
    t.match(readNativeSample(row, 0), { failure: { kind: 'bad_sample', detail } })
  }
})

t.test('an integer that would be rounded is refused by name, a NaN is kept as an oddity', async (t) => {
  const row = { response: 'x', ground_truth: null }
  t.match(readNativeSample(row, 0, [{ path: ['ground_truth'], literal: '12345678901234567890' }]), {
    failure: { detail: /^ground_truth: an integer beyond/ },
  })
  const nan = [{ path: ['samples', 1, 'extra_info', 'a'], literal: 'NaN' }]
  const [first, second] = readNativeRows([row, row], nan)
  t.match(second, { flags: ['non_finite_input'] })
  t.notOk(first && 'flags' in first)
})

t.test('the id comes back even from an unreadable row', async (t) => {
  const ids = readNativeRows([{ id: 'a' }, null, { id: {} }], []).map(({ id }) => id)
  t.strictSame(ids, ['a', '1', '2'])
})

t.test('a result has the same keys whatever became of its terms', async (t) => {
  const base = { name: 'rule', weight: 2 }
  const failure = { kind: 'judge_timeout', retryable: true, detail: 'late' } as const
  const outcomes: Outcome[] = [
    {
      id: 'a',
      valid: true,
      reward: 1,
      flags: [],
      terms: [
        {
          ...base,
          status: 'scored',
          score: { value: 0.5, parts: { p: 1 } },
          draws: 1,
          spread: 0,
          contribution: 1,
        },
      ],
    },
    { id: 'a', valid: true, reward: 1, flags: [], terms: [{ ...base, status: 'text', texts: ['t'] }] },
    { id: 'a', valid: true, reward: 1, flags: [], terms: [{ ...base, status: 'off', why: 'gate' }] },
    {
      id: 'a',
      valid: false,
      failure,
      substitute: 0.5,
      flags: [],
      terms: [{ ...base, status: 'failed', failure }],
    },
  ]
  const results = outcomes.map(writeNativeResult)
  const keysOf = (value: object) => Object.keys(value).sort()
  for (const result of results) {
    t.strictSame(keysOf(result), keysOf(results[0] ?? {}))
    t.strictSame(keysOf(result.terms.rule ?? {}), keysOf(results[0]?.terms.rule ?? {}))
    t.strictSame(keysOf(result.metrics), ['rule', 'rule_scored'])
  }
  t.match(results[3], { reward: null, substitute: 0.5, terms: { rule: { why: 'judge_timeout' } } })
})
