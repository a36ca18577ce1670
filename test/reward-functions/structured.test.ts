import t from 'tap'
import jsonSchema from '../../reward-functions/json-schema.ts'
import toolCall from '../../reward-functions/tool-call.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { cpuMs } from '../support/cpu.ts'
import { nearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'

const schema = {
  type: 'object',
  required: ['city', 'days'],
  additionalProperties: false,
  properties: {
    city: { type: 'string', pattern: '^(a+)+$|^[A-Z][a-z]+$' },
    days: { type: 'array', items: { type: 'object' }, uniqueItems: true },
  },
}

t.test('json-schema keeps its contract', async (t) => {
  ruleContract(t, jsonSchema, {
    options: { schema },
    full: { response: '{"city": "Paris", "days": [{"n": 1}, {"n": 2}]}' },
    zero: { response: '{"city": "Paris"}' },
    malformed: { response: '{"city": "Paris", "days": [' },
    hacks: {
      'a key twice': { response: '{"city": "x", "city": "Paris", "days": []}' },
      'equal items in another order of keys': {
        response: '{"city": "Paris", "days": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}',
      },
      'a name that every object inherits': { response: '{"city": "Paris", "days": [], "__proto__": 1}' },
      'text around': { response: 'Here: {"city": "Paris", "days": []}' },
      'two blocks': {
        response: '```json\n{"city": "Paris", "days": []}\n```\n```json\n{"city": "Lyon", "days": []}\n```',
      },
      'a number beyond JSON': { response: '{"city": "Paris", "days": [], "x": NaN}' },
    },
  })
})

const fits = (response: string, options: { [name: string]: Json }) =>
  valueBy(jsonSchema)(response, null, options)

t.test('json-schema: JSON stands alone, or in one fenced block', async (t) => {
  const fenced = 'Here:\n```json\n{"city": "Paris", "days": []}\n```'
  t.equal(fits(fenced, { schema }), 1)
  t.equal(fits(fenced, { schema, fence: 'forbid' }), 0)
  t.equal(fits('<answer>[1]</answer>', { schema: { type: 'array' }, place: 'tag' }), 1)
  t.equal(fits('<think>[1]', { schema: { type: 'array' } }), 0)
})

t.test('json-schema: inherited names are not properties', async (t) => {
  t.equal(fits('{}', { schema: { required: ['toString'] } }), 0)
  t.equal(fits('{"toString": 1}', { schema: { required: ['toString'] } }), 1)
  t.equal(fits('[1, "1"]', { schema: { uniqueItems: true } }), 1)
  t.equal(fits('[1, 1]', { schema: { uniqueItems: false } }), 1)
})

t.test('json-schema: an invalid schema is refused with the options', async (t) => {
  const faulty = [{ type: 'strin' }, { pattern: '(?=a)' }, { $ref: 'http://localhost/x' }, { $async: true }]
  for (const bad of faulty) t.throws(() => row(jsonSchema, { options: { schema: bad } }), JSON.stringify(bad))
  for (let i = 0; i < 40; i++) t.equal(fits(`${i}`, { schema: { const: i } }), 1)
  t.equal(fits('"b"', { schema: { pattern: '^a$' } }), 0, 'patterns do not stand in for each other')
  t.equal(fits('"b"', { schema: { pattern: '^b$' } }), 1)
})

t.test('json-schema: a score says what is wrong, and where', async (t) => {
  const reason = (response: string): unknown =>
    scored(jsonSchema, { response, options: { schema } })?.details?.reason
  t.equal(reason('{"city": "Paris", "days": [1]}'), '/days/0 must be object')
  t.equal(reason('{"city": "Paris"}'), "must have required property 'days'")
  t.equal(reason('{'), 'not_json')
  t.equal(reason('{"a": 1, "a": 1}'), 'repeated_key')
  t.equal(reason(''), 'no_answer')
})

type Options = { mode?: 'published'; variant?: 'grpo' | 'egpo' }

const called = (response: unknown, groundTruth: unknown, options: Options = {}): Score =>
  toolCall.score({
    sample: {
      id: 'a',
      prompt: '',
      response: response as string,
      groundTruth: null,
      rmPrompts: {},
      extraInfo: {},
    },
    truth: toolCall.truth(toolCall.options.parse(options)).parse(groundTruth),
    options: toolCall.options.parse(options),
    earlier: {},
  }) as Score

const call = (args: string, name = 'book'): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

const published = { mode: 'published' } as const
const wanted = call('{"seats": [1, 2], "window": true}')

t.test('tool-call keeps its contract', async (t) => {
  ruleContract(t, toolCall, {
    full: { response: wanted, groundTruth: wanted },
    zero: { response: 'I call nothing.', groundTruth: wanted },
    malformed: { response: '<tool_call>', groundTruth: wanted },
    hacks: {
      'a call inside the thinking': { response: `<think>${wanted}</think>Done.`, groundTruth: wanted },
      'a second call that undoes the first': { response: wanted + call('{}', 'cancel'), groundTruth: wanted },
    },
  })
})

t.test('tool-call: the calls of the response earn the mark of their variant', async (t) => {
  const thinking = `<think>Two seats.</think>\n\n${wanted}`
  t.strictSame(called(wanted, wanted), {
    value: 1.1,
    parts: { format: 1, correctness: 1 },
    details: { read: 'text' },
  })
  t.equal(called(wanted, wanted, { variant: 'grpo' }).value, 1)
  t.equal(called(thinking, wanted, { variant: 'egpo' }).value, 1)
  t.equal(called(call('{}'), wanted).value, 0.1)
  t.equal(called(call('{}'), wanted, { variant: 'grpo' }).value, 0)
  t.equal(called(`<THINK>Two seats.</THINK>\n\n${wanted}`, wanted, { variant: 'egpo' }).value, 1)
  t.equal(called('no call', wanted).value, 0)
  t.equal(
    called(`${call('{"b": 1.0, "a": "\\u4f60"}')} and ${wanted}`, wanted + call('{"a":"你","b":1}')).value,
    1.1,
  )
})

t.test('tool-call: the range is that of the variant', async (t) => {
  t.strictSame(toolCall.range(toolCall.options.parse({})), [0, 1.1])
  t.strictSame(toolCall.range(toolCall.options.parse({ variant: 'egpo' })), [0, 1])
})

t.test('tool-call: a low score says why, and where the calls differ', async (t) => {
  const reasons: [string, string, Options?][] = [
    ['I call nothing.', 'no_call'],
    [`${wanted}<tool_call>`, 'tags_unbalanced'],
    [`</tool_call>${wanted}`, 'tags_unbalanced'],
    [`<tool_call>${wanted}`, 'tags_unbalanced'],
    [`<tool_call>[1,]</tool_call>`, 'not_json'],
    [call('{"seats": NaN}'), 'not_json'],
    [call('{"seats": 1, "seats": 2}'), 'repeated_key'],
    [call('[]'), 'not_a_call'],
    [call('{}', ''), 'not_a_call'],
    ['<tool_call>{"name": "book", "arguments": {}, "id": 1}</tool_call>', 'not_a_call'],
    ['<tool_call>[]</tool_call>', 'not_a_call'],
    [`<think>a</think></think>${wanted}`, 'thinking_repeated'],
    [`<think>${wanted}`, 'thinking_unclosed'],
    [`<THINK>${wanted}</THINK>`, 'no_call'],
    [`<Think>${wanted}`, 'thinking_unclosed'],
    [wanted, 'no_thinking', { variant: 'egpo' }],
    [`<think> </think>${wanted}`, 'no_thinking', { variant: 'egpo' }],
    [wanted, 'no_thinking', { variant: 'egpo', ...published }],
  ]
  for (const [response, reason, options] of reasons) {
    t.match(called(response, wanted, options), { value: 0, details: { reason } }, reason)
  }
  const at = (response: string): unknown => called(response, wanted).details?.at
  t.equal(at(call('{"seats": [1, 3], "window": true}')), 'call 1: arguments.seats[1]')
  t.equal(at(wanted + wanted), 'call 2: not wanted')
  t.equal(called(wanted, wanted + call('{}')).details?.at, 'wanted call 2: missing')
})

t.test('tool-call: named hacks of the original earn nothing, but do in published mode', async (t) => {
  const hacks: Record<string, [string, string]> = {
    'a call inside the thinking': [`<think>${wanted}</think>I call nothing.`, wanted],
    'lists in any order': [call('{"seats": [2, 1, 1], "window": true}'), wanted],
    'a number for a boolean': [call('{"seats": [1, 2], "window": 1}'), wanted],
    'an unterminated second call': [`${wanted}<tool_call>{"name":"drop"`, wanted],
    'text that is equal but no JSON': ['<tool_call>oops</tool_call>', '<tool_call>oops</tool_call>'],
    'a JSON text for raw text': ['<tool_call>"oops"</tool_call>', '<tool_call>oops</tool_call>'],
    'an empty list for an empty object': ['<tool_call>[]</tool_call>', '<tool_call>{}</tool_call>'],
    'a key twice': [`<tool_call>{"name":"drop",${wanted.slice(13)}`, wanted],
  }
  for (const [name, [response, truth]] of Object.entries(hacks)) {
    t.ok(called(response, truth).value <= 0.1, name)
    t.equal(called(response, truth, { variant: 'grpo' }).value, 0, name)
    t.equal(called(response, truth, published).value, 1.1, `${name}, published`)
  }
  t.equal(called('</tool_call><tool_call>', wanted, published).value, 0.1, 'tags alone, published')
  t.equal(called('</tool_call><tool_call>', wanted).value, 0, 'tags alone')
})

t.test(
  'tool-call: rows that are not text follow the original in published mode and pay 0 otherwise',
  async (t) => {
    t.throws(() => called(null, wanted, published), TypeError)
    t.equal(called(['<tool_call>', '</tool_call>'], wanted, published).value, 0.1)
    t.equal(called(null, wanted, { variant: 'grpo', ...published }).value, 0)
    t.equal(called(7, wanted).value, 0)
    t.equal(called(wanted, null, published).value, 0.1)
    t.match(called(wanted, null), { value: 0, details: { reason: 'ground truth: not_text' } })
    t.match(called(wanted, 'none'), {
      value: 0,
      details: { reason: 'ground truth: no_call' },
      flags: ['bad_ground_truth'],
    })
  },
)

t.test('json-schema: hostile text costs little', async (t) => {
  nearLinear(t, (text) => [
    fits(text, { schema }),
    fits(JSON.stringify({ city: text, days: [] }), { schema }),
  ])
  const items = Array.from({ length: 50_000 }, (_, n) => ({ n }))
  t.equal(fits(JSON.stringify(items), { schema: { uniqueItems: true } }), 1, 'many different items')
})

t.test('tool-call: a megabyte of hostile text costs time in proportion', async (t) => {
  const mega = 1_000_000
  const hostile = [
    '<tool_call>'.repeat(mega / 11),
    '<think>'.repeat(mega / 7),
    '</think>\n\n'.repeat(mega / 10),
    '<tool_call></tool_call>'.repeat(mega / 23),
    `<tool_call>${'['.repeat(mega)}</tool_call>`,
    call(`{"a":[${'1,'.repeat(mega / 2)}2]}`),
    call('{}').repeat(mega / 50),
  ]
  for (const response of hostile) {
    for (const mode of modes) {
      const start = cpuMs()
      toolCall.score({
        sample: { id: 'a', prompt: '', response, groundTruth: null, rmPrompts: {}, extraInfo: {} },
        truth: response,
        options: { mode, variant: 'general' },
        earlier: {},
      })
      t.ok(cpuMs() - start < 3000, `${response.slice(0, 20)} took ${cpuMs() - start} ms`)
    }
  }
})
