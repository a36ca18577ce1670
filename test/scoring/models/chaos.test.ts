import { setImmediate as turnOver } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { AskError, type AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { type FaultKind, faultKinds, startSimulatedServer } from '../../../src/simulator/index.ts'
import { configOf, judge, question } from '../../support/models.ts'
import { completion, type Script } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'
import { startFleet } from '../../support/simulated.ts'
import { harms } from './broken-replies.ts'

const fresh = Math.floor(Math.random() * 2 ** 31)
const seeds = process.env.SEED?.split(',').map(Number) ?? [1, 2, 3, 4, fresh]
t.comment(`SEED=${seeds.join()}`)

const truth = (prompt: string) => `verdict of ${prompt}`

for (const seed of seeds) {
  t.test(`60 questions to upstreams that do whatever they do (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const harmful = 0.1 + 0.7 * random()
    const calls = new Map<string, number[]>()
    const script =
      (at: number): Script =>
      (seen, response) => {
        const { prompt } = seen.body
        calls.set(prompt, [...(calls.get(prompt) ?? []), at])
        if (random() >= harmful) return completion(seen, truth(prompt))
        const harm = harms[Math.floor(random() * harms.length)] as Script
        return harm(seen, response)
      }
    const retries = 2
    const { ask, models } = await judge(
      t,
      [0, 1, 2].map(script),
      {
        max_in_flight: 8,
        max_queue: 40,
        timeout_s: 0.05,
        retry: { max: retries, budget: 0.5, pause_ms: 5 },
        breaker: { failures: 1_000_000 },
      },
      { random },
    )
    const gone = new Map<string, number>()
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const prompt = `question ${i}`
        const client = new AbortController()
        if (i % 10 === 0)
          setTimeout(() => {
            client.abort()
            setImmediate(() => gone.set(prompt, calls.get(prompt)?.length ?? 0))
          }, 20 * random())
        try {
          const { answer, attempts } = await ask(prompt, { signal: client.signal })
          return { prompt, text: answer.text, attempts, kind: null }
        } catch (error) {
          if (!(error instanceof AskError)) throw error
          return {
            prompt,
            text: null,
            attempts: error.failure.attempts?.length ?? 0,
            kind: error.failure.kind,
          }
        }
      }),
    )

    await t.test("an answer is the model's own, or a failure that says why", async (t) => {
      for (const { prompt, text, kind } of outcomes)
        if (text !== null) t.equal(text, truth(prompt))
        else t.match(kind, /^(judge_unreachable|judge_timeout|judge_rejected|overloaded|cancelled)$/)
    })

    await t.test('retries are bounded, go elsewhere, and are all counted', async (t) => {
      for (const { prompt, kind, attempts } of outcomes) {
        const made = calls.get(prompt) ?? []
        t.ok(made.length <= 1 + retries, `${prompt}: ${made.length} calls`)
        t.ok(kind === 'cancelled' || made.length <= attempts, 'no call is left out of the count')
        for (let k = 1; k < made.length; k += 1) t.not(made[k], made[k - 1], 'a retry goes elsewhere')
      }
    })

    await t.test('for a client that has left, at most the call under way is made', async (t) => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      await turnOver()
      t.equal(gone.size, 6)
      for (const [prompt, before] of gone) t.ok((calls.get(prompt)?.length ?? 0) <= before + 1)
    })

    await t.test('nothing is left waiting or under way', async (t) => {
      t.match(models.snapshot(), [{ waiting: 0, instances: [0, 1, 2].map(() => ({ inFlight: 0 })) }])
    })
  })
}

// What these make of a text, and NaN written as a word, is what the judge says: its reader's to refuse.
const harmless = new Set(['length', 'null-content', 'tool-call', 'refusal', 'slow'])

for (const seed of seeds) {
  t.test(`every ask of the simulated server is right or fails under its faults (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const make = (runner: 'generate' | 'pooling') =>
      startSimulatedServer({ runner, model: 'm', seed, stepTag: '<s>' })
    const [clean, a, b] = await Promise.all([make('generate'), make('generate'), make('generate')])
    const [cleanScalar, c, d] = await Promise.all([make('pooling'), make('pooling'), make('pooling')])
    const scoring = { choose: { endpoint: 'generative_scoring' } }
    const more = { timeout_s: 0.3, retry: { budget: 1, pause_ms: 2 }, breaker: { failures: 1_000_000 } }
    const models = openModels(
      {
        clean: configOf([clean.url]),
        'clean-scalar': configOf([cleanScalar.url]),
        judge: configOf([a.url, b.url], { ...more, hedge: { budget: 0.05 } }),
        'clean-scoring': configOf([clean.url], scoring),
        scoring: configOf([a.url, b.url], { ...more, ...scoring }),
        scalar: configOf([c.url, d.url], more),
      },
      { clock: systemClock, random },
    )
    t.teardown(async () => {
      await models.close()
      await Promise.all([clean, a, b, cleanScalar, c, d].map((server) => server.close()))
    })
    for (const server of [a, b, c, d]) {
      const isText = server === a || server === b
      const kinds = faultKinds.filter((kind) => !harmless.has(kind) && !(isText && kind === 'nan'))
      server.set(...kinds.map((kind) => ({ kind, rate: (0.6 * random()) / kinds.length, retryAfterS: 0 })))
    }
    const asks: Partial<AskRequest>[] = Array.from({ length: 60 }, (_, i) => {
      const text = `Step ${i}: ${i} + 1 = ${i + 1}.<s>`
      const chat = [{ role: 'user', content: `Is ${i} even? Answer Yes or No.` }]
      return [
        { model: 'judge', ask: 'generate' as const, input: chat },
        { model: 'judge', ask: 'generate' as const, input: text },
        { model: 'judge', ask: 'choose' as const, input: { question: chat, labels: ['Yes', 'No'] } },
        { model: 'scalar', ask: 'classify' as const, input: text },
        { model: 'scalar', ask: 'rewards' as const, input: text },
        { model: 'scalar', ask: 'embed' as const, input: [text, 'b'] },
        { model: 'scoring', ask: 'choose' as const, input: { question: chat, labels: ['Yes', 'No'] } },
      ][i % 7] as Partial<AskRequest>
    })
    const ask = async (request: Partial<AskRequest>, model: string | undefined) => {
      const { answer } = await models.ask({
        ...question([request.ask, request.input], systemClock.now() + 30_000),
        ...request,
        ...(model && { model }),
        sampling: { temperature: 0 },
      })
      return answer
    }
    let answered = 0
    await Promise.all(
      asks.map(async (request, i) => {
        const wanted = await ask(request, request.model === 'judge' ? 'clean' : `clean-${request.model}`)
        // Some leave: before their call is made, while it is under way, or too late to matter.
        const leaves = i % 6 === 0 && { signal: AbortSignal.timeout(Math.floor(30 * random())) }
        try {
          t.strictSame(await ask({ ...request, ...leaves }, request.model), wanted)
          answered += 1
        } catch (error) {
          t.ok(error instanceof AskError, String(error))
        }
      }),
    )
    t.ok(answered > 20, `${answered} of ${asks.length} answered`)
    for (const { instances } of models.snapshot()) for (const { inFlight } of instances) t.equal(inFlight, 0)
    // A model whose config has gone gives its instances back once nothing is under way.
    const later = models.next({})
    await models.close()
    await later.close()
  })
}

t.test(
  'a killed server costs no question; two killed servers make every question unreachable, in time',
  async (t) => {
    const make = () => startSimulatedServer({ model: 'm', latencyMedianMs: 15 })
    const [one, two] = await Promise.all([make(), make()])
    const models = openModels(
      { judge: configOf([one.url, two.url], { wait_for_instance: 0.3, retry: { pause_ms: 10 } }) },
      { clock: systemClock },
    )
    t.teardown(async () => {
      await models.close()
      await Promise.all([one.close(), two.close()])
    })
    const wave = (name: string) =>
      Array.from({ length: 300 }, (_, i) =>
        models.ask(question(`${name} ${i}`, systemClock.now() + 5000)).then(
          () => 'answered',
          (error: AskError) => error.failure.kind,
        ),
      )
    const count = async (outcomes: Promise<string>[]) => [...new Set(await Promise.all(outcomes))]
    const first = wave('first')
    setTimeout(() => void one.close(), 5)
    t.strictSame(await count(first), ['answered'])
    await two.close()
    const started = systemClock.now()
    t.strictSame(await count(wave('second')), ['judge_unreachable'])
    t.ok(systemClock.now() - started < 5000)
  },
)

const after = (ms: number) => new Promise<void>((resolve) => void systemClock.after(ms, resolve))

const floodKinds = '500 503 429 reset garbage half-body stall hang wrong-type'.split(' ') as FaultKind[]

for (const seed of seeds.slice(-3)) {
  t.test(`400 questions to failing servers (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const servers = await startFleet(t, 3, { model: 'm', seed, latencyMedianMs: 4, latencySigma: 1 })
    for (const server of servers) {
      const drawn = floodKinds.filter(() => random() < 0.4)
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
            wait_for_instance: 0.2,
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

    await t.test('every answer comes by its deadline', async (t) => {
      t.equal(late, 0)
    })

    await t.test('the queue is bounded, and what does not fit is refused', async (t) => {
      t.ok(mostWaiting <= limits.max_queue, `${mostWaiting} in line`)
      t.ok(count('overloaded') > 0)
    })

    await t.test('calls, retries and second calls stay within their limits', async (t) => {
      t.ok(counted.most <= 3 * limits.max_in_flight, `${counted.most} calls at once`)
      const asked = counted.calls - counted.retries - counted.hedges
      t.ok(asked <= questions, `${asked} first calls`)
      const credit = 3 * limits.max_in_flight
      t.ok(counted.retries <= credit + 0.2 * questions, `${counted.retries} retries`)
      t.ok(counted.hedges <= 0.05 * questions, `${counted.hedges} second calls`)
    })

    await t.test('once nobody waits any more, no call is under way and none comes', async (t) => {
      t.equal(counted.running, 0)
      t.match(models.snapshot(), [{ waiting: 0, instances: servers.map(() => ({ inFlight: 0 })) }])
      const { calls } = counted
      await after(30)
      t.equal(counted.calls, calls)
    })

    await t.test('the servers saw no request that was not counted', async (t) => {
      while (servers.some((server) => server.stats().inFlight > 0)) await new Promise(setImmediate)
      const seen = servers.reduce((sum, server) => sum + (server.stats().requests['/v1/completions'] ?? 0), 0)
      t.ok(seen <= counted.calls, `${seen} requests at the servers`)
    })
  })
}
