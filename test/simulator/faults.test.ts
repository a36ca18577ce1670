import t from 'tap'
import type { ProgramCase } from '../../src/contract/execution.ts'
import { systemClock } from '../../src/core/clock.ts'
import { PooledSandbox } from '../../src/scoring/sandboxes/pooled-sandbox.ts'
import { serversConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import { Attempts } from '../../src/simulator/index.ts'
import { latencyMs } from '../../src/simulator/model.ts'
import { fakeClock } from '../support/clock.ts'
import { get, post, simulated, until } from '../support/simulated.ts'

const ask = {
  model: 'simulated-judge',
  messages: [{ role: 'user', content: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }],
}
const path = '/v1/chat/completions'

t.test('each fault that sends a reply spoils exactly the next request', async (t) => {
  const server = await simulated(t)
  const spoiled = {
    '500': { status: 500, json: { error: { code: 500 } } },
    '503': { status: 503, json: { error: { code: 503 } } },
    '429': { status: 429, json: { error: { code: 429 } } },
    'wrong-model': { status: 404, json: { error: { type: 'NotFoundError' } } },
    garbage: { status: 200, json: null },
    'error-body': { status: 200, json: { error: { code: 500 } } },
    'empty-choices': { status: 200, json: { choices: [] } },
    'wrong-type': { status: 200, json: { choices: [{ message: { content: 1 } }] } },
    nan: { status: 200, json: { choices: [{ message: { content: 'Score: NaN' } }] } },
    length: { status: 200, json: { choices: [{ finish_reason: 'length' }] } },
    'null-content': { status: 200, json: { choices: [{ message: { content: null } }] } },
    'tool-call': { status: 200, json: { choices: [{ finish_reason: 'tool_calls' }] } },
    refusal: { status: 200, json: { choices: [{ message: { content: /sorry/ } }] } },
  } as const
  for (const [kind, expected] of Object.entries(spoiled)) {
    server.set({ kind: kind as keyof typeof spoiled, next: 1 })
    t.match(await post(server, path, ask), expected, kind)
    t.match(
      await post(server, path, ask),
      { json: { choices: [{ message: { content: '1' } }] } },
      `after ${kind}`,
    )
  }
  t.equal(server.stats().faults.nan, 1)
})

t.test('reset and half a body break the connection', async (t) => {
  const server = await simulated(t)
  for (const kind of ['reset', 'half-body'] as const) {
    server.set({ kind, next: 1 })
    await t.rejects(post(server, path, ask), kind)
    t.equal((await post(server, path, ask)).status, 200)
  }
  server.set({ kind: 'half-body', next: 1 })
  await t.rejects(post(server, path, { ...ask, stream: true }), 'a stream ends in the middle')
})

t.test('hang and stall say nothing until the client goes away', async (t) => {
  const server = await simulated(t)
  for (const [kind, stream] of [
    ['hang', false],
    ['stall', false],
    ['stall', true],
  ] as const) {
    server.set({ kind, next: 1 })
    const client = new AbortController()
    const asked = post(server, path, { ...ask, stream }, client.signal)
    await t.resolves(until(() => server.stats().faults[kind] !== undefined))
    t.equal((await post(server, path, ask)).status, 200, 'others are served meanwhile')
    client.abort()
    await t.rejects(asked)
    await until(() => server.stats().inFlight === 0)
  }
})

t.test('Retry-After is sent with 503 and 429', async (t) => {
  const server = await simulated(t, { faults: [{ kind: '503', retryAfterS: 7 }] })
  t.equal((await post(server, path, ask)).headers.get('retry-after'), '7')
})

t.test('a classifier that breaks sends a bare NaN or a text for a number', async (t) => {
  const server = await simulated(t, {
    faults: [
      { kind: 'nan', next: 1 },
      { kind: 'wrong-type', next: 1 },
    ],
  })
  t.match((await post(server, '/classify', { input: 'x' })).text, /"probs":\[NaN\]/)
  t.match((await post(server, '/classify', { input: 'x' })).json, { data: [{ index: 0, probs: ['high'] }] })
})

t.test('faults strike by rate, the same ones for the same seed', async (t) => {
  const struck = async (seed: number) => {
    const server = await simulated(t, { seed, faults: [{ kind: '500', rate: 0.3 }] })
    const statuses: number[] = []
    for (let i = 0; i < 100; i++) statuses.push((await post(server, '/classify', { input: 'x' })).status)
    return statuses
  }
  const first = await struck(1)
  t.same(await struck(1), first)
  t.notSame(await struck(2), first)
  const share = first.filter((status) => status === 500).length
  t.ok(share > 15 && share < 45, `${share} of 100`)
})

t.test('a server of the wrong model lists another one', async (t) => {
  const server = await simulated(t, { faults: [{ kind: 'wrong-model', path: '/v1' }] })
  t.match((await get(server, '/v1/models')).json, { data: [{ id: 'another-model', object: 'model' }] })
  t.equal((await post(server, path, ask)).status, 404)
})

t.test('faults strike by path, after some requests, and not probes unless named', async (t) => {
  const server = await simulated(t, { faults: [{ kind: '500' }] })
  t.equal((await get(server, '/health')).status, 200)
  server.set({ kind: '500', path: '/health' })
  t.equal((await get(server, '/health')).status, 500)
  t.equal((await post(server, path, ask)).status, 200)
  server.set({ kind: '500', skip: 1, next: 1 })
  const statuses = [
    await post(server, path, ask),
    await post(server, path, ask),
    await post(server, path, ask),
  ]
  t.same(
    statuses.map(({ status }) => status),
    [200, 500, 200],
  )
})

t.test('faults are set and counters read over HTTP, where that is allowed', async (t) => {
  const server = await simulated(t, { control: true })
  t.equal((await post(server, '/simulate/faults', { faults: [{ kind: '500', next: 1 }] })).status, 200)
  t.equal((await post(server, path, ask)).status, 500)
  t.match((await get(server, '/simulate/stats')).json, { faults: { '500': 1 } })
  for (const faults of [
    1,
    [{ kind: 'nonsense' }],
    [{ kind: '500', rate: 'often' }],
    [{ kind: '500', path: 1 }],
    [null],
  ]) {
    t.match(await post(server, '/simulate/faults', { faults }), {
      status: 400,
      json: { error: { param: /faults/ } },
    })
  }
  const closed = await simulated(t)
  t.equal((await post(closed, '/simulate/faults', { faults: [] })).status, 404)
})

t.test('latency is log-normal, and a fact about seed, question and attempt', async (t) => {
  const latency = { medianMs: 300, sigma: 0.8, speed: 1, seed: 7 }
  const drawn = Array.from({ length: 4000 }, (_, question) => latencyMs(latency, question, 0)).sort(
    (a, b) => a - b,
  )
  t.ok(Math.abs((drawn[2000] ?? 0) / 300 - 1) < 0.08, `median ${drawn[2000]}`)
  const logs = drawn.map((ms) => Math.log(ms / 300))
  const sigma = Math.sqrt(logs.reduce((sum, value) => sum + value * value, 0) / logs.length)
  t.ok(Math.abs(sigma - 0.8) < 0.05, `sigma ${sigma}`)
  t.equal(latencyMs(latency, 5, 1), latencyMs(latency, 5, 1))
  t.not(latencyMs(latency, 5, 1), latencyMs(latency, 5, 0), 'another attempt is another draw')
  t.equal(latencyMs({ ...latency, speed: 0.2 }, 5, 0), latencyMs(latency, 5, 0) / 0.2)
  t.equal(latencyMs({ ...latency, sigma: 0 }, 5, 0), 300)
  t.equal(latencyMs({ ...latency, medianMs: 0 }, 5, 0), 0)
})

t.test('sequences beyond the capacity wait their turn', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, maxNumSeqs: 2 })
  const asked = Array.from({ length: 3 }, (_, i) =>
    post(server, '/v1/completions', { prompt: `question ${i}` }),
  )
  await until(() => server.stats().waiting === 1)
  t.match(server.stats(), { running: 2, waiting: 1, inFlight: 3 })
  clock.advance(100)
  await Promise.all(asked.slice(0, 2))
  t.match(server.stats(), { running: 1, waiting: 0 })
  clock.advance(100)
  await Promise.all(asked)
  t.match(server.stats(), { running: 0, peakRunning: 2, busyMs: 300, sequences: { finished: 3 } })
  t.equal(clock.pending, 0)
})

