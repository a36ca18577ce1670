/** What is promised to a trainer, kept by `reward-gateway serve` with the settings that ship: probes, breakers, cache and all. */
import t from 'tap'
import { request } from 'undici'
import { faultKinds } from '../../src/simulator/faults.ts'
import { seeded } from '../support/seeded.ts'
import { type Served, serveConfigs } from '../support/served.ts'
import { startFleet, until } from '../support/simulated.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

interface Result {
  readonly id: string
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string } | null
}

interface Reply {
  readonly results: readonly Result[]
  readonly reward: { readonly version: string }
}

/** A sum and its answer: the rule says 1 and the judge 1, or both say 0. */
interface Row {
  readonly id: string
  readonly prompt: string
  readonly response: string
  readonly ground_truth: string
}

const weights = { rule: 1, judge: 0.5 }
const fullMarks = weights.rule + weights.judge

const config = (judge = weights.judge) => ({
  steps: [
    { name: 'rule', function: 'numeric-match', weight: weights.rule },
    { name: 'judge', function: 'yes-no-judge', model: 'judge', weight: judge },
  ],
})

/** The row with this number; even ones are right. No two numbers make one question. */
const rowOf = (number: number): Row => {
  const [a, b] = [number % 97, Math.floor(number / 97)]
  const answer = number % 2 === 0 ? a + b : a + b + 1
  return {
    id: `row-${number}`,
    prompt: `What is ${a} + ${b}? (No. ${number})`,
    response: `${a} + ${b} = ${answer}\n\\boxed{${answer}}`,
    ground_truth: String(a + b),
  }
}

const rewardOf = ({ id }: { readonly id: string }, marks = fullMarks): number =>
  Number(id.slice(4)) % 2 === 0 ? marks : 0

const rowsFrom = (first: number, count: number): Row[] =>
  Array.from({ length: count }, (_, index) => rowOf(first + index))

