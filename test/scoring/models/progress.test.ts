import t from 'tap'
import { fakeClock } from '../../support/clock.ts'
import { judge, until } from '../../support/models.ts'
import { completion, hang, json, type Script, type Seen } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const isTiny = ({ body }: Seen): boolean => body.max_tokens === 1
const defaults = { health: {} }

/** Lets the clock go on in steps that the sockets can follow. */
const passed = async (clock: ReturnType<typeof fakeClock>, ms: number, isOver = () => false) => {
  for (const end = clock.now() + ms; clock.now() < end && !isOver(); clock.advance(250))
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

t.test('a server that hangs while its /health answers (M53)', async (t) => {
  const clock = fakeClock()
  const told: string[] = []
  const { ask, models, servers } = await judge(t, [yes, yes], defaults, {
    clock,
    events: { ejected: ({ reason }) => told.push(reason), readmitted: () => told.push('back') },
  })
  const [one, two] = servers
  if (!one || !two) throw new Error('two servers were asked for')
  const stateOf = (at: number) => models.snapshot()[0]?.instances[at]?.state
  for (let i = 0; i < 40; i += 1) await ask(`warm ${i}`)
  one.script = hang
  const asked = Array.from({ length: 40 }, (_, i) => ask(`q${i}`, { deadline: clock.now() + 600_000 }))
  await until(() => one.seen.length + two.seen.length >= 80)

  await t.test('is suspect within 15 s', async (t) => {
    const began = clock.now()
    await passed(clock, 20_000, () => stateOf(0) === 'suspect')
    t.equal(stateOf(0), 'suspect')
    t.ok(clock.now() - began <= 15_000, `after ${clock.now() - began} ms`)
  })

  await t.test('loses its questions to others', async (t) => {
    const answers = await Promise.all(asked)
    t.ok(answers.every(({ answer }) => answer.text === 'Yes'))
    t.ok(
      answers.some(({ attempts }) => attempts === 2),
      'some had been asked of it',
    )
  })

  await t.test('gets no new questions while it is suspect', async (t) => {
    const asks = one.seen.filter((seen) => !isTiny(seen)).length
    for (let i = 0; i < 20; i += 1) t.equal((await ask(`r${i}`)).instance, two.url)
    t.equal(one.seen.filter((seen) => !isTiny(seen)).length, asks)
  })

  await t.test('is ready within 5 s after it answers again', async (t) => {
    one.script = yes
    const recovered = clock.now()
    await passed(clock, 20_000, () => stateOf(0) === 'ready')
    t.equal(stateOf(0), 'ready')
    t.ok(clock.now() - recovered <= 5000, `after ${clock.now() - recovered} ms`)
    t.strictSame(told, ['its calls make no progress', 'back'])
  })
})

t.test('calls stay at a hanging server if there is no other, and are answered when it resumes', async (t) => {
  const clock = fakeClock()
  const held: (() => void)[] = []
  const { ask, models, server } = await judge(t, [hang], defaults, { clock })
  server.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  const asked = ask('q', { deadline: clock.now() + 600_000 })
  await passed(clock, 100_000, () => models.snapshot()[0]?.instances[0]?.state === 'suspect')
  t.match(models.snapshot()[0]?.instances, [{ state: 'suspect', inFlight: 1 }])
  server.script = yes
  for (const answer of held) answer()
  t.match(await asked, { answer: { text: 'Yes' }, attempts: 1 })
  await passed(clock, 10_000, () => models.snapshot()[0]?.instances[0]?.state === 'ready')
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
})

t.test('a suspect server is ready once its tokens move, though it is too busy for a question', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(t, [hang], { ...defaults, timeout_s: 600 }, { clock })
  const counter = (tokens: number) => `vllm:generation_tokens_total{model_name="m"} ${tokens}\n`
  server.metrics = counter(5)
  const gone = new AbortController()
  const asked = ask('q', { deadline: clock.now() + 600_000, signal: gone.signal }).catch(() => null)
  const state = () => models.snapshot()[0]?.instances[0]?.state
  await passed(clock, 30_000, () => state() === 'suspect')
  t.equal(state(), 'suspect')
  server.metrics = counter(6)
  await passed(clock, 10_000, () => state() === 'ready')
  t.equal(state(), 'ready')
  gone.abort()
  await asked
})

t.test('a server of decisions that hangs is asked a decision, and comes back', async (t) => {
  const decisions = {
    vllm: ({ body }: Seen) => ({
      model: 'm',
      answers: body.questions.map(({ name }: { name: string }) => ({
        type: 'choice',
        name,
        choice: true,
        probabilities: [
          { value: true, probability: 1 },
          { value: false, probability: 0 },
        ],
        confidence: 1,
      })),
      usage: {},
    }),
    choose: (seen: Seen) => completion(seen, 'A'),
  }
  for (const [wire, script] of Object.entries(decisions)) {
    const clock = fakeClock()
    const { ask, models, server } = await judge(t, [hang], { ...defaults, decide: { wire } }, { clock })
    const about = [{ role: 'user', content: 'It is 4.' }]
    const input = { about, asked: { question: 'Is it right?', as: { yesno: {} } } }
    ask(input as never, { ask: 'decide', deadline: clock.now() + 600_000 } as never).catch(() => {})
    const state = () => models.snapshot()[0]?.instances[0]?.state
    await passed(clock, 100_000, () => state() === 'suspect')
    t.equal(state(), 'suspect', wire)
    server.script = script
    await passed(clock, 10_000, () => state() === 'ready')
    t.equal(state(), 'ready', wire)
  }
})

const slowly = {
  'answers a question of one token': {
    script: (seen: Seen) => (isTiny(seen) ? completion(seen, 'Y') : undefined),
    metrics: () => null,
  },
  'counts tokens': {
    script: hang,
    metrics: (now: number) => `# HELP\nvllm:generation_tokens_total{model_name="m"} ${now}\n`,
  },
}

for (const [how, { script, metrics }] of Object.entries(slowly))
  t.test(`a slow server that ${how} keeps its questions for minutes`, async (t) => {
    const clock = fakeClock()
    const { ask, models, server } = await judge(
      t,
      [yes, yes],
      { ...defaults, timeout_s: 600 },
      { clock, random: () => 0 },
    )
    for (let i = 0; i < 30; i += 1) await ask(`warm ${i}`)
    server.script = script
    Object.defineProperty(server, 'metrics', { get: () => metrics(clock.now()) })
    const gone = new AbortController()
    const asked = ask('q', { deadline: clock.now() + 600_000, signal: gone.signal }).catch(() => null)
    await server.saw(31)
    await passed(clock, 300_000)
    t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
    t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 1)
    gone.abort()
    await asked
  })

t.test('a server whose calls finish one by one is never suspect', async (t) => {
  const clock = fakeClock()
  const held: (() => void)[] = []
  const { ask, server } = await judge(t, [yes], defaults, { clock })
  server.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  const asked = Array.from({ length: 20 }, (_, i) => ask(`q${i}`, { deadline: clock.now() + 600_000 }))
  await until(() => held.length === 20)
  for (const answer of held) {
    await passed(clock, 5000)
    answer()
  }
  await Promise.all(asked)
  t.equal(server.seen.length, 20)
})

t.test('without probes, progress is not watched', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(t, [hang], { health: { interval_s: 0 } }, { clock })
  const gone = new AbortController()
  const asked = ask('q', { signal: gone.signal }).catch(() => null)
  await server.saw(1)
  await passed(clock, 50_000)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
  t.equal(server.seen.length, 1)
  gone.abort()
  await asked
})
