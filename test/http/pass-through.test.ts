import t from 'tap'
import { testApp } from '../support/app.ts'
import { completion, json, type Script, scriptedServer } from '../support/scripted-server.ts'
import { startFleet } from '../support/simulated.ts'

const post = (url: string, body: unknown, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  })

// biome-ignore lint/suspicious/noExplicitAny: replies of many shapes
const read = async (response: Response): Promise<any> => response.json()

const probesOff = { health: { interval_s: 0 } }

t.test('the pools are one OpenAI-compatible endpoint', async (t) => {
  const judges = await startFleet(t, 2, { runner: 'generate', model: 'served-judge' })
  const [pooling] = await startFleet(t, 1, { runner: 'pooling', model: 'served-scalar' })
  const script: Script = (seen) => completion(seen, 'scripted')
  const scripted = await scriptedServer(script, ['served-script'])
  t.teardown(() => scripted.kill())
  const app = await testApp(t, {
    gateway: {
      models: {
        judge: { model: 'served-judge', instances: judges.map(({ url }) => url), ...probesOff },
        scalar: { model: 'served-scalar', instances: [pooling?.url], ...probesOff },
        scripted: { model: 'served-script', instances: [scripted.url], retry: { max: 0 }, ...probesOff },
      },
    },
    one: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const messages = [{ role: 'user', content: 'Is 2 even? Answer Yes or No.' }]
  const states = async () => (await (await fetch(`${origin}/metrics`)).text()).split('\n')

  t.test('replies and refusals come as the servers give them', async (t) => {
    const chat = await post(`${origin}/v1/chat/completions`, { model: 'judge', messages, n: 2 })
    t.equal(chat.status, 200)
    t.match(await chat.json(), { model: 'served-judge', choices: [{}, { message: { role: 'assistant' } }] })
    const prompt = await post(`${origin}/v1/completions`, { model: 'judge', prompt: ['a', 'b'] })
    t.equal((await read(prompt)).choices.length, 2)
    const vectors = await post(`${origin}/v1/embeddings`, { model: 'scalar', input: 'a' })
    t.match(await vectors.json(), { data: [{ embedding: [Number] }] })
    const scores = await post(`${origin}/classify`, { model: 'scalar', input: ['a', 'b'] })
    t.equal((await read(scores)).data.length, 2)
    const ranks = await post(`${origin}/rerank`, { model: 'scalar', query: 'a', documents: ['a', 'b'] })
    t.equal((await read(ranks)).results.length, 2)
    const refused = await post(`${origin}/v1/chat/completions`, { model: 'judge', messages: 'none' })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { type: 'BadRequestError' } })
    const absent = await post(`${origin}/v1/embeddings`, { model: 'judge', input: 'a' })
    t.strictSame([absent.status, await absent.json()], [404, { detail: 'Not Found' }])
    const lines = await states()
    for (const url of judges.map(({ url }) => url))
      t.ok(lines.includes(`reward_gateway_upstream_in_flight{model="judge",instance="${url}"} 0`))
    t.ok(lines.includes('reward_gateway_instances{model="judge",state="ready"} 2'))
    const served = judges.map((judge) => judge.stats().requests['/v1/chat/completions'] ?? 0)
    t.equal(served[0]! + served[1]!, 2)
    t.ok(
      (await states()).some((line) =>
        /upstream_duration_seconds_count\{model="judge",outcome="ok"\} \d/.test(line),
      ),
    )
  })

  t.test('a stream comes whole, and a client that goes ends it upstream', async (t) => {
    const whole = await post(`${origin}/v1/chat/completions`, { model: 'judge', messages, stream: true })
    t.match(whole.headers.get('content-type'), /text\/event-stream/)
    const text = await whole.text()
    t.match(text, /^data: \{/)
    t.match(text.trim(), /data: \[DONE\]$/)
    scripted.script = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"n":1}\n\n')
    }
    const client = new AbortController()
    const before = scripted.seen.length
    const endless = await post(`${origin}/v1/completions`, { model: 'scripted', stream: true }, client.signal)
    const reader = endless.body?.getReader()
    t.equal(String(new TextDecoder().decode((await reader?.read())?.value)), 'data: {"n":1}\n\n')
    client.abort()
    await scripted.seen[before]?.closed
    scripted.script = () => undefined
    const waiting = new AbortController()
    const never = post(`${origin}/v1/completions`, { model: 'scripted' }, waiting.signal).catch(() => 'gone')
    await scripted.saw(before + 2)
    waiting.abort()
    t.equal(await never, 'gone')
    await scripted.seen[before + 1]?.closed
  })

  t.test('errors have the form of OpenAI, with the status of the server where it gave one', async (t) => {
    const cases: [unknown, number, object][] = [
      [{ model: 'jugde' }, 404, { code: 'model_not_found', param: 'model', message: /did you mean 'judge'/ }],
      [{ prompt: 'a' }, 400, { code: 'RG_REQUEST_INVALID', param: 'model' }],
      ['{"model":"judge","seed":NaN}', 400, { message: /seed: NaN/ }],
      ['{"model":', 400, { type: 'invalid_request_error' }],
    ]
    for (const [body, status, error] of cases) {
      const response = await post(`${origin}/v1/completions`, body)
      t.equal(response.status, status)
      t.match(await response.json(), { error })
    }
    scripted.script = (_seen, response) => json(response, { error: { message: 'full' } }, 503)
    const full = await post(`${origin}/v1/completions`, { model: 'scripted' })
    t.strictSame([full.status, await full.json()], [503, { error: { message: 'full' } }])
    scripted.script = (_seen, response) => void response.destroy()
    const broken = await post(`${origin}/v1/completions`, { model: 'scripted' })
    t.equal(broken.status, 502)
    t.match(await broken.json(), { error: { type: 'api_error', code: 'judge_unreachable' } })
  })

  t.test('/v1/models lists what can be asked', async (t) => {
    const { object, data } = await read(await fetch(`${origin}/v1/models`))
    t.equal(object, 'list')
    t.match(data, [
      { id: 'judge', object: 'model', root: 'served-judge' },
      { id: 'scalar' },
      { id: 'scripted' },
    ])
    t.match(await (await fetch(`${origin}/v1/models/judge`)).json(), { id: 'judge', object: 'model' })
    t.equal((await fetch(`${origin}/v1/models/none`)).status, 404)
  })
})
