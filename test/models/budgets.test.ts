import { setImmediate as turnOver } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { AskError } from '../../src/models/models.ts'
import { openModels } from '../../src/models/open-models.ts'
import type { FaultKind } from '../../src/simulate/index.ts'
import { configOf, question } from '../support/models.ts'
import { seeded } from '../support/seeded.ts'
import { startFleet } from '../support/simulated.ts'

const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const seeds = process.env.SEED ? [first] : [first, first + 1, first + 2]
t.comment(`SEED=${seeds.join(' or SEED=')}`)

const after = (ms: number) => new Promise<void>((resolve) => void systemClock.after(ms, resolve))

const kinds: FaultKind[] = [
  '500',
  '503',
  '429',
  'reset',
  'garbage',
  'half-body',
  'stall',
  'hang',
  'wrong-type',
]

for (const seed of seeds) {
  t.test(`calls, lines and time stay within their limits in any storm (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const servers = await startFleet(t, 3, { model: 'm', seed, latencyMedianMs: 4, latencySigma: 1 })
    for (const server of servers) {
      const drawn = kinds.filter(() => random() < 0.4)
      server.set(...drawn.map((kind) => ({ kind, rate: (0.5 * random()) / drawn.length, retryAfterS: 0.01 })))
    }
    const counted = { calls: 0, ended: 0, retries: 0, hedges: 0, running: 0, most: 0 }
    const limits = { max_in_flight: 4, max_queue: 60 }
    const models = openModels(
      {
        judge: configOf(
          servers.map(({ url }) => url),
          {
            ...limits,
            timeout_s: 0.2,
            wait_for_instance_s: 0.2,
            retry: { max: 3, budget: 0.2, pause_ms: 2 },
            breaker: { failures: 4, open_s: 0.02 },
            hedge: { budget: 0.05 },
          },
        ),
      },
      {
        clock: systemClock,
        random,
        events: {
          callStarted() {
            counted.calls += 1
            counted.running += 1
            counted.most = Math.max(counted.most, counted.running)
          },
          callEnded() {
            counted.ended += 1
            counted.running -= 1
          },
          retried() {
            counted.retries += 1
          },
          hedged() {
            counted.hedges += 1
          },
        },
      },
    )
    t.teardown(() => models.close())
    let mostWaiting = 0
    let late = 0
    const questions = 400
    const ask = async (i: number): Promise<string> => {
      // A burst that does not fit, then a stream that does.
      if (i >= 150) await after(400 * random())
      const client = new AbortController()
      const ms = 20 + 800 * random()
      let isOver = false
      // Both timers see the same delays of a busy machine; after a stall they fire together, and what the first one
      // ended is told a few turns later.
      const look = async () => {
        for (let turn = 0; turn < 5 && !isOver; turn++) await turnOver()
        if (!isOver) late += 1
      }
      const cancelLate = systemClock.after(ms + 50, () => void look())
      const cancelLeave = systemClock.after(random() < 0.2 ? ms * random() : 1e6, () => client.abort())
      try {
        const asked = models.ask({ ...question(`q${i}`, systemClock.now() + ms), signal: client.signal })
        mostWaiting = Math.max(mostWaiting, models.snapshot()[0]?.waiting ?? 0)
        await asked
        return 'answered'
      } catch (error) {
        if (error instanceof AskError) return error.failure.kind
        throw error
      } finally {
        isOver = true
        cancelLate()
        cancelLeave()
      }
    }
    const outcomes = await Promise.all(Array.from({ length: questions }, (_, i) => ask(i)))
    const count = (kind: string) => outcomes.filter((outcome) => outcome === kind).length
    t.comment(JSON.stringify({ ...counted, answered: count('answered'), overloaded: count('overloaded') }))
    t.equal(late, 0, 'every answer comes by its deadline')
    t.ok(mostWaiting <= limits.max_queue, `${mostWaiting} in line`)
    t.ok(count('overloaded') > 0, 'what does not fit is refused')
    t.ok(counted.most <= 3 * limits.max_in_flight, `${counted.most} calls at once`)
    const asked = counted.calls - counted.retries - counted.hedges
    t.ok(asked <= questions, `${asked} first calls`)
    const credit = 3 * limits.max_in_flight
    t.ok(counted.retries <= credit + 0.2 * questions, `${counted.retries} retries`)
    t.ok(counted.hedges <= 0.05 * questions, `${counted.hedges} second calls`)
    t.equal(counted.running, 0, 'nobody waits any more: no call is under way')
    t.match(models.snapshot(), [{ waiting: 0, instances: servers.map(() => ({ inFlight: 0 })) }])
    const { calls } = counted
    await after(30)
    t.equal(counted.calls, calls, 'no call comes after the last client has gone')
    while (servers.some((server) => server.stats().inFlight > 0)) await new Promise(setImmediate)
    const seen = servers.reduce((sum, server) => sum + (server.stats().requests['/v1/completions'] ?? 0), 0)
    t.ok(seen <= calls, `${seen} requests at the servers`)
  })
}
