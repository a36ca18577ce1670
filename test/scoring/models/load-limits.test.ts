import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, judge, probesOff, question, until } from '../../support/models.ts'
import { completion, json, type Script, type Seen } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const fresh = (Math.random() * 2 ** 32) >>> 0
const seeds = process.env.SEED?.split(',').map(Number) ?? [1, 2, 3, fresh]
t.comment(`SEED=${seeds.join()}`)

const scores = ({ body }: Seen) => ({
  model: 'm',
  data: [body.input].flat().map((text: string, index: number) => ({ index, probs: [text.length] })),
  usage: { prompt_tokens: 1 },
})

/** Holds each request until it is let go; `open` are those under way. */
function holding(answer: (seen: Seen) => unknown) {
  const open = new Map<Seen, () => void>()
  const script: Script = (seen, response) =>
    void open.set(seen, () => {
      open.delete(seen)
      json(response, answer(seen))
    })
  return { open, script }
}

t.test('the limit counts the questions of shared requests, whatever batch.max_size says', async (t) => {
  for (const limit of [1, 4, 8, 40]) {
    const { open, script } = holding(scores)
    const { ask, models } = await judge(t, [script], {
      max_in_flight: limit,
      batch: { max_size: 32, max_wait_ms: 0 },
      ...probesOff,
    })
    const texts = Array.from({ length: 100 }, (_, i) => `${i}`.repeat(1 + (i % 3)))
    let left = texts.length
    const answers = texts.map(async (text) => {
      const { answer } = await ask(text, { ask: 'classify' })
      t.equal(answer, text.length as never)
      left -= 1
    })
    let most = 0
    while (left > 0) {
      const underWay = [...open.keys()].reduce((sum, { body }) => sum + [body.input].flat().length, 0)
      most = Math.max(most, underWay)
      t.ok((models.snapshot()[0]?.instances[0]?.inFlight ?? 0) <= limit)
      if (underWay > 0) [...open.values()][0]?.()
      await new Promise(setImmediate)
    }
    await Promise.all(answers)
    t.ok(most <= limit, `${most} questions under way of ${limit}`)
    t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
  }
})

t.test('tokens in flight stay within max_tokens_in_flight, and a larger question runs alone', async (t) => {
  for (const seed of seeds) {
    const random = seeded(seed)
    const { open, script } = holding((seen) => completion(seen, 'Yes'))
    const most = 10_000
    const { ask } = await judge(t, [script], { max_tokens_in_flight: most, ...probesOff })
    const estimate = ({ body }: Seen) => Math.ceil(JSON.stringify(body).length / 4) + body.max_tokens
    let left = 40
    let alone = 0
    for (let i = left; i > 0; i -= 1) {
      // One of them is larger than the limit, whatever the seed draws.
      const length = i === 20 || random() < 0.1 ? 50_000 : Math.ceil(random() ** 3 * 20_000)
      const asked = ask(`${i} `.padEnd(length, 'x'), { sampling: { max_tokens: Math.ceil(random() * 300) } })
      void asked.then(() => {
        left -= 1
      })
    }
    while (left > 0) {
      const tokens = [...open.keys()].map(estimate)
      const sum = tokens.reduce((a, b) => a + b, 0)
      if (sum > most && tokens.length > 1) t.fail(`seed ${seed}: ${tokens} tokens are under way`)
      if (sum > most) alone += 1
      const all = [...open.values()]
      all[Math.floor(random() * all.length)]?.()
      await new Promise(setImmediate)
    }
    t.ok(alone > 0, `seed ${seed}: larger ones were asked`)
  }
})

t.test(
  'an instance may have a limit of tokens of its own, and a shared request stays within it',
  async (t) => {
    const { open, script } = holding(scores)
    const { servers, models } = await judge(t, [script], probesOff)
    const own = models.next({
      judge: configOf([{ url: servers[0]?.url, max_tokens_in_flight: 1000 }], {
        batch: { max_wait_ms: 0 },
        ...probesOff,
      }),
    })
    t.teardown(() => own.close())
    let left = 24
    for (let i = 0; i < 24; i += 1)
      void own
        .ask({
          ...question(`${i} `.padEnd(1200, 'x'), systemClock.now() + 60_000),
          ask: 'classify',
        } as AskRequest<'classify'>)
        .then(() => {
          left -= 1
        })
    let most = 0
    while (left > 0) {
      const texts = [...open.keys()].reduce((sum, { body }) => sum + [body.input].flat().length, 0)
      most = Math.max(most, texts)
      ;[...open.values()][0]?.()
      await new Promise(setImmediate)
    }
    t.equal(most, 3, 'three of 300 tokens fit')
  },
)

