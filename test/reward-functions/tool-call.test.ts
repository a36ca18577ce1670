import t from 'tap'
import toolCall from '../../reward-functions/tool-call.ts'
import type { Score } from '../../src/contract/index.ts'
import { ruleContract } from '../../src/contract/testing.ts'
import { cpuMs } from '../support/cpu.ts'

type Options = { mode?: 'reference'; variant?: 'grpo' | 'egpo' }

const scored = (response: unknown, groundTruth: unknown, options: Options = {}): Score =>
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

const reference = { mode: 'reference' } as const
const wanted = call('{"seats": [1, 2], "window": true}')

ruleContract(t, toolCall, {
  full: { response: wanted, groundTruth: wanted },
  zero: { response: 'I call nothing.', groundTruth: wanted },
  malformed: { response: '<tool_call>', groundTruth: wanted },
  hacks: {
    'a call inside the thinking': { response: `<think>${wanted}</think>Done.`, groundTruth: wanted },
    'a second call that undoes the first': { response: wanted + call('{}', 'cancel'), groundTruth: wanted },
  },
})

t.test('the calls of the response earn the mark of their variant', async (t) => {
  const thinking = `<think>Two seats.</think>\n\n${wanted}`
  t.strictSame(scored(wanted, wanted), { value: 1.1, parts: { format: 1, correctness: 1 }, details: {} })
  t.equal(scored(wanted, wanted, { variant: 'grpo' }).value, 1)
  t.equal(scored(thinking, wanted, { variant: 'egpo' }).value, 1)
  t.equal(scored(call('{}'), wanted).value, 0.1)
  t.equal(scored(call('{}'), wanted, { variant: 'grpo' }).value, 0)
  t.equal(scored('no call', wanted).value, 0)
  t.equal(
    scored(`${call('{"b": 1.0, "a": "\\u4f60"}')} and ${wanted}`, wanted + call('{"a":"你","b":1}')).value,
    1.1,
  )
  t.strictSame(toolCall.range(toolCall.options.parse({})), [0, 1.1])
  t.strictSame(toolCall.range(toolCall.options.parse({ variant: 'egpo' })), [0, 1])
})

t.test('a low score says why, and where the calls differ', async (t) => {
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
    [wanted, 'no_thinking', { variant: 'egpo' }],
    [`<think> </think>${wanted}`, 'no_thinking', { variant: 'egpo' }],
    [wanted, 'no_thinking', { variant: 'egpo', ...reference }],
  ]
  for (const [response, reason, options] of reasons) {
    t.match(scored(response, wanted, options), { value: 0, details: { reason } }, reason)
  }
  const at = (response: string): unknown => scored(response, wanted).details?.at
  t.equal(at(call('{"seats": [1, 3], "window": true}')), 'call 1: arguments.seats[1]')
  t.equal(at(wanted + wanted), 'call 2: not wanted')
  t.equal(scored(wanted, wanted + call('{}')).details?.at, 'wanted call 2: missing')
})

t.test('named hacks of the original earn nothing, but do in reference mode', async (t) => {
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
    t.ok(scored(response, truth).value <= 0.1, name)
    t.equal(scored(response, truth, { variant: 'grpo' }).value, 0, name)
    t.equal(scored(response, truth, reference).value, 1.1, `${name}, reference`)
  }
  t.equal(scored('</tool_call><tool_call>', wanted, reference).value, 0.1, 'tags alone, reference')
  t.equal(scored('</tool_call><tool_call>', wanted).value, 0, 'tags alone')
})

t.test('rows that are no text follow the original in reference mode and are 0 otherwise', async (t) => {
  t.throws(() => scored(null, wanted, reference), TypeError)
  t.equal(scored(['<tool_call>', '</tool_call>'], wanted, reference).value, 0.1)
  t.equal(scored(null, wanted, { variant: 'grpo', ...reference }).value, 0)
  t.equal(scored(7, wanted).value, 0)
  t.equal(scored(wanted, null, reference).value, 0.1)
  t.match(scored(wanted, null), { value: 0, details: { reason: 'ground truth: not_text' } })
  t.match(scored(wanted, 'none'), {
    value: 0,
    details: { reason: 'ground truth: no_call' },
    flags: ['bad_ground_truth'],
  })
})

t.test('a megabyte of hostile text costs time in proportion', async (t) => {
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
    for (const mode of ['sound', 'reference'] as const) {
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
