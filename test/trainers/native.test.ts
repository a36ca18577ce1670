import t from 'tap'
import { isDeeperThan, parseJsonText } from '../../src/core/json/text.ts'
import type { Outcome } from '../../src/core/sample/sample.ts'
import { isPlainRow, nativeSample, readNativeRows, readNativeSample } from '../../src/trainers/native.ts'
import { nativeResultText, writeNativeResult } from '../../src/trainers/native-result.ts'
import { cpuMs } from '../support/cpu.ts'
import { seeded } from '../support/seeded.ts'

t.test('a row becomes a sample with its defaults', async (t) => {
  const expected = { id: '3', prompt: '', response: 'x', groundTruth: null, rmPrompts: {}, extraInfo: {} }
  t.strictSame(readNativeSample({ response: 'x' }, 3), { ...expected, hasExtraInfo: false })
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
        { role: 'tool', content: 'two' },
        { role: 'assistant', content: [{ type: 'text', text: 'three' }] },
      ],
      status: 'truncated',
      tokens: { prompt: 3, response: null },
      policy_version: 7,
      environment: { goal: 0.5 },
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
    response: 'three',
    turns: [
      { role: 'assistant', content: 'one' },
      { role: 'tool', content: 'two' },
      { role: 'assistant', content: 'three' },
    ],
    status: 'truncated',
    tokens: { prompt: 3 },
    policyVersion: { first: 7, last: 7 },
    environment: { goal: 0.5 },
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

t.test("a field with a data set's name is refused with the gateway's name", async (t) => {
  const detailOf = (field: string) => {
    const read = readNativeSample({ response: 'x', [field]: 'y' }, 0)
    return 'failure' in read ? read.failure.detail : ''
  }
  const names = {
    answer: 'ground_truth',
    completion: 'response',
    question: 'prompt',
    metadata: 'extra_info',
  }
  for (const [field, meant] of Object.entries(names))
    t.match(detailOf(field), new RegExp(`"${field}"; did you mean '${meant}'\\?$`))
  for (const field of ['rubrics', 'rubric'])
    t.match(detailOf(field), /; send the rubric as ground_truth, or under this name in extra_info/)
  t.match(detailOf('images'), /"images"; an image is a part of a message of the prompt/)
  t.match(detailOf('prompts'), /did you mean 'prompt'/)
})

t.test('an integer that would be rounded is refused by name, a NaN is kept as a literal', async (t) => {
  const row = { response: 'x', ground_truth: null }
  t.match(readNativeSample(row, 0, [{ path: ['ground_truth'], literal: '12345678901234567890' }]), {
    failure: { detail: /^ground_truth: an integer beyond/ },
  })
  const nan = [{ path: ['samples', 1, 'extra_info', 'a'], literal: 'NaN' }]
  const [first, second] = await readNativeRows([row, row], nan)
  t.match(second, { flags: ['non_finite_input'] })
  t.notOk(first && 'flags' in first)
})

t.test('an unreadable row keeps its id', async (t) => {
  const ids = (await readNativeRows([{ id: 'a' }, null, { id: {} }], [])).map(({ id }) => id)
  t.strictSame(ids, ['a', '1', '2'])
})

t.test('a result has the same keys whatever happened to its terms', async (t) => {
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
          score: {
            value: 0.5,
            parts: { p: 1 },
            details: JSON.parse('{"__proto__":1,"x":"\\"\\ud800"}'),
            flags: ['f'],
          },
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
  for (const [index, result] of results.entries()) {
    t.equal(nativeResultText(outcomes[index] as Outcome), JSON.stringify(result))
    t.strictSame(keysOf(result), keysOf(results[0] ?? {}))
    t.strictSame(keysOf(result.terms.rule ?? {}), keysOf(results[0]?.terms.rule ?? {}))
    t.strictSame(keysOf(result.metrics), ['rule', 'rule_scored'])
  }
  t.match(results[3], { reward: null, substitute: 0.5, terms: { rule: { why: 'judge_timeout' } } })
})

t.test('the metrics of a row without a reward hold no invented number (M38)', async (t) => {
  const failure = { kind: 'judge_timeout', retryable: true, detail: '' } as const
  const base = { id: 'a', flags: [], weight: 1 }
  const scored = { name: 'right', weight: 1, status: 'scored', score: { value: 0.5 } } as const
  const terms = [
    { ...scored, draws: 1, spread: 0, contribution: 0.5 },
    { name: 'broken', weight: 1, status: 'failed', failure },
    { name: 'closed', weight: 1, status: 'off', why: 'gate' },
  ] as const
  const invalid: Outcome = { ...base, terms, valid: false, failure, substitute: 7 }
  const valid: Outcome = { ...base, terms: [terms[0], terms[2]], valid: true, reward: 0.5 }
  for (const write of [writeNativeResult, (one: Outcome) => JSON.parse(nativeResultText(one))]) {
    t.strictSame(write(invalid).metrics, {
      right: 0.5,
      right_scored: 1,
      broken: null,
      broken_scored: 0,
      closed: null,
      closed_scored: 0,
    })
    t.strictSame(write(valid).metrics, { right: 0.5, right_scored: 1, closed: 0, closed_scored: 0 })
  }
})

t.test('a plain row is one that the schema accepts and leaves unchanged', async (t) => {
  const texts = ['', 'a', null, undefined, 1, ['a']]
  const numbers = [0, 1, -1, 1.5, 2 ** 53, '1', null, undefined]
  const values: Record<string, readonly unknown[]> = {
    id: ['a', 1, 1.5, null, undefined],
    prompt: ['p', [{ role: 'user', content: 'p' }], null, undefined],
    response: ['r', 'r', 'r', 1, undefined],
    ground_truth: [null, 1, { a: [] }, undefined],
    data_source: texts,
    group_id: ['g', ...numbers],
    group_index: numbers,
    group_size: numbers,
    rm_prompt: texts,
    rm_prompts: [{ a: 'b' }, null, undefined],
    extra_info: [{ a: 1 }, JSON.parse('{"__proto__":1}'), [], 'a', null, undefined],
    groundtruth: ['1', undefined, undefined, undefined],
  }
  const random = seeded(11)
  const pick = (of: readonly unknown[]) => of[Math.floor(random() * of.length)]
  const rows: unknown[] = [null, 'r', [], { response: 'r' }, JSON.parse('{"response":"r","__proto__":1}')]
  for (let count = 0; count < 3000; count++) {
    const fields = Object.keys(values).filter((key) => key === 'response' || random() < 0.3)
    rows.push(
      JSON.parse(JSON.stringify(Object.fromEntries(fields.map((key) => [key, pick(values[key] ?? [])])))),
    )
  }
  let plain = 0
  for (const row of rows) {
    if (!isPlainRow(row)) continue
    plain += 1
    t.strictSame(nativeSample.parse(row), { prompt: '', ...row })
  }
  t.ok(isPlainRow({ id: 'a', prompt: 'p', response: 'r', ground_truth: {}, group_id: 1, extra_info: {} }))
  t.ok(plain > 10)
})

t.test(
  'Python literals outside of strings are read as null and reported with the first place in each field',
  async (t) => {
    const { value, literals } = parseJsonText(
      '{"a": [1, NaN, -Infinity], "NaN": "say \\"NaN\\" Infinity", "b": Infinity}',
    )
    t.strictSame(value, { a: [1, null, null], NaN: 'say "NaN" Infinity', b: null })
    t.strictSame(literals, [
      { path: ['a', 1], literal: 'NaN' },
      { path: ['b'], literal: 'Infinity' },
    ])
  },
)

t.test('an integer that a double would round is reported, one that fits is kept', async (t) => {
  const { value, literals } = parseJsonText(
    '{"big": 12345678901234567890, "fits": 9007199254740991, "text": "12345678901234567890"}',
  )
  t.strictSame(value, { big: null, fits: 9007199254740991, text: '12345678901234567890' })
  t.strictSame(literals, [{ path: ['big'], literal: '12345678901234567890' }])
})

t.test('text that is not JSON throws, even if it holds such literals', async (t) => {
  for (const text of ['{', '{"a": NaN', '[NaNN]', '{"a": 1} x Infinity', '"NaN']) {
    t.throws(() => parseJsonText(text), SyntaxError, text)
  }
})

t.test('a __proto__ key stays data', async (t) => {
  const { value } = parseJsonText('{"__proto__": {"x": NaN}}')
  t.ok(Object.hasOwn(value as object, '__proto__'))
  t.equal(({} as Record<string, unknown>).x, undefined)
})

t.test('a hostile megabyte of escaped quotes is scanned once', async (t) => {
  const started = cpuMs()
  t.throws(() => parseJsonText(`NaN "${'\\"'.repeat(500_000)}`), SyntaxError)
  t.ok(cpuMs() - started < 2000)
})

t.test('depth is measured without recursion beyond the limit', async (t) => {
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  t.ok(isDeeperThan(deep, 128))
  t.notOk(isDeeperThan({ a: [{ b: 1 }] }, 3))
})
