import t from 'tap'
import { azure } from '../../../src/trainers/azure.ts'
import { testApp } from '../../support/app.ts'

const exact = [{ name: 'same', function: 'exact-match' }]
const schema = { type: 'object', required: ['result'], properties: { result: { const: 47 } } }
const app = await testApp(t, {
  exact: { steps: exact },
  lenient: { steps: exact, on_invalid: -1 },
  typed: { steps: [{ name: 'typed', function: 'json-schema', options: { schema } }] },
})

async function post(reward: string, payload: object | string) {
  const headers = { 'content-type': 'application/json' }
  const answer = await app.inject({ method: 'POST', url: `/wire/azure/${reward}`, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

const calls = [{ type: 'function_call', name: 'search', arguments: '{}', call_id: 'c' }]
const message = { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'search' } }] }

t.test('Azure: nothing said is no answer, and never a score of an empty one (M50)', async (t) => {
  const mute: Record<string, object> = {
    'no text, no calls': { output_text: null, output_tools: [] },
    'nothing said': { output_text: null, choices: [{ message: null }] },
    'no choice': { choices: [] },
  }
  for (const [what, sample] of Object.entries(mute)) {
    const sent = { sample, item: { reference_answer: '' }, trace_id: 'trace_1' }
    t.match(
      await post('exact', sent),
      {
        status: 502,
        body: {
          error: {
            code: 'RG_SAMPLES_FAILED',
            problems: [{ path: 'samples.trace_1', message: /^bad_sample: sample: the answer / }],
          },
        },
      },
      what,
    )
    t.strictSame(await post('lenient', sent), { status: 200, body: { score: -1 } }, what)
  }
  t.match(await post('exact', { sample: {}, item: {} }), { status: 400 })
  const silent = { sample: { output_text: '' }, item: { reference_answer: 'b' } }
  t.strictSame((await post('exact', silent)).body, { score: 0 }, 'an answer that is empty is one')
})

t.test('Azure: a turn of tool calls alone is a turn without text, whose calls a rule reads', async (t) => {
  const item = { reference_answer: 'b' }
  for (const sample of [
    { output_text: null, output_tools: calls },
    { output_text: '', output_tools: calls },
    { choices: [{ message }] },
    { output_text: null, output_json: null, choices: [{ message: { ...message, content: '' } }] },
  ]) {
    const reading = await azure.routes['']?.read({ ...plain, body: { sample, item } })
    t.match(reading?.rows, [
      { response: '', turns: [{ toolCalls: [{ name: 'search' }] }], flags: ['no_final_text'] },
    ])
    t.strictSame(await post('exact', { sample, item }), { status: 200, body: { score: 0 } })
  }
})

const plain = { query: {}, literals: [], groundTruths: null, maxRowValues: 1000 }

t.test('Azure: text beside tool calls is scored, and the calls are kept (M50)', async (t) => {
  const item = { reference_answer: 'b' }
  for (const sample of [
    { output_text: 'b', output_tools: calls },
    { choices: [{ message: { ...message, content: 'b' } }] },
    { choices: [{ message: { ...message, content: [{ type: 'text', text: 'b' }] } }] },
  ]) {
    t.strictSame((await post('exact', { sample, item })).body, { score: 1 })
    const reading = await azure.routes['']?.read({ ...plain, body: { sample, item } })
    t.match(reading?.rows, [{ response: 'b', turns: [{ content: 'b', toolCalls: [{ name: 'search' }] }] }])
  }
  const body = { sample: { output_text: 'b', output_tools: [] }, item }
  t.notOk('turns' in ((await azure.routes['']?.read({ ...plain, body }))?.rows[0] ?? {}))
})

t.test(
  'Azure: calls of both APIs are read, and a call that is none is a problem of the sample',
  async (t) => {
    const item = { reference_answer: 'b' }
    const named = { type: 'function', id: 'c', function: { name: 'search', arguments: '{}' } }
    for (const call of [calls[0], named]) {
      const body = { sample: { output_text: 'b', output_tools: [call] }, item }
      const [row] = (await azure.routes['']?.read({ ...plain, body }))?.rows ?? []
      const turns = row && 'turns' in row ? row.turns : []
      const read = turns?.flatMap(({ toolCalls = [] }) => toolCalls)
      t.match(read, [{ name: 'search' }])
    }
    for (const call of ['search', 7, null]) {
      const { status, body } = await post('exact', {
        sample: { output_text: 'b', output_tools: [call] },
        item,
      })
      t.ok(status === 400 || status === 502, String(status))
      t.match(body.error.problems, [{ message: /./ }])
    }
  },
)

t.test('Azure: an answer that came as output_json alone is its JSON text (M50)', async (t) => {
  // The format of the published endpoint grader's own test request.
  const sample = { output_json: { expression: '(72 + 22) / (88 - 86)', result: 47 } }
  const item = { messages: [{ role: 'user', content: 'target: 47' }], target: 47, nums: [86, 22, 88, 72] }
  t.strictSame(await post('typed', { sample, item }), { status: 200, body: { score: 1 } })
  t.strictSame((await post('typed', { sample: { output_json: { result: 46 } }, item })).body, { score: 0 })
  const deep = `{"sample":{"output_json":${'['.repeat(9000)}${']'.repeat(9000)}},"item":{}}`
  t.match(await post('typed', deep), { status: 502, body: { error: { problems: [{ message: /deeper/ }] } } })
  const long = '{"sample":{"output_json":{"result":9007199254740993}},"item":{}}'
  t.match(await post('typed', long), { status: 502, body: { error: { problems: [{ message: /2\^53/ }] } } })
})