t.test('a client that goes away frees its slot at once, running or waiting', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, maxNumSeqs: 1 })
  const clients = [new AbortController(), new AbortController(), new AbortController()]
  const asked = clients.map(({ signal }, i) => post(server, '/v1/completions', { prompt: `${i}` }, signal))
  await until(() => server.stats().waiting === 2)
  for (const client of clients) client.abort()
  for (const call of asked) await t.rejects(call)
  await until(() => server.stats().inFlight === 0)
  t.match(server.stats(), { running: 0, waiting: 0, sequences: { finished: 0, aborted: 3 } })
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('a slow fault stretches the time of its request', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    latencyMedianMs: 100,
    latencySigma: 0,
    faults: [{ kind: 'slow', factor: 5, ms: 10 }],
  })
  const asked = post(server, '/v1/completions', { prompt: 'x' })
  await until(() => server.stats().running === 1)
  clock.advance(509)
  t.equal(server.stats().running, 1)
  clock.advance(1)
  await asked
  t.equal(server.stats().busyMs, 510)
})

t.test('prompt tokens that the prefix cache lacks cost time', async (t) => {
  const server = await simulated(t, { prefillMsPerToken: 0.01 })
  await post(server, '/v1/completions', { prompt: 'x'.repeat(6400) })
  const first = server.stats().busyMs
  t.ok(Math.abs(first - 16) < 1e-9)
  await post(server, '/v1/completions', { prompt: 'x'.repeat(6400) })
  t.equal(server.stats().busyMs, first, 'all of it was found')
})

