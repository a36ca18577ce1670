import { propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { ListenerGuard } from '../../../src/core/listener-guard.ts'
import { openTracing } from '../../../src/core/tracing/open-tracing.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { completion, json, scriptedServer } from '../../support/scripted-server.ts'
import { startFleet } from '../../support/simulated.ts'

const post = (url: string, body: unknown, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  })

// biome-ignore lint/suspicious/noExplicitAny: replies of many shapes
const read = async (response: Response): Promise<any> => response.json()

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const sampled = `00-${traceId}-${parentId}-01`

const judges = await startFleet(t, 2, { runner: 'generate', model: 'served-judge' })
const [pooling] = await startFleet(t, 1, { runner: 'pooling', model: 'served-scalar' })
const scripted = await scriptedServer((seen) => completion(seen, 'scripted'), ['served-script'])
const judge = await scriptedServer((seen) => completion(seen, '1'))
t.teardown(() => Promise.all([scripted.kill(), judge.kill()]))
const health = { interval_s: 0 }
const metrics = openMetrics({
  version: 'test',
  inFlight: () => gateway.inFlight,
  models: () => gateway.models(),
})
const gateway = await testGateway(
  t,
  {
    gateway: {
      models: {
        pool: { model: 'served-judge', instances: judges.map(({ url }) => url), health },
        scalar: { model: 'served-scalar', instances: [pooling?.url], health },
        scripted: { model: 'served-script', instances: [scripted.url], retry: { max: 0 }, health },
        judge: { model: 'm', instances: [judge.url], health, retry: { pause_ms: 1 } },
      },
    },
    judged: {
      gate: 'rule == 1',
      steps: [
        { name: 'rule', function: 'echo-rule' },
        { name: 'quality', function: 'digit-judge', model: 'judge', op: 'add' },
      ],
    },
  },
  { events: metrics },
)
t.teardown(() => metrics.close())

async function appOf() {
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  return app
}

const score = (app: FastifyInstance, response: string, headers = {}, id = response) =>
  app.inject({
    method: 'POST',
    url: '/v1/score',
    headers,
    payload: { reward: 'judged', samples: [{ id, prompt: 'secret prompt', response }] },
  })

const complete = (app: FastifyInstance, headers = {}) =>
  app.inject({ method: 'POST', url: '/v1/completions', headers, payload: { model: 'judge', prompt: 'p' } })

const lastSeen = () => judge.seen.at(-1)?.headers ?? {}