const lined = (running: number, waiting: number): string =>
  `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="m"} ${running}.0\n` +
  `vllm:num_requests_waiting{engine="0",model_name="m"} ${waiting}.0\nvllm:num_requests_waiting_by_reason{reason="x"} 9\n`

t.test(
  'a server in which a line stands gets no more than it works on and a little, until it has gone',
  async (t) => {
    const clock = fakeClock()
    const { open, script } = holding((seen) => completion(seen, 'Yes'))
    const { ask, models, server } = await judge(
      t,
      [script],
      { max_in_flight: 64, health: { interval_s: 3600, stalled_after_s: 0 }, hedge: { budget: 0 } },
      { clock },
    )
    const instance = () => models.snapshot()[0]?.instances[0]
    const limited = (limit: number) => until(() => instance()?.limit === limit)
    const asked = Array.from({ length: 50 }, (_, i) => ask(`q${i}`))
    await server.saw(50)
    server.metrics = lined(8, 42)
    clock.advance(1000)
    await limited(10)
    const later = Array.from({ length: 10 }, (_, i) => ask(`later ${i}`))
    t.match(models.snapshot(), [{ waiting: 10, instances: [{ inFlight: 50 }] }])
    for (const answer of [...open.values()].slice(0, 40)) answer()
    await until(() => instance()?.inFlight === 10)
    t.equal(server.seen.length, 50, 'nothing was sent while more were there than may')
    for (const answer of [...open.values()].slice(0, 2)) answer()
    await server.saw(52)
    t.equal(instance()?.inFlight, 10)
    server.metrics = lined(8, 2)
    clock.advance(1000)
    await limited(11)
    server.metrics = lined(8, 0)
    clock.advance(1000)
    await limited(17)
    await server.saw(59)
    // What it does not tell of any more keeps nothing back.
    server.metrics = null
    clock.advance(1000)
    await limited(64)
    while (open.size > 0) {
      for (const answer of [...open.values()]) answer()
      await new Promise(setImmediate)
    }
    while (server.seen.length < 60) await new Promise(setImmediate)
    for (const answer of [...open.values()]) answer()
    await Promise.all([...asked, ...later])
    clock.advance(5000)
    t.equal(instance()?.limit, 64)
  },
)

t.test(
  "a line of others leaves one place, and neither a 0 nor health.interval_s: 0 looks at a server's line",
  async (t) => {
    const clock = fakeClock()
    const { open, script } = holding((seen) => completion(seen, 'Yes'))
    const health = { interval_s: 3600, stalled_after_s: 0 }
    const { ask, models, server } = await judge(t, [script], { health }, { clock })
    server.metrics = lined(64, 500)
    const first = ask('first')
    await server.saw(1)
    for (let look = 0; look < 5; look += 1) {
      clock.advance(1000)
      await until(() => models.snapshot()[0]?.instances[0]?.limit === 1)
    }
    const second = ask('second')
    for (const answer of [...open.values()]) answer()
    await first
    await server.saw(2)
    for (const answer of [...open.values()]) answer()
    await second
    for (const off of [{ interval_s: 0 }, { ...health, server_line: false }]) {
      const other = await judge(t, [script], { health: off }, { clock })
      let reads = 0
      Object.defineProperty(other.server, 'metrics', {
        get() {
          reads += 1
          return lined(1, 500)
        },
      })
      const asked = ['a', 'b', 'c'].map((text) => other.ask(text))
      await other.server.saw(3)
      clock.advance(5000)
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
      t.equal(reads, 0)
      for (const answer of [...open.values()]) answer()
      await Promise.all(asked)
    }
  },
)
