import { request } from 'node:http'
import t from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { faultKinds } from '../../../src/simulator/faults.ts'
import { testApp } from '../../support/app.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { completion, json, type ScriptedServer, scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'
import { startFleet } from '../../support/simulated.ts'

/** How long a judge's queue may be. */
const lines = { timed: { max_queue_wait_s: 1 }, free: {}, counted: { max_queue: 1 } }
type Line = keyof typeof lines

t.test('requests beyond the capacity of the judges are refused at once', async (t) => {
  const clock = fakeClock()
  /** Judges with two slots that take 500 ms of the gateway's clock and answer on command. */
  const judges = new Map<string, { server: ScriptedServer; held: (() => void)[] }>()
  const models: Record<string, object> = {}
  const rewards: Record<string, object> = { ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] } }
  for (const [line, more] of Object.entries(lines)) {
    const held: (() => void)[] = []
    const server = await scriptedServer((seen, response) => {
      held.push(() => json(response, completion(seen, '1')))
    })
    t.teardown(() => server.kill())
    judges.set(line, { server, held })
    models[line] = {
      model: 'm',
      instances: [server.url],
      max_in_flight: 2,
      health: { interval_s: 0 },
      ...more,
    }
    const steps = [{ name: 'q', function: 'digit-judge', model: line }]
    rewards[line] = { steps }
    rewards[`${line}-hurried`] = { steps, deadline_s: 0.9 }
    rewards[`${line}-sorted`] = {
      steps: [
        { name: 'rule', function: 'echo-rule' },
        { ...steps[0], data_source: 'judged' },
      ],
    }
  }
  const gateway = await testGateway(t, { gateway: { models }, ...rewards }, { clock })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  let serial = 0
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers })
  const score = (reward: string, rows = 1, row: object = {}, headers = {}) => {
    const samples = Array.from({ length: rows }, () => ({ response: `1 ${serial++}`, ...row }))
    return post('/v1/score', { reward, samples }, headers)
  }
  const waitingFor = (line: Line) => gateway.models().find(({ name }) => name === line)?.waiting
  /** Sends requests, and resolves once this many of them are queued. */
  const fill = async (line: Line, count: number, waiting: number) => {
    const let_in = Array.from({ length: count }, () => score(line))
    while (waitingFor(line) !== waiting) await new Promise(setImmediate)
    return let_in
  }
  /** Answers all questions until `scored` resolves. */
  const finish = async (line: Line, scored: Promise<unknown>) => {
    let isOver = false
    void scored.finally(() => {
      isOver = true
    })
    while (!isOver) {
      for (const reply of judges.get(line)?.held.splice(0) ?? []) reply()
      await new Promise(setImmediate)
    }
  }
  for (const [line, { server, held }] of judges) {
    const first = score(line)
    await server.saw(1)
    clock.advance(500)
    held.shift()?.()
    await first
  }

  await t.test('while a line is too long', async (t) => {
    const line = 'timed'
    const waiting = [...(await fill(line, 6, 4))]
    const hurried = await score(`${line}-hurried`)
    waiting.push(...(await fill(line, 1, 5)))

    await t.test('a request whose deadline is before its turn is refused', async (t) => {
      t.equal(hurried.statusCode, 429, '1 s in line is longer than its deadline')
    })

    for (const [what, send] of [
      ['one sample', () => score(line)],
      ['many samples', () => score(line, 50)],
      ['a stream', () => score(line, 2, {}, { accept: 'application/x-ndjson' })],
      ['a trainer', () => post('/wire/slime/timed', { prompt: 'q', response: '1', label: '1' })],
    ] as const)
      await t.test(`${what} is refused before any work, with a Retry-After`, async (t) => {
        const refused = await send()
        t.equal(refused.statusCode, 429)
        t.equal(refused.headers['retry-after'], '1')
        t.match(refused.json(), { error: { code: 'RG_OVERLOADED', message: /'timed'/ } })
      })

    await t.test('a request that is passed on is refused', async (t) => {
      const passed = { model: line, messages: [{ role: 'user', content: '1' }] }
      t.equal((await post('/v1/chat/completions', passed)).statusCode, 429)
    })

    await t.test('what does not ask the model is served, by reward and by row', async (t) => {
      t.equal((await score('ruled')).statusCode, 200)
      t.equal((await score(`${line}-sorted`, 1, { data_source: 'ruled' })).statusCode, 200)
      t.equal((await score(`${line}-sorted`, 1, { data_source: 'judged' })).statusCode, 429)
    })

    await t.test('what was let in is scored, and then whatever comes is let in', async (t) => {
      const scored = Promise.all(waiting)
      await finish(line, scored)
      for (const response of await scored) t.equal(response.json().results[0].reward, 1)
      const after = score(line, 20)
      await finish(line, after)
      t.equal((await after).statusCode, 200)
    })
  })

  await t.test('Retry-After grows with the queue', async (t) => {
    const line = 'free'
    const waiting = await fill(line, 22, 20)
    const refused = await score(`${line}-hurried`)
    t.equal(refused.statusCode, 429)
    t.equal(refused.headers['retry-after'], '6', 'an answer in 5.75 s, of which 0.72 may be')
    const patient = score(line)
    const scored = Promise.all([...waiting, patient])
    await finish(line, scored)
    t.equal((await patient).statusCode, 200, 'a burst waits as long as its deadline allows')
  })

  await t.test('a full queue refuses further requests', async (t) => {
    const line = 'counted'
    const waiting = await fill(line, 3, 1)
    const refused = await score(line)
    t.equal(refused.statusCode, 429)
    t.equal(refused.headers['retry-after'], '1')
    const scored = Promise.all(waiting)
    await finish(line, scored)
    for (const response of await scored) t.equal(response.statusCode, 200)
  })
})

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

