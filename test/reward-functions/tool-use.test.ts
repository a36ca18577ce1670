import t from 'tap'
import toolCall from '../../reward-functions/tool-call.ts'
import toolUse from '../../reward-functions/tool-use.ts'
import type { Json, Message, ToolCall } from '../../src/contract/index.ts'
import { ruleContract, scored } from '../../src/contract/testing.ts'
import { readConversation } from '../../src/trainers/chat/conversation.ts'

/** A call as OpenAI writes it, and what came back. */
type Said = readonly [name: string, given: string, result?: string]

function rollout(said: readonly Said[], content = 'Done.'): readonly Message[] {
  const turns = said.flatMap(([name, given, result], at) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `${at}`, function: { name, arguments: given } }],
    },
    ...(result === undefined ? [] : [{ role: 'tool', tool_call_id: `${at}`, content: result }]),
  ])
  return readConversation([...turns, { role: 'assistant', content }])
}

const used = (options: Json, said: readonly Said[]) =>
  scored(toolUse, { options, response: 'Done.', turns: rollout(said) })

const search: Said = ['search', '{"q":"Bonn"}', 'Bonn is a city.']
const open: Said = ['open', '{"page":1}', 'It is on the Rhine.']
const schema = {
  type: 'object',
  required: ['q'],
  properties: { q: { type: 'string' } },
  additionalProperties: false,
}

t.test('tool-use keeps its contract', async (t) => {
  ruleContract(t, toolUse, {
    options: { allowed: ['search'], max_repeats: 0 },
    full: { response: 'Done.', turns: rollout([search]) },
    zero: { response: 'Done.', turns: rollout([open]) },
    malformed: { response: '<tool_call>{"name": "search"' },
    hacks: {
      'no call at all': { response: 'I searched.' },
      'an announced call': {
        response: '<think><tool_call>{"name":"search","arguments":{}}</tool_call></think>Done.',
      },
      'the same call again': { response: 'Done.', turns: rollout([search, search]) },
    },
  })
})

t.test('tool-use: each condition is a part, and says which call broke it', async (t) => {
  const cases: Readonly<Record<string, readonly [Json, readonly Said[], string, string?]>> = {
    'an allowed tool': [{ allowed: ['search'] }, [search], 'allowed'],
    'another tool': [{ allowed: ['search'] }, [search, open], 'allowed', 'call 2'],
    'a tool of another case': [{ allowed: ['search'] }, [['Search', '{}']], 'allowed', 'call 1'],
    'arguments that fit': [{ arguments: { search: schema } }, [search, open], 'arguments'],
    'arguments that do not': [
      { arguments: { search: schema } },
      [['search', '{"q":1}']],
      'arguments',
      'call 1: /q must be string',
    ],
    'arguments that are missing': [
      { arguments: { search: schema } },
      [['search', '']],
      'arguments',
      'call 1: malformed',
    ],
    'an order': [{ order: ['search', 'open'] }, [search, ['note', '{}'], open], 'order'],
    'the other order': [{ order: ['search', 'open'] }, [open, search], 'order', 'call of step 2 is missing'],
    'enough calls': [{ min_calls: 2 }, [search, open], 'min_calls'],
    'too few calls': [{ min_calls: 3 }, [search, open], 'min_calls', '2 calls'],
    'few calls': [{ max_calls: 2 }, [search, open], 'max_calls'],
    'too many calls': [{ max_calls: 1 }, [search, open], 'max_calls', '2 calls'],
    'different calls': [{ max_repeats: 0 }, [search, ['search', '{"q":"bonn"}']], 'max_repeats'],
    'the same call with its keys in another order': [
      { max_repeats: 0 },
      [
        ['book', '{"a":1,"b":[2.0]}'],
        ['book', '{"b":[2],"a":1}'],
      ],
      'max_repeats',
      'call 2',
    ],
    'one repeat of one': [{ max_repeats: 1 }, [search, search], 'max_repeats'],
    'good results': [{ max_errors: 0 }, [search, ['a', '{}', '{"error":null,"status":"ok"}']], 'max_errors'],
    'an error': [{ max_errors: 0 }, [search, ['a', '{}', 'Error: no such page']], 'max_errors', 'call 2'],
    'a traceback': [{ max_errors: 0 }, [['a', '{}', '\nTraceback (most recent']], 'max_errors', 'call 1'],
    'an error in JSON': [{ max_errors: 0 }, [['a', '{}', '{"error":{"code":404}}']], 'max_errors', 'call 1'],
    'an error by status': [{ max_errors: 0 }, [['a', '{}', '{"status":"ERROR"}']], 'max_errors', 'call 1'],
    'a word about errors': [{ max_errors: 0 }, [['a', '{}', 'An error was found on page 3.']], 'max_errors'],
    'an error of its own form': [
      { max_errors: 0, error_pattern: 'HTTP [45]\\d\\d' },
      [['a', '{}', 'HTTP 404']],
      'max_errors',
      'call 1',
    ],
    'a malformed call': [{}, [['a', '{"x":']], 'well_formed', 'call 1'],
  }
  for (const [name, [options, said, part, broken]] of Object.entries(cases)) {
    const found = used(options, said)
    t.equal(found?.parts?.[part], Number(broken === undefined), name)
    t.equal((found?.details?.broken as Record<string, string> | undefined)?.[part], broken, name)
  }
})

