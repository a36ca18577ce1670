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
import t from 'tap'
import { createApp } from '../../src/http/app.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { openTracing } from '../../src/tracing/open-tracing.ts'
import { testGateway } from '../support/gateway.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const sampled = `00-${traceId}-${parentId}-01`

const judge = await scriptedServer((seen) => completion(seen, '1'))
const model = { model: 'm', instances: [judge.url], health: { interval_s: 0 }, retry: { pause_ms: 1 } }
const gateway = await testGateway(t, {
  judged: {
    models: { judge: model },
    gate: 'rule == 1',
    steps: [
      { name: 'rule', function: 'echo-rule' },
      { name: 'quality', function: 'digit-judge', model: 'judge', op: 'add' },
    ],
  },
})
t.teardown(() => judge.kill())

async function appOf() {
  const app = await createApp({
    gateway,
    metrics: openMetrics({ version: 'test', inFlight: () => 0 }),
    bodyLimit: 1 << 20,
  })
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

t.test(
  'without an SDK nothing is recorded, and a trace is handed on to model servers as it came',
  async (t) => {
    t.equal(openTracing(), null)
    const app = await appOf()
    const state = 'vendor=a,other=b'
    const { results } = (await score(app, '1', { traceparent: sampled, tracestate: state })).json()
    t.equal(results[0].reward, 2)
    t.match(lastSeen(), { traceparent: sampled, tracestate: state })
    await complete(app, { traceparent: sampled })
    t.equal(lastSeen().traceparent, sampled)
    t.equal(lastSeen().tracestate, undefined)
    const asked = judge.seen.length
    for (const odd of ['1', `00-${traceId}-${'0'.repeat(16)}-01`, `${sampled}-more`, sampled.toUpperCase()]) {
      await complete(app, { traceparent: odd, tracestate: state })
      t.equal(lastSeen().traceparent, undefined, odd)
      t.equal(lastSeen().tracestate, undefined)
    }
    await complete(app)
    t.equal(lastSeen().traceparent, undefined)
    t.equal(judge.seen.length, asked + 5)
  },
)

t.test(
  'with an SDK a request, each step and each call have a span, and servers are told of theirs',
  async (t) => {
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
    const named = (spans: readonly ReadableSpan[], name: string) => {
      const found = spans.filter((span) => span.name === name)
      t.equal(found.length, 1, name)
      return found[0] as ReadableSpan
    }
    const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId

    await score(app, '1', { traceparent: sampled, 'x-request-id': 'r1' }, 'one')
    const spans = ended()
    const request = named(spans, 'POST /v1/score')
    const [rule, quality] = ['rule', 'quality'].map((name) => named(spans, name))
    const call = named(spans, 'generate judge')
    t.equal(spans.length, 4)
    t.strictSame(new Set(spans.map((span) => span.spanContext().traceId)), new Set([traceId]))
    t.equal(parentOf(request), parentId)
    for (const step of [rule, quality]) t.equal(step && parentOf(step), request.spanContext().spanId)
    t.equal(parentOf(call), quality?.spanContext().spanId)
    t.equal(lastSeen().traceparent, `00-${traceId}-${call.spanContext().spanId}-01`)
    t.match(request.attributes, {
      'http.route': '/v1/score',
      'http.response.status_code': 200,
      'reward_gateway.request_id': 'r1',
    })
    t.match(quality?.attributes, {
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

    // A closed gate asks nothing, so its step has no span; a rule that throws is an error.
    await score(app, '0', {}, 'gated')
    t.strictSame(
      ended()
        .map(({ name }) => name)
        .sort(),
      ['POST /v1/score', 'rule'],
    )
    await score(app, 'throw', {}, 'thrown')
    t.match(named(ended(), 'rule').status, { code: SpanStatusCode.ERROR, message: 'rule_error' })

    const fine = judge.script
    let failures = 1
    judge.script = (seen, response) =>
      failures-- > 0 ? void json(response, { error: 'ill' }, 500) : completion(seen, '1')
    await score(app, '01', {}, 'retried')
    const calls = ended().filter(({ name }) => name === 'generate judge')
    t.strictSame(
      calls.map(({ status }) => status.code),
      [SpanStatusCode.ERROR, SpanStatusCode.UNSET],
      'a retry is a call of its own',
    )
    judge.script = fine

    await complete(app, { traceparent: sampled })
    const passed = ended()
    t.equal(
      parentOf(named(passed, 'forward judge')),
      named(passed, 'POST /v1/completions').spanContext().spanId,
    )
    t.equal((await app.inject('/livez')).statusCode, 200)
    await score(app, '1.0', { traceparent: sampled.replace(/01$/, '00') }, 'unsampled')
    t.strictSame(ended(), [], 'who is not sampled has no spans')
    t.match(lastSeen().traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
  },
)
