import t from 'tap'
import { Batcher } from '../../../src/scoring/models/batch.ts'
import type { UpstreamRequest } from '../../../src/scoring/models/dispatch/dispatch.ts'
import { CancelToken } from '../../../src/scoring/models/interface/cancel-token.ts'
import { InstancePool } from '../../../src/scoring/models/pool/pool.ts'
import { PoolMember } from '../../../src/scoring/models/pool/pool-member.ts'
import { Endpoint } from '../../../src/scoring/models/transport/endpoint.ts'
import { abandoned } from '../../../src/scoring/models/transport/upstream-error.ts'
import { type FakeClock, fakeClock } from '../../support/clock.ts'
import { seeded } from '../../support/seeded.ts'

const breaker = { failures: 5, openMs: 1000 }
const endless = Number.POSITIVE_INFINITY
const fresh = (Math.random() * 2 ** 32) >>> 0
const seeds = process.env.SEED?.split(',').map(Number) ?? [
  ...Array.from({ length: 19 }, (_, at) => at + 1),
  fresh,
]
t.comment(`SEED=${seeds.join()}`)
/** For loads of thousands of questions, of which a seed draws little. */
const fewSeeds = seeds.slice(-5)

/** Questions of one request that come at the same time. */
interface Request {
  readonly at: number
  readonly count: number
  readonly tokens: number
  /** Milliseconds that the server takes for one. */
  ms(): number
  /** After it came. */
  readonly deadlineMs?: number
  /** That it names. */
  readonly run?: string
}

/** A pool of servers that exist only on the clock. */
function servers(
  clock: FakeClock,
  count: number,
  limits: { limit: number; tokenLimit?: number },
  seed: number,
) {
  const pool = new InstancePool(clock, {
    maxQueue: 65_536,
    maxLineMs: endless,
    waitMs: 5000,
    random: seeded(seed),
    affinity: false,
  })
  for (let at = 0; at < count; at += 1) {
    const endpoint = new Endpoint(`http://127.0.0.${at + 1}:9`, clock, { connectMs: 1000, breaker })
    const { limit: questions, tokenLimit: tokens = endless } = limits
    const settings = { limits: { questions, tokens }, weight: 1, breaker }
    pool.add(new PoolMember(endpoint, clock, settings, () => {}))
  }
  return pool
}

/** Milliseconds from each request's coming to its last answer, or to each of its answers' where `late` counts. */
async function served(
  pool: InstancePool,
  clock: FakeClock,
  requests: readonly Request[],
): Promise<readonly { readonly ms: number; readonly late: number }[]> {
  const done: Promise<{ ms: number; late: number }>[] = []
  let left = requests.length
  const begin = async ({ at, count, tokens, ms, deadlineMs = 3_600_000, run }: Request) => {
    const request = new CancelToken(run)
    const deadline = at + deadlineMs
    let late = 0
    const one = async () => {
      const question = { request, deadline, load: { questions: 1, tokens }, prefix: '' }
      const member =
        pool.take(null, question) ?? (await pool.wait(null, question, new CancelToken(), abandoned))
      const began = clock.now()
      await new Promise<void>((resolve) => clock.after(ms(), resolve))
      member.succeeded(clock.now() - began)
      member.end(question.load)
      if (clock.now() > deadline) late += 1
    }
    await Promise.all(Array.from({ length: count }, one))
    left -= 1
    return { ms: clock.now() - at, late }
  }
  // One timer at a time for those to come.
  const order = requests.map((_, at) => at).sort((a, b) => (requests[a]?.at ?? 0) - (requests[b]?.at ?? 0))
  const come = (): void => {
    const next = order.shift()
    const request = next === undefined ? undefined : requests[next]
    if (next === undefined || !request) return
    clock.after(request.at - clock.now(), () => {
      done[next] = begin(request)
      come()
    })
  }
  come()
  while (left > 0) {
    if (!clock.step()) throw new Error('questions wait for ever')
    await new Promise(setImmediate)
  }
  return Promise.all(done)
}