t.test('a stream takes its time, and stops when the client goes', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    latencyMedianMs: 100,
    latencySigma: 0,
    policy: 'constant',
    constant: 'ab cdefg',
  })
  const client = new AbortController()
  const response = fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ prompt: 'x', stream: true }),
    signal: client.signal,
  })
  await until(() => server.stats().running === 1)
  clock.advance(30)
  const reader = (await response).body?.getReader()
  t.match(Buffer.from((await reader?.read())?.value ?? []).toString(), /"text":"ab c"/)
  client.abort()
  await until(() => server.stats().inFlight === 0)
  t.equal(clock.pending, 0)
})

t.test('attempts are counted across the servers of a fleet, within a bound', async (t) => {
  const attempts = new Attempts(2)
  t.same([attempts.next(1), attempts.next(1), attempts.next(2), attempts.next(3)], [0, 1, 0, 0])
  t.equal(attempts.next(1), 0, 'the oldest was forgotten')
})

t.test(
  'a server of programs answers from its script, and fails as SandboxFusion does when told to',
  async (t) => {
    const server = await simulated(t, {
      runner: 'sandbox',
      programs: [
        { program: 'int(input())', stdin: '21', stdout: '42\n' },
        { program: 'int(input())', ended: 'exception', stderr: 'ValueError: x' },
        { test: 'add', value: 3 },
        { program: 'while', ended: 'time' },
      ],
    })
    const double = { language: 'python', code: 'print(int(input()) * 2)', stdin: '21' }
    const right = {
      status: 200,
      json: { status: 'Success', run_result: { status: 'Finished', return_code: 0, stdout: '42\n' } },
    }
    t.match(await post(server, '/run_code', double), right)
    t.match((await post(server, '/run_code', { ...double, stdin: 'x' })).json, {
      status: 'Failed',
      run_result: { return_code: 1, stderr: 'ValueError: x' },
    })
    t.equal((await post(server, '/run_code', { ...double, language: 'cobol' })).status, 422)
    t.equal((await post(server, '/v1/chat/completions', {})).status, 404)
    t.equal((await get(server, '/v1/ping')).json, 'pong')

    const config = serversConfig.parse({
      backend: 'sandbox-fusion',
      instances: [server.url],
      retry: { max: 0 },
      breaker: { failures: 100, open_s: 0.001 },
      health: { interval_s: 0 },
    })
    const clock = systemClock
    const sandbox = new PooledSandbox('fusion', config, { clock, events: {}, env: {} })
    t.teardown(() => sandbox.close())
    const run = (program: string, cases: readonly ProgramCase[], ms = 60_000) =>
      sandbox.run({
        execution: { language: 'python', program, cases },
        deadline: clock.now() + ms,
        signal: new AbortController().signal,
      })
    const printed: ProgramCase = { stdin: '21', expected: { stdout: '42' } }
    const passed = { result: { compiled: true, cases: [{ ended: 'ok', passed: true }] } }
    t.match(await run(double.code, [printed]), passed)
    t.match(
      await run('def add(a, b): ...', [{ call: 'add', args: '[1, 2]', expected: { json: '3' } }]),
      passed,
    )
    t.match(await run('def add(a, b): ...', [{ check: 'assert add(1, 2) == 3' }]), passed)
    t.match(await run('while True: pass', [printed]), {
      result: { cases: [{ ended: 'time', passed: false }] },
    })
    t.match(await run('print(7)', [printed]), { result: { cases: [{ ended: 'ok', passed: false }] } })

    const kinds = [
      'sandbox-error',
      'half-output',
      'half-json',
      'half-body',
      'garbage',
      '500',
      'reset',
      'error-body',
    ] as const
    for (const kind of kinds) {
      server.set({ kind })
      t.match(await run(double.code, [printed]), { failure: { kind: 'sandbox_unreachable' } }, kind)
      if (['half-output', 'sandbox-error'].includes(kind))
        t.match(
          (await post(server, '/run_code', double)).json,
          kind === 'half-output' ? { run_result: { stdout: '4' } } : { status: 'SandboxError' },
        )
    }
    server.set({ kind: '429' })
    t.match(await run(double.code, [printed]), { failure: { kind: 'overloaded' } })
    server.set({ kind: 'hang' })
    t.match(await run(double.code, [printed], 50), { failure: { kind: 'deadline' } })
    server.set()
    t.match(await run(double.code, [printed]), passed)
  },
)