const after = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Posts, and disconnects after `leaveMs` if that is sooner; null if no complete reply arrived. */
const post = (origin: string, path: string, body: object, leaveMs: number): Promise<Answer | null> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' }
    const call = request(origin + path, { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(null))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    call.on('error', () => resolve(null))
    const timer = setTimeout(() => call.destroy(), leaveMs)
    call.on('close', () => clearTimeout(timer))
    call.end(JSON.stringify(body))
  })

t.test('under faults, disconnects and overload, no number is made up', async (t) => {
  const random = seeded(seed)
  const servers = await startFleet(t, 2, {
    model: 'm',
    policy: 'constant',
    constant: 1,
    seed,
    latencyMedianMs: 3,
  })
  const kinds = faultKinds.filter((kind) => kind !== 'slow')
  for (const server of servers) {
    const drawn = kinds.filter(() => random() < 0.5)
    server.set(...drawn.map((kind) => ({ kind, rate: (0.8 * random()) / drawn.length, retryAfterS: 0 })))
  }
  const judge = {
    model: 'm',
    instances: servers.map(({ url }) => url),
    max_in_flight: 4,
    max_queue: 20,
    timeout_s: 0.1,
    wait_for_instance: 0.1,
    retry: { pause_ms: 2 },
    breaker: { open_s: 0.02 },
    health: { interval_s: 0 },
  }
  const app = await testApp(t, {
    gateway: { models: { judge }, limits: { max_samples: 60, deadline_s: 0.5 } },
    judged: { steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] },
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const messages = [{ role: 'user', content: 'Reply 1 or 0.' }]
  const began = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const leaveMs = random() < 0.2 ? 60 * random() : 60_000
      const samples = Array.from({ length: 8 }, (_, row) => ({ response: `${i} ${row}` }))
      if (i % 2 === 0)
        return { scored: await post(origin, '/v1/score', { reward: 'judged', samples }, leaveMs) }
      const body = {
        model: 'judge',
        messages: [...messages, { role: 'user', content: `${i}` }],
        stream: i % 4 === 1,
      }
      return { passed: await post(origin, '/v1/chat/completions', body, leaveMs) }
    }),
  )
  const ms = performance.now() - began
  const statuses = new Map<string, number>()
  for (const { scored, passed } of answers) {
    const answer = scored ?? passed
    const key = `${scored === undefined ? 'passed' : 'scored'} ${answer?.status ?? 'broken off'}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
    if (answer?.status === 429 && scored)
      t.ok(Number(answer.retryAfter) >= 1, 'a refusal says when to come again')
    if (scored) t.ok([200, 429].includes(scored.status), `status ${scored.status}`)
    if (passed) t.ok([200, 404, 429, 500, 502, 503, 504].includes(passed.status), `status ${passed.status}`)
    if (scored?.status !== 200) continue
    const { results } = JSON.parse(scored.text) as { results: { valid: boolean; reward: number | null }[] }
    t.equal(results.length, 8)
    for (const { valid, reward } of results) t.equal(reward, valid ? 1 : null)
  }
  t.comment(`${Math.round(ms)} ms: ${JSON.stringify(Object.fromEntries(statuses))}`)
  const metrics = async () => (await app.inject('/metrics')).body
  while (!(await metrics()).includes('reward_gateway_samples_in_flight 0\n')) await after(20)
  while (servers.some((server) => server.stats().inFlight > 0)) await new Promise(setImmediate)
  for (const server of servers) server.set()
  const payload = { reward: 'judged', samples: [{ response: 'after' }] }
  while ((await app.inject({ method: 'POST', url: '/v1/score', payload })).json().results[0].reward !== 1)
    await after(20)
})