/** Normally distributed, of a seed. */
const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** As `bench/judges.ts` has it: median 300 ms. */
const lognormal = (random: () => number) => () => 300 * Math.exp(0.8 * normal(random))

const timeOf = async (
  requests: readonly Request[],
  limits: { limit: number; tokenLimit?: number },
  count: number,
  seed: number,
) => {
  const clock = fakeClock()
  return served(servers(clock, count, limits, seed), clock, requests)
}

t.test("a giant request delays a small one by no more than the small one's own time", async (t) => {
  let worst = 0
  for (const seed of seeds) {
    const random = seeded(seed)
    const at = 500 + 2000 * random()
    const small = (): Request => ({ at, count: 16, tokens: 500, ms: lognormal(seeded(seed + 1)) })
    const giant: Request = { at: 0, count: 600, tokens: 500, ms: lognormal(random) }
    const [alone] = await timeOf([small()], { limit: 16 }, 2, seed)
    const [, together] = await timeOf([giant, small()], { limit: 16 }, 2, seed)
    const times = (together?.ms ?? 0) / (alone?.ms ?? 1)
    worst = Math.max(worst, times)
    t.ok(times <= 2, `seed ${seed}: ${times.toFixed(2)} times its time alone`)
  }
  t.comment(`worst: ${worst.toFixed(2)} times its time alone`)
})

t.test('long questions leave capacity for short ones', async (t) => {
  for (const seed of seeds) {
    const random = seeded(seed)
    const limits = { limit: 64, tokenLimit: 40_000 }
    const long: Request = { at: 0, count: 12, tokens: 30_000, ms: () => 3000 }
    const at = 1000 + 10_000 * random()
    const short = (): Request => ({ at, count: 16, tokens: 300, ms: lognormal(seeded(seed + 1)) })
    const [alone] = await timeOf([short()], limits, 1, seed)
    const [, together] = await timeOf([long, short()], limits, 1, seed)
    const times = (together?.ms ?? 0) / (alone?.ms ?? 1)
    t.ok(times <= 2, `seed ${seed}: short ones take ${times.toFixed(2)} times their time alone`)
  }
})

t.test('long questions are answered beside a stream of short ones without an end', async (t) => {
  for (const seed of fewSeeds) {
    const random = seeded(seed)
    const limits = { limit: 64, tokenLimit: 40_000 }
    const long: Request = { at: 0, count: 12, tokens: 30_000, ms: () => 3000 }
    // There is just room for it.
    const stream = Array.from(
      { length: 400 },
      (_, i): Request => ({ at: i * 100, count: 8, tokens: 300, ms: lognormal(random) }),
    )
    const [beside] = await timeOf([long, ...stream], limits, 1, seed)
    t.ok(
      (beside?.ms ?? 0) <= 1.5 * 36_000,
      `seed ${seed}: long ones beside a stream of short ones took ${beside?.ms} ms`,
    )
  }
})

t.test('requests of one question each do not starve a larger one', async (t) => {
  for (const seed of fewSeeds) {
    const random = seeded(seed)
    // Twice what the places can do.
    const stream = Array.from(
      { length: 1200 },
      (_, i): Request => ({ at: i * 10, count: 1, tokens: 400, ms: () => 320 }),
    )
    const large: Request = { at: 1000, count: 16, tokens: 3000, ms: lognormal(random) }
    const all = await timeOf([...stream, large], { limit: 16 }, 1, seed)
    t.ok((all.at(-1)?.ms ?? endless) < 11_000, `seed ${seed}: ${all.at(-1)?.ms} ms`)
  }
})

