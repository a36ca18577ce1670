import { request } from 'node:http'
import t from 'tap'
import { faultKinds } from '../../src/simulate/faults.ts'
import { testApp } from '../support/app.ts'
import { seeded } from '../support/seeded.ts'
import { startFleet } from '../support/simulated.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

const after = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** POSTs, and hangs up after `leaveMs` where that is sooner; null: nothing whole came. */
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

t.test('in a storm of faults, clients that leave and too much load, no number is made up', async (t) => {
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
    wait_for_instance_s: 0.1,
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