t.test('tool-use: all conditions pay, or each its share', async (t) => {
  const options = { allowed: ['search'], max_calls: 5 }
  t.equal(used(options, [search, open])?.value, 0)
  t.equal(used({ ...options, credit: 'each' }, [search, open])?.value, 3 / 4)
  t.equal(used({ min_calls: 0 }, [])?.value, 1)
  t.throws(() => used({ arguments: { search: { type: 'strin' } } }, []), 'a schema with a mistake')
  t.throws(() => used({ error_pattern: '(?=a)' }, []), 'a pattern with a mistake')
})

t.test('tool-use reads tags of calls if the trainer sent no calls', async (t) => {
  const written = (text: string) =>
    scored(toolUse, { options: { allowed: ['search'] }, response: `<think>a</think>${text}` })
  const call = '<tool_call>{"name":"search","arguments":{"q":"Bonn"}}</tool_call>'
  t.match(written(call), { value: 1, details: { read: 'text', calls: 1 } })
  t.match(written(`${call}<tool_call>{`), { value: 0, details: { broken: { well_formed: 'call 1' } } })
})

const called = (
  sent: readonly Partial<ToolCall>[],
  groundTruth: Json,
  options: Json = {},
  more: object = {},
) =>
  scored(toolCall, {
    options,
    groundTruth,
    response: 'Done.',
    turns: [
      { role: 'assistant', content: '', toolCalls: sent as readonly ToolCall[] },
      { role: 'tool', content: 'ok' },
      { role: 'assistant', content: 'Done.' },
    ],
    ...more,
  })
const booked = { name: 'book', arguments: { seats: [1, 2] } }
const truth = '<tool_call>{"name":"book","arguments":{"seats":[1,2]}}</tool_call>'

t.test('tool-call reads calls of the trainer first and text second, and says which', async (t) => {
  t.match(called([booked], truth), { value: 1.1, details: { read: 'structured' } })
  t.match(called([booked], [booked]), { value: 1.1 }, 'a ground truth that is a list')
  const openai = [{ type: 'function', function: { name: 'book', arguments: '{"seats":[1.0,2]}' } }]
  t.match(called([booked], openai), { value: 1.1 })
  t.match(
    called([booked], JSON.stringify(openai)),
    { value: 1.1 },
    'the JSON text of a list, as columns of texts hold it',
  )
  const large = (seats: string) => `[{"name":"book","arguments":{"seats":${seats}}}]`
  t.match(called([{ name: 'book', arguments: { seats: 9007199254740992 } }], large('9007199254740993')), {
    value: 0.1,
  })
  for (const faulty of [large('NaN'), large('1,"seats":2'), '[1]', '[]'])
    t.match(called([booked], faulty), { value: 0, flags: ['bad_ground_truth'] }, faulty)
  t.match(called([booked, booked], truth), { value: 0.1, details: { at: 'call 2: not wanted' } })
  t.match(called([{ ...booked, arguments: '{', malformed: true }], truth), {
    value: 0,
    details: { reason: 'malformed_call' },
  })
  const tagged = { response: truth, turns: [{ role: 'assistant', content: truth, toolCalls: [booked] }] }
  t.match(called([], truth, {}, tagged), { value: 0, details: { reason: 'tags_beside_calls' } })
  t.match(called([], truth, {}, { response: truth, turns: undefined }), {
    value: 1.1,
    details: { read: 'text' },
  })
})

t.test('tool-call: egpo asks for thinking in calls of the trainer as well', async (t) => {
  const egpo = { variant: 'egpo' }
  t.match(called([booked], truth, egpo), { value: 0, details: { reason: 'no_thinking' } })
  const thought = [{ role: 'assistant', content: '', reasoning: 'two seats', toolCalls: [booked] }]
  t.match(called([], truth, egpo, { turns: thought }), { value: 1 })
})

t.test('numbers beyond a double are not equal to each other (F21)', async (t) => {
  const text = (x: string) => `<tool_call>{"name":"a","arguments":{"x":${x}}}</tool_call>`
  const value = (given: string, wanted: string) =>
    scored(toolCall, { response: text(given), groundTruth: text(wanted) })?.value
  t.equal(value('1e999', '2e999'), 0.1)
  t.equal(value('1e999', '10e998'), 1.1)
  t.equal(value('9007199254740993', '9007199254740992.0'), 0.1)
  t.equal(value('1.0', '1'), 1.1)
  t.equal(value('-0.0', '0'), 1.1)
  t.equal(value('1e-999', '0'), 0.1)
  const sent = (x: string) => {
    const [turn] = readConversation([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ function: { name: 'a', arguments: `{"x":${x}}` } }],
      },
    ])
    return turn?.toolCalls ?? []
  }
  t.match(called(sent('1e999'), text('2e999')), { value: 0, details: { reason: 'malformed_call' } })
  const lost = [{ name: 'a', arguments: { x: null } }]
  t.equal(called(lost, text('null'), {}, { flags: ['non_finite_input'] })?.value, 0)
  t.equal(called(lost, text('null'))?.value, 1.1)
})