t.test('the pools are one OpenAI-compatible endpoint', async (t) => {
  const app = await appOf()
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const messages = [{ role: 'user', content: 'Is 2 even? Answer Yes or No.' }]

  await t.test('replies of every kind are passed on unchanged', async (t) => {
    const chat = await post(`${origin}/v1/chat/completions`, { model: 'pool', messages, n: 2 })
    t.equal(chat.status, 200)
    t.match(await chat.json(), { model: 'served-judge', choices: [{}, { message: { role: 'assistant' } }] })
    const prompt = await post(`${origin}/v1/completions`, { model: 'pool', prompt: ['a', 'b'] })
    t.equal((await read(prompt)).choices.length, 2)
    const vectors = await post(`${origin}/v1/embeddings`, { model: 'scalar', input: 'a' })
    t.match(await vectors.json(), { data: [{ embedding: [Number] }] })
    const scores = await post(`${origin}/classify`, { model: 'scalar', input: ['a', 'b'] })
    t.equal((await read(scores)).data.length, 2)
    const ranks = await post(`${origin}/rerank`, { model: 'scalar', query: 'a', documents: ['a', 'b'] })
    t.equal((await read(ranks)).results.length, 2)
    const decided = await post(`${origin}/v1/decisions`, {
      model: 'pool',
      input: '2 + 2 = 4',
      questions: [{ type: 'predicate', instructions: 'It holds.', name: 'a' }],
    })
    t.match(await decided.json(), { model: 'served-judge', answers: [{ type: 'predicate', name: 'a' }] })
    const questions = { right: { type: 'noul', instructions: 'Does it hold?' } }
    const asked = await post(`${origin}/v1/systemone`, { model: 'pool', state: '2 + 2 = 4', questions })
    t.match(await asked.json(), { model: 'served-judge', answers: { right: { noul: Number } } })
  })

  await t.test('errors of servers are passed on unchanged', async (t) => {
    const refused = await post(`${origin}/v1/chat/completions`, { model: 'pool', messages: 'none' })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { type: 'BadRequestError' } })
    const absent = await post(`${origin}/v1/embeddings`, { model: 'pool', input: 'a' })
    t.strictSame([absent.status, await absent.json()], [404, { detail: 'Not Found' }])
  })

  await t.test('what is passed on is asked once, and metrics count it', async (t) => {
    const served = judges.map((judge) => judge.stats().requests['/v1/chat/completions'] ?? 0)
    t.equal(served[0]! + served[1]!, 2)
    const lines = (await (await fetch(`${origin}/metrics`)).text()).split('\n')
    for (const url of judges.map(({ url }) => url))
      t.ok(lines.includes(`reward_gateway_upstream_in_flight{model="pool",instance="${url}"} 0`))
    t.ok(lines.includes('reward_gateway_instances{model="pool",state="ready"} 2'))
    t.ok(lines.some((line) => /upstream_duration_seconds_count\{model="pool",outcome="ok"\} \d/.test(line)))
  })

  t.test('a stream is passed on completely, and a disconnect ends it upstream', async (t) => {
    const whole = await post(`${origin}/v1/chat/completions`, { model: 'pool', messages, stream: true })
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

  t.test("errors have OpenAI's format, with the server's status if there is one", async (t) => {
    const cases: [unknown, number, object][] = [
      [{ model: 'poool' }, 404, { code: 'model_not_found', param: 'model', message: /did you mean 'pool'/ }],
      [{ prompt: 'a' }, 400, { code: 'RG_REQUEST_INVALID', param: 'model' }],
      ['{"model":"pool","seed":NaN}', 400, { message: /seed: NaN/ }],
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

  t.test('/v1/models lists the models', async (t) => {
    const { object, data } = await read(await fetch(`${origin}/v1/models`))
    t.equal(object, 'list')
    t.match(data, [
      { id: 'pool', object: 'model', root: 'served-judge' },
      { id: 'scalar' },
      { id: 'scripted' },
      { id: 'judge' },
    ])
    t.match(await (await fetch(`${origin}/v1/models/pool`)).json(), { id: 'pool', object: 'model' })
    t.equal((await fetch(`${origin}/v1/models/none`)).status, 404)
  })
})

t.test('without an SDK', async (t) => {
  const app = await appOf()
  const state = 'vendor=a,other=b'

  await t.test('nothing is traced', async (t) => {
    t.equal(openTracing(new ListenerGuard(fakeClock())), null)
  })

  await t.test("the client's trace context is passed on to model servers", async (t) => {
    const { results } = (await score(app, '1', { traceparent: sampled, tracestate: state })).json()
    t.equal(results[0].reward, 2)
    t.match(lastSeen(), { traceparent: sampled, tracestate: state })
    await complete(app, { traceparent: sampled })
    t.equal(lastSeen().traceparent, sampled)
    t.equal(lastSeen().tracestate, undefined)
  })

  await t.test('a trace context that is not valid is not passed on, nor is one made up', async (t) => {
    const asked = judge.seen.length
    for (const odd of ['1', `00-${traceId}-${'0'.repeat(16)}-01`, `${sampled}-more`, sampled.toUpperCase()]) {
      await complete(app, { traceparent: odd, tracestate: state })
      t.equal(lastSeen().traceparent, undefined, odd)
      t.equal(lastSeen().tracestate, undefined)
    }
    await complete(app)
    t.equal(lastSeen().traceparent, undefined)
    t.equal(judge.seen.length, asked + 5)
  })
})

t.test('with an SDK', async (t) => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  trace.setGlobalTracerProvider(provider)
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  t.teardown(() => {
    trace.disable()
    propagation.disable()
  })
  const app = await appOf()
  const ended = () => {
    const spans = exporter.getFinishedSpans()
    exporter.reset()
    return spans
  }
  const named = (t: Test, spans: readonly ReadableSpan[], name: string) => {
    const found = spans.filter((span) => span.name === name)
    t.equal(found.length, 1, name)
    return found[0] as ReadableSpan
  }
  const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId

  await t.test('a request, its steps and their calls', async (t) => {
    await score(app, '1', { traceparent: sampled, 'x-request-id': 'r1' }, 'one')
    const spans = ended()
    const request = named(t, spans, 'POST /v1/score')
    const rule = named(t, spans, 'rule')
    const quality = named(t, spans, 'quality')
    const call = named(t, spans, 'generate judge')

    t.test("have a span each in the client's trace, each below the one that began it", async (t) => {
      t.equal(spans.length, 4)
      t.strictSame(new Set(spans.map((span) => span.spanContext().traceId)), new Set([traceId]))
      t.equal(parentOf(request), parentId)
      for (const step of [rule, quality]) t.equal(parentOf(step), request.spanContext().spanId)
      t.equal(parentOf(call), quality.spanContext().spanId)
    })

    t.test('send the context of the call to the model server', async (t) => {
      t.equal(lastSeen().traceparent, `00-${traceId}-${call.spanContext().spanId}-01`)
    })

    t.test('say what they were, without texts of samples', async (t) => {
      t.match(request.attributes, {
        'http.route': '/v1/score',
        'http.response.status_code': 200,
        'reward_gateway.request_id': 'r1',
      })
      t.match(quality.attributes, {
        'reward_gateway.reward': 'judged',
        'reward_gateway.sample': 'one',
        'reward_gateway.status': 'scored',
      })
      t.match(call.attributes, {
        'server.address': judge.url,
        'reward_gateway.model': 'judge',
        'gen_ai.usage.input_tokens': 7,
      })
      t.notMatch(JSON.stringify(spans.map(({ attributes, status }) => [attributes, status])), /secret/)
    })
  })

  await t.test('a step that a gate closes asks nothing, and has no span', async (t) => {
    await score(app, '0', {}, 'gated')
    t.strictSame(
      ended()
        .map(({ name }) => name)
        .sort(),
      ['POST /v1/score', 'rule'],
    )
  })

  await t.test('a rule that throws is an error', async (t) => {
    await score(app, 'throw', {}, 'thrown')
    t.match(named(t, ended(), 'rule').status, { code: SpanStatusCode.ERROR, message: 'rule_error' })
  })

  await t.test('a retry is a call of its own', async (t) => {
    const fine = judge.script
    let failures = 1
    judge.script = (seen, response) =>
      failures-- > 0 ? void json(response, { error: 'ill' }, 500) : completion(seen, '1')
    await score(app, '01', {}, 'retried')
    judge.script = fine
    const calls = ended().filter(({ name }) => name === 'generate judge')
    t.strictSame(
      calls.map(({ status }) => status.code),
      [SpanStatusCode.ERROR, SpanStatusCode.UNSET],
    )
  })

  await t.test('a request that is passed on has a span below its request', async (t) => {
    await complete(app, { traceparent: sampled })
    const passed = ended()
    t.equal(
      parentOf(named(t, passed, 'forward judge')),
      named(t, passed, 'POST /v1/completions').spanContext().spanId,
    )
  })

  await t.test('a probe, and who is not sampled, have no spans', async (t) => {
    t.equal((await app.inject('/livez')).statusCode, 200)
    await score(app, '1.0', { traceparent: sampled.replace(/01$/, '00') }, 'unsampled')
    t.strictSame(ended(), [])
    t.match(lastSeen().traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
  })
})