const judges = await startFleet(t, 2, { model: 'judge', policy: 'arithmetic', seed })
const slow = await startFleet(t, 1, { model: 'slow', policy: 'arithmetic', latencyMedianMs: 60_000 })
const served: Served = await serveConfigs({
  gateway: {
    models: {
      judge: { model: 'judge', instances: judges.map(({ url }) => url) },
      slow: { model: 'slow', instances: slow.map(({ url }) => url) },
    },
  },
  mixed: config(),
  // Where every judge is away, questions wait for one until their deadline.
  hasty: { ...config(), deadline_s: 3 },
  ruled: { steps: [{ name: 'rule', function: 'numeric-match' }] },
  slow: { steps: [{ name: 'judge', function: 'yes-no-judge', model: 'slow' }] },
})
t.teardown(() => served.stop())

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const reply = await request(`${served.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: reply.statusCode, headers: reply.headers, text: await reply.body.text() }
}

async function score(rows: readonly object[], reward = 'mixed'): Promise<Reply> {
  const { status, text } = await post('/v1/score', { reward, samples: rows })
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return JSON.parse(text) as Reply
}

async function metric(name: string): Promise<number> {
  const text = await (await request(`${served.url}/metrics`)).body.text()
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Each row has its own reward or none, in the order of the rows. */
function sound(rows: readonly Row[], { results }: Reply): boolean {
  return (
    results.length === rows.length &&
    results.every(({ id, reward, valid, failure }, index) => {
      const row = rows[index] as Row
      return (
        id === row.id &&
        valid === (reward !== null) &&
        valid === (failure === null) &&
        (!valid || reward === rewardOf(row))
      )
    })
  )
}

let next = 0
const fresh = (count: number): Row[] => {
  next += count
  return rowsFrom(next - count, count)
}

// A server that never answers costs `timeout_s`: what finds it sooner has tests of its own.
const answeringFaults = faultKinds.filter((kind) => !['slow', 'hang', 'stall'].includes(kind))

for (const kind of answeringFaults)
  t.test(`a row has its own reward or a reason, where one of two judges answers with ${kind}`, async (t) => {
    judges[0]?.set({ kind })
    const rows = fresh(24)
    t.ok(sound(rows, await score(rows)))
    judges[0]?.set()
  })

t.test('where every judge is ill no row has a number, and a well judge is asked again', async (t) => {
  for (const kind of ['500', 'nan'] as const) {
    for (const judge of judges) judge.set({ kind })
    const rows = fresh(6)
    const { results } = await score(rows, 'hasty')
    t.ok(results.every(({ reward, valid, failure }) => reward === null && !valid && failure !== null))
    for (const judge of judges) judge.set()
    // A breaker that opened closes by itself; the same rows are sent again until then, as a trainer does.
    let reply = await score(rows)
    while (reply.results.some(({ valid }) => !valid)) reply = await score(rows)
    t.ok(sound(rows, reply))
  }
})

t.test('batch size, order, repetition and cache never change a reward', async (t) => {
  const random = seeded(seed)
  const rows = fresh(48)
  const whole = await score(rows)
  t.ok(whole.results.every(({ id, reward }) => reward === rewardOf({ id })))
  const shuffled = [...rows, ...rows.slice(0, 16)].sort(() => random() - 0.5)
  t.ok(sound(shuffled, await score(shuffled)))
  for (let at = 0; at < shuffled.length; ) {
    const size = 1 + Math.floor(random() * 7)
    const some = shuffled.slice(at, at + size)
    t.ok(sound(some, await score(some)))
    at += size
  }
})

t.test('the same rows by the same rule give the same bytes', async (t) => {
  const body = { reward: 'ruled', samples: fresh(100) }
  t.equal((await post('/v1/score', body)).text, (await post('/v1/score', body)).text)
})

t.test('one bad row costs no other row', async (t) => {
  const bad: readonly unknown[] = [
    null,
    1,
    'text',
    [],
    {},
    { response: 5 },
    { response: '', extra_info: [] },
    { response: 'a', no: 1 },
  ]
  const rows = bad.flatMap((one) => [one as object, ...fresh(1)])
  const { results } = await score(rows)
  t.equal(results.length, rows.length)
  for (const [index, { reward, valid }] of results.entries()) {
    if (index % 2 === 0) t.strictSame([reward, valid], [null, false])
    else t.equal(reward, rewardOf(rows[index] as Row))
  }
})

t.test('a reload never mixes two configs in one request, and a refused one changes nothing', async (t) => {
  const marks = new Map<string, number>()
  for (let round = 0; round < 6; round++) {
    const version = (await score(fresh(1))).reward.version
    if (round % 3 === 2) served.write('mixed', { steps: [{ name: 'x' }] })
    else served.write('mixed', config(round % 3 === 0 ? 0.25 : weights.judge))
    const reloads = await metric('reward_gateway_reloads_total')
    served.signal('SIGHUP')
    while ((await metric('reward_gateway_reloads_total')) === reloads) {
      const rows = fresh(16)
      const reply = await score(rows)
      const earned = new Set(reply.results.map(({ reward }) => reward).filter((reward) => reward !== 0))
      t.equal(earned.size, 1, 'one config for the whole request')
      const known = marks.get(reply.reward.version) ?? ([...earned][0] as number)
      t.ok(earned.has(known), 'a version is one config')
      marks.set(reply.reward.version, known)
    }
    const after = (await score(fresh(2))).reward.version
    if (round % 3 === 2) t.equal(after, version, 'what was served stays')
    else t.not(after, version)
  }
  served.write('mixed', config())
})

t.test('no question outlives its client', async (t) => {
  const gone = new AbortController()
  const asked = request(`${served.url}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reward: 'slow', samples: fresh(20) }),
    signal: gone.signal,
  }).catch((error: Error) => error.name)
  await until(() => (slow[0]?.stats().running ?? 0) >= 20)
  gone.abort()
  t.equal(await asked, 'AbortError')
  while ((await metric('reward_gateway_samples_in_flight')) > 0) await new Promise(setImmediate)
  t.equal(await metric('reward_gateway_upstream_in_flight'), 0)
})

t.test('every refusal has the documented form, whatever is sent and wherever', async (t) => {
  const paths = [
    '/v1/score',
    '/wire/openrlhf/ruled',
    '/wire/slime/ruled',
    '/wire/azure/ruled',
    '/wire/axolotl/ruled/verify',
    '/wire/eval-protocol/ruled',
    '/wire/llama-factory/ruled',
    '/wire/nemo-gym/ruled/verify',
    '/wire/open-instruct/ruled/test_program',
    '/admin/reload',
    '/nowhere',
  ]
  const bodies = [
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"reward":5}',
    '{"__proto__":1}',
    '\u0000',
    '{"a":NaN}',
    '"text"',
  ]
  for (const path of paths) {
    for (const body of bodies) {
      const { status, text, headers } = await post(path, body)
      if (status === 200) continue
      t.ok(status >= 400 && status < 500, `${path} ${JSON.stringify(body)}: ${status}`)
      const { error } = JSON.parse(text)
      t.match(error, { code: /^RG_[A-Z_]+$/, message: /./ }, path)
      t.equal(error.request_id, headers['x-request-id'])
    }
    const { status, text } = await post(path, 'a=b', { 'content-type': 'text/plain' })
    t.ok(status >= 400 && status < 500)
    t.match(JSON.parse(text).error.code, /^RG_/)
  }
})

const finished = (): number => judges.reduce((sum, judge) => sum + judge.stats().sequences.finished, 0)

t.test('SIGTERM: what is in work is answered, and the process ends with 0', async (t) => {
  const rows = fresh(400)
  const scored = score(rows)
  const before = finished()
  await until(() => finished() > before)
  served.signal('SIGTERM')
  t.ok(sound(rows, await scored))
  t.equal(await served.end(), '0')
})