t.test(
  'a burst of one run at most doubles the p99 of another, though both send each rollout by itself',
  async (t) => {
    for (const seed of fewSeeds.slice(-2)) {
      const random = seeded(seed)
      const oneByOne = (run: string, count: number, at: (index: number) => number): Request[] =>
        Array.from({ length: count }, (_, i) => ({
          ...{ at: at(i), count: 1, tokens: 200, run },
          ms: lognormal(seeded(seed * 1e6 + i)),
        }))
      const steady = () => oneByOne('a', 400, (i) => i * 50)
      const burst = oneByOne('b', 2048, () => 5000 + Math.floor(1000 * random()))
      const p99Of = (served: readonly { readonly ms: number }[]) =>
        served.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(0.99 * served.length)] ?? endless
      const alone = p99Of(await timeOf(steady(), { limit: 16 }, 4, seed))
      const beside = p99Of((await timeOf([...steady(), ...burst], { limit: 16 }, 4, seed)).slice(0, 400))
      t.ok(
        beside <= 2 * alone,
        `seed ${seed}: ${Math.round(beside)} ms beside it, ${Math.round(alone)} ms alone`,
      )
      t.comment(`seed ${seed}: ${Math.round(beside)} ms beside it, ${Math.round(alone)} ms alone`)
    }
  },
)

t.test('a run whose requests have left begins its turns anew', async (t) => {
  const clock = fakeClock()
  const pool = servers(clock, 1, { limit: 1 }, 1)
  const of = (run: string, at = 0) => ({
    ...{ request: new CancelToken(run), deadline: 1e6 + at, prefix: '' },
    load: { questions: 1, tokens: 100 },
  })
  const first = of('a')
  const member = pool.take(null, first)
  const leaving = Array.from({ length: 50 }, () => new CancelToken())
  const left = leaving.map((stop) => pool.wait(null, of('b'), stop, abandoned).catch(() => null))
  for (const stop of leaving) stop.stop()
  await Promise.all(left)
  const order: string[] = []
  const waits = ['a', 'a', 'a', 'b', 'a', 'a'].map(async (run, at) => {
    const own = of(run, at)
    const given = await pool.wait(null, own, new CancelToken(), abandoned)
    order.push(run)
    given.end(own.load)
  })
  member?.end(first.load)
  await Promise.all(waits)
  t.ok(order.indexOf('b') < 4, order.join())
})

t.test('a large question gets capacity although small ones take every freed token', async (t) => {
  const stream = Array.from(
    { length: 500 },
    (_, i): Request => ({ at: i * 20, count: 1, tokens: 1000, ms: () => 300 }),
  )
  const large: Request = { at: 1000, count: 1, tokens: 8000, ms: () => 300 }
  const all = await timeOf([...stream, large], { limit: 64, tokenLimit: 10_000 }, 1, 1)
  t.ok((all.at(-1)?.ms ?? endless) < 2500, `${all.at(-1)?.ms} ms`)
})

t.test('capacity reserved for a caller that has left is free at once', async (t) => {
  const clock = fakeClock()
  const pool = servers(clock, 1, { limit: 64, tokenLimit: 10_000 }, 1)
  const of = (tokens: number) => ({ request: {}, deadline: 1e6, load: { questions: 1, tokens }, prefix: '' })
  const first = of(6000)
  const member = pool.take(null, first)
  const gone = new CancelToken()
  const large = pool.wait(null, of(9000), gone, abandoned)
  const other = of(3000)
  t.equal(pool.take(null, other), null, 'it would keep the large one waiting')
  const given = pool.wait(null, other, new CancelToken(), abandoned)
  gone.stop()
  await t.rejects(large)
  t.equal(await given, member)
  member?.end(first.load)
  member?.end(other.load)
  t.equal(pool.take(null, of(9000)), member)
})

t.test('a late request does not catch up: requests share from then on', async (t) => {
  const giant = { tokens: 500, ms: () => 300 }
  const requests = [
    { at: 0, count: 1500, ...giant },
    { at: 1000, count: 200, ...giant },
    { at: 5000, count: 400, ...giant },
  ]
  const [, second] = await timeOf(requests, { limit: 16 }, 1, 1)
  // Half of 53 a second for 4 s, then a quarter.
  t.ok((second?.ms ?? endless) < 13_000, `${second?.ms} ms`)
})

