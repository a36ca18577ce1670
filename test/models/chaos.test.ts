import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { AskError, type AskRequest } from '../../src/models/models.ts'
import { openModels } from '../../src/models/open-models.ts'
import { faultKinds, startSimulatedServer } from '../../src/simulate/index.ts'
import { configOf, judge, question } from '../support/models.ts'
import { completion, json, type Script } from '../support/scripted-server.ts'
import { seeded } from '../support/seeded.ts'

const seeds = (process.env.SEED ?? '1,2,3,4,5,6').split(',').map(Number)

const truth = (prompt: string) => `verdict of ${prompt}`

/** Ways for an upstream to go wrong; none of them may ever look like an answer. */
const harms: Script[] = [
  (_seen, response) => json(response, { error: { message: 'x' } }, 500),
  (_seen, response) => json(response, {}, 502),
  (_seen, response) => response.writeHead(429, { 'retry-after': '0' }).end(),
  (_seen, response) => void response.destroy(),
  () => undefined,
  (_seen, response) => void response.end('<html>'),
  (seen, response) => void response.end(JSON.stringify(completion(seen, 'half')).slice(0, -5)),
  (seen, response) => {
    response.writeHead(200, { 'content-length': '4000' }).write(JSON.stringify(completion(seen, 'cut')))
    setImmediate(() => response.destroy())
  },
  () => ({ error: { message: 'no', code: 500 } }),
  () => ({ object: 'error', message: 'no' }),
  (seen) => ({ ...completion(seen, 'other'), model: 'other' }),
  (seen) => completion(seen, 1 as never),
  (seen) => completion(seen, 'aborted', { finish_reason: 'abort' }),
  (seen) => ({ ...completion(seen, 'none'), choices: [] }),
  (_seen, response) => void response.end('NaN'),
]

for (const seed of seeds) {
  t.test(`whatever upstreams do, an answer is the model's own or a failure (seed ${seed})`, async (t) => {
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
    for (const { prompt, text, kind, attempts } of outcomes) {
      if (text !== null) t.equal(text, truth(prompt))
      else t.match(kind, /^(judge_unreachable|judge_timeout|judge_rejected|overloaded|cancelled)$/)
      const made = calls.get(prompt) ?? []
      t.ok(made.length <= 1 + retries, `${prompt}: ${made.length} calls`)
      t.ok(kind === 'cancelled' || made.length <= attempts, 'no call is left out of the count')
      for (let k = 1; k < made.length; k += 1) t.not(made[k], made[k - 1], 'a retry goes elsewhere')
    }
    await new Promise((resolve) => setTimeout(resolve, 60))
    for (const [prompt, before] of gone) t.ok((calls.get(prompt)?.length ?? 0) <= before + 1)
    const [{ waiting, instances } = { waiting: -1, instances: [] }] = models.snapshot()
    t.equal(waiting, 0)
    t.strictSame(
      instances.map(({ inFlight }) => inFlight),
      [0, 0, 0],
    )
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
      asks.map(async (request) => {
        const wanted = await ask(request, request.model === 'judge' ? 'clean' : `clean-${request.model}`)
        try {
          t.strictSame(await ask(request, request.model), wanted)
          answered += 1
        } catch (error) {
          t.ok(error instanceof AskError, String(error))
        }
      }),
    )
    t.ok(answered > 20, `${answered} of ${asks.length} answered`)
    for (const { instances } of models.snapshot()) for (const { inFlight } of instances) t.equal(inFlight, 0)
  })
}

t.test(
  'a killed server costs no question; two killed servers make every question unreachable, in time',
  async (t) => {
    const make = () => startSimulatedServer({ model: 'm', latencyMedianMs: 15 })
    const [one, two] = await Promise.all([make(), make()])
    const models = openModels(
      { judge: configOf([one.url, two.url], { wait_for_instance_s: 0.3, retry: { pause_ms: 10 } }) },
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