t.test('a question close to its deadline is served early', async (t) => {
  for (const seed of seeds) {
    const others = Array.from(
      { length: 12 },
      (): Request => ({ at: 0, count: 50, tokens: 300, ms: () => 200 }),
    )
    // Its share alone would take it 8 times as long.
    const urgent: Request = { at: 400, count: 16, tokens: 3000, ms: () => 200, deadlineMs: 1500 }
    const all = await timeOf([...others, urgent], { limit: 16 }, 1, seed)
    t.equal(all.at(-1)?.late, 0, `seed ${seed}: ${all.at(-1)?.late} of 16 were late`)
    const patient = await timeOf([...others, { ...urgent, deadlineMs: 7_200_000 }], { limit: 16 }, 1, seed)
    t.ok((patient.at(-1)?.ms ?? 0) > 1500, 'with more time than the others it takes turns')
  }
})

t.test(
  'whatever joins, leaves and returns, slots are counted right and no waiter is forgotten',
  async (t) => {
    for (const seed of seeds) {
      const random = seeded(seed)
      const clock = fakeClock()
      const limits = { limit: 8, tokenLimit: 10_000 }
      const pool = servers(clock, 3, limits, seed)
      const requests = Array.from({ length: 5 }, () => new CancelToken())
      let settled = 0
      let answered = 0
      let left = 0
      const count = 300
      for (let at = 0; at < count; at += 1) {
        const stop = new CancelToken()
        const load = {
          questions: 1 + Math.floor(random() ** 4 * 12),
          tokens: Math.ceil(random() ** 4 * 15_000),
        }
        const request = requests[Math.floor(random() * 5)] as CancelToken
        const avoid = random() < 0.2 ? new Set(pool.members.slice(0, 1 + Math.floor(random() * 2))) : null
        const question = { request, deadline: 1000 + random() * 60_000, load, prefix: '' }
        const ask = async () => {
          if (random() < 0.2) clock.after(random() * 3000, () => stop.stop())
          try {
            const member =
              pool.take(avoid, question) ??
              (await pool.wait(avoid, question, stop, abandoned, random() < 0.1))
            const { questions, tokens } = member.capacity
            const isAlone = questions === load.questions
            if (!isAlone && (questions > limits.limit || tokens > limits.tokenLimit))
              t.fail(`seed ${seed}: ${questions} questions of ${tokens} tokens are under way`)
            await new Promise<void>((resolve) => clock.after(50 + random() * 500, resolve))
            member.end(load)
            answered += 1
          } catch {
            if (!stop.aborted) t.fail(`seed ${seed}: refused while its caller waits`)
            left += 1
          }
          settled += 1
        }
        clock.after(random() * 5000, () => void ask())
      }
      while (settled < count && clock.step()) await new Promise(setImmediate)
      t.equal(settled, count, `seed ${seed}: ${answered} answered, ${settled} settled`)
      t.ok(answered > 100 && left > 10, `seed ${seed}: ${answered} answered, ${left} left`)
      t.equal(pool.waiting, 0)
      t.strictSame(
        pool.members.map(({ capacity: room }) => [room.questions, room.tokens]),
        pool.members.map(() => [0, 0]),
      )
    }
  },
)

t.test(
  'a batch of several requests waits in the turn of the one with the fewest questions in it',
  async (t) => {
    const sent: UpstreamRequest<unknown>[] = []
    const batcher = new Batcher({
      clock: fakeClock(),
      backend: {
        translateBatch: () => ({ path: '/embed', body: {} }),
      } as unknown as ConstructorParameters<typeof Batcher>[0]['backend'],
      headers: {},
      capacity: () => ({ questions: endless, tokens: endless }),
      maxWaitMs: 0,
      hedgesImages: false,
      send: (work) => {
        sent.push(work)
        return new Promise(() => {})
      },
    })
    const settings = {} as Parameters<Batcher['add']>[1]['settings']
    const [small, large] = [new CancelToken('small'), new CancelToken('large')]
    for (const request of [large, small, large, large, small])
      void batcher.add(
        'texts',
        { ask: 'embed', settings, prefix: '', most: 64 },
        {
          input: 'x' as never,
          request,
          deadline: 1,
          stop: new CancelToken(),
          trace: undefined,
          watch: undefined,
        },
      )
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(sent.length, 1)
    t.equal(sent[0]?.request, small)
  },
)
