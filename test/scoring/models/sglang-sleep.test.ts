import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, probesOff, question, until } from '../../support/models.ts'
import { type MortalServer, mortalServer } from '../../support/sleeping.ts'

type Written = Parameters<typeof configOf>[1]

/** Models of one GPU, by name; `failed` is what their orders failed with, `out` why servers were taken out. */
function gateway(t: Test, servers: Record<string, readonly MortalServer[]>, more: Written = {}) {
  const failed: string[] = []
  const out: string[] = []
  const configs = Object.fromEntries(
    Object.entries(servers).map(([name, own]) => [
      name,
      configOf(
        own.map(({ url }) => url),
        {
          backend: 'sglang',
          gpu_group: 'gpu',
          lifecycle: { linger_ms: 0 },
          cache: 'never',
          wait_for_instance: 0,
          retry: { max: 0 },
          ...probesOff,
          ...more,
        },
      ),
    ]),
  )
  const models = openModels(configs, {
    clock: systemClock,
    events: {
      orderFailed: ({ model, order, reason }) => failed.push(`${model} ${order}: ${reason}`),
      ejected: ({ reason }) => out.push(reason),
    },
  })
  t.teardown(() => models.close())
  let asked = 0
  const ask = (model: string) => {
    asked += 1
    return models.ask({ ...question(`q${asked}`, systemClock.now() + 30_000), model })
  }
  return { models, ask, failed, out }
}

async function started(t: Test, options: Parameters<typeof mortalServer>[0] = {}): Promise<MortalServer> {
  const server = await mortalServer(options)
  t.teardown(() => server.close())
  return server
}

const asleep = ['/pause_generation', '/flush_cache', '/release_memory_occupation']
const awake = ['/resume_memory_occupation', '/continue_generation']

t.test('SGLang: no probe but the list of models touches a sleeping server (M58)', async (t) => {
  const a = await started(t)
  const { models, ask } = gateway(t, { a: [a] }, { health: { interval_s: 0.02, timeout_s: 5 } })
  await ask('a')
  await until(() => a.looks.includes('/health'))
  await models.sleep('a')
  const before = a.looks.length
  await until(() => a.looks.slice(before).filter((path) => path === '/v1/models').length > 15)
  t.notOk(a.looks.slice(before).includes('/health'), a.looks.slice(before).join(' '))
  t.equal(a.death, '')
  await ask('a')
  t.equal(a.death, '')
})

t.test('SGLang: an awake server is never resumed, and turns survive (M57)', async (t) => {
  const a = await started(t)
  const b = await started(t)
  const { ask } = gateway(t, { a: [a], b: [b] })
  await ask('a')
  t.strictSame(a.orders, ['/generate'])
  t.strictSame(b.orders, asleep, 'unknown means awake')
  await ask('b')
  await ask('a')
  t.strictSame(a.orders, ['/generate', ...asleep, ...awake, '/generate'])
  t.strictSame(b.orders, [...asleep, ...awake, '/generate', ...asleep])
  t.strictSame([a.death, b.death], ['', ''])
  t.equal(a.known, 2, 'one question before the first sleep, one for the wake')
})

t.test('SGLang: no sleep that would lose the weights, and the flag is named (M56)', async (t) => {
  const a = await started(t, { cpuBackup: false })
  const { ask, models, failed } = gateway(t, { a: [a] })
  await ask('a')
  await t.rejects(models.sleep('a'), {
    code: 'RG_MODEL_FAILED',
    message: /not every instance.*--enable-weights-cpu-backup/,
  })
  t.match(failed, [/^a sleep: .*--enable-weights-cpu-backup/])
  t.strictSame(a.orders, ['/generate'], 'no order was given')
  await ask('a')
  t.equal(a.death, '')
  a.refuses.add('/server_info')
  await t.rejects(models.sleep('a'), { code: 'RG_MODEL_FAILED' })
  t.strictSame(a.orders, ['/generate', '/generate'], 'nor where the server does not tell')
})

t.test('SGLang: level 2 reloads the weights from their path (M56)', async (t) => {
  const a = await started(t, { cpuBackup: false })
  const { ask, models } = gateway(t, { a: [a] }, { lifecycle: { level: 2 } })
  await ask('a')
  await models.sleep('a')
  t.equal(a.hasWeights, false)
  await ask('a')
  t.strictSame(a.orders.slice(1), [
    ...asleep,
    '/resume_memory_occupation',
    '/update_weights_from_disk',
    '/continue_generation',
    '/generate',
  ])
  t.equal(a.hasWeights, true)
})

t.test('a judge that lost its weights during sleep scores nothing', async (t) => {
  for (const kind of ['writer', 'scalar'] as const) {
    const a = await started(t, { kind })
    const b = await started(t, { kind })
    const { models, failed, ask } = gateway(t, { a: [a, b] })
    await models.wake('a')
    await models.sleep('a')
    a.hasWeights = false
    await models.wake('a')
    t.match(failed, [/^a wake: it gives the same answer to everything/], kind)
    const states = () => models.snapshot()[0]?.instances.map(({ state }) => state)
    t.strictSame(states(), ['fails-canary', 'ready'])
    if (kind === 'writer')
      for (let i = 0; i < 10; i += 1)
        t.equal((await ask('a')).instance, b.url, 'never the one without weights')
    b.hasWeights = false
    await models.sleep('a')
    await t.rejects(models.wake('a'), { code: 'RG_MODEL_FAILED' })
    t.match(await failureOf(ask('a')), { kind: 'judge_unreachable' })
    a.hasWeights = true
    b.hasWeights = true
    await models.wake('a')
    t.strictSame(states(), ['ready', 'ready'], 'what judges again is asked again')
    t.strictSame([a.death, b.death], ['', ''])
  }
})

t.test('a judge with other weights after sleep is not asked until its canaries pass', async (t) => {
  const a = await started(t, { kind: 'scalar' })
  const { models, failed } = gateway(t, { a: [a] })
  await models.wake('a')
  await models.sleep('a')
  a.scale = 3
  await t.rejects(models.wake('a'), { code: 'RG_MODEL_FAILED' })
  t.match(failed, [/differently than before it slept/])
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'fails-canary')
  models.suspect('a', a.url, null)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
})

t.test('SGLang: a gateway that does not know whether a server sleeps (M59)', async (t) => {
  const a = await started(t)
  const b = await started(t, { asleep: true })
  const { ask, models, failed } = gateway(
    t,
    { a: [a], b: [b] },
    { lifecycle: { linger_ms: 0, timeout_s: 0.2 } },
  )

  await t.test('asks the servers that are awake', async (t) => {
    t.ok(await ask('a'))
  })

  await t.test('neither releases nor resumes it, and says why', async (t) => {
    await t.rejects(models.sleep('b'), { code: 'RG_MODEL_FAILED' })
    t.match(await failureOf(ask('b')), { kind: 'judge_unreachable' })
    t.notOk(b.orders.includes('/release_memory_occupation'))
    t.notOk(b.orders.includes('/resume_memory_occupation'))
    t.match(failed[0], /^b .*unknown whether the server sleeps/)
  })

  await t.test('asks it again once it was woken by hand', async (t) => {
    b.asleep = false
    b.paused = false
    t.ok(await ask('b'))
    t.strictSame([a.death, b.death], ['', ''])
  })
})

t.test('SGLang: a generation whose client has left ends before the memory is released (M60)', async (t) => {
  const a = await started(t)
  const { ask, models } = gateway(t, { a: [a] })
  await ask('a')
  a.leftText()
  await models.sleep('a')
  t.equal(a.death, '')
  t.equal(a.asleep, true)
  t.ok(await ask('a'))
})

t.test('SGLang: while something is running, nothing is released and the server goes on', async (t) => {
  const a = await started(t)
  const { ask, models, failed } = gateway(t, { a: [a] }, { lifecycle: { timeout_s: 0.6 } })
  await ask('a')
  a.refuses.add('/flush_cache')
  await t.rejects(models.sleep('a'), { code: 'RG_MODEL_FAILED' })
  t.match(failed, [/still running/])
  t.notOk(a.orders.includes('/release_memory_occupation'))
  t.ok(await ask('a'))
  t.equal(a.death, '')
})

t.test(
  'SGLang: after an order with an unknown result, a server is neither asked nor ordered again',
  async (t) => {
    const a = await started(t)
    const { ask, models } = gateway(t, { a: [a] }, { lifecycle: { timeout_s: 0.3 } })
    await ask('a')
    a.refuses.add('/release_memory_occupation')
    await t.rejects(models.sleep('a'), { code: 'RG_MODEL_FAILED' })
    t.equal(models.snapshot()[0]?.instances[0]?.state, 'asleep')
    a.asleep = true
    a.refuses.clear()
    t.match(await failureOf(ask('a')), { kind: 'judge_unreachable' })
    await t.rejects(models.sleep('a'), { code: 'RG_MODEL_FAILED' })
    t.equal(a.death, '')
    t.equal(a.orders.filter((order) => order === '/release_memory_occupation').length, 1)
    await a.restart()
    t.ok(await ask('a'), 'a new process is awake')
  },
)

t.test('SGLang: a server that crashed while its model slept is not resumed after its restart', async (t) => {
  const a = await started(t)
  const { ask, models } = gateway(t, { a: [a] })
  await ask('a')
  await a.close()
  await models.sleep('a')
  t.equal(models.snapshot()[0]?.memory, 'asleep', 'what is gone holds no memory')
  await a.restart()
  a.orders.length = 0
  t.ok(await ask('a'))
  t.strictSame(a.orders, ['/generate'])
  t.equal(a.death, '')
})

t.test('SGLang: a server that was restarted while its model slept is never resumed', async (t) => {
  for (const level of [1, 2]) {
    const a = await started(t)
    const { ask, models, failed } = gateway(t, { a: [a] }, { lifecycle: { level } })
    await ask('a')
    await models.sleep('a')
    await a.restart()
    a.orders.length = 0
    t.ok(await ask('a'), `level ${level}`)
    t.strictSame(a.orders, ['/generate'], 'it says that it is another process')
    t.equal(a.death, '')
    await models.sleep('a')
    t.ok(await ask('a'), 'it sleeps and wakes as the one before it')
    t.strictSame([a.death, failed], ['', []])
  }
})

t.test(
  'SGLang: one whose processes are all alike is not resumed either, once it was seen gone',
  async (t) => {
    const a = await started(t, { seed: 7 })
    const { ask, models, failed, out } = gateway(
      t,
      { a: [a] },
      { health: { interval_s: 0.02 }, wait_for_instance: 'deadline' },
    )
    await ask('a')
    await models.sleep('a')
    await a.close()
    await until(() => out.length > 0)
    t.strictSame(out, ['its health probe fails'], 'its list of models was asked for while it slept')
    await a.restart()
    a.orders.length = 0
    t.ok(await ask('a'))
    t.strictSame(a.orders, ['/generate'])
    t.strictSame([a.death, failed], ['', []])
  },
)

t.test('SGLang: a new process with other weights is only compared with itself', async (t) => {
  const a = await started(t, { kind: 'scalar' })
  const { models, failed } = gateway(t, { a: [a] })
  await models.wake('a')
  await models.sleep('a')
  await a.restart()
  a.scale = 3
  await models.wake('a')
  await models.sleep('a')
  await models.wake('a')
  t.strictSame([a.death, failed], ['', []])
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
})

t.test('SGLang: a sleep that would lose the weights', async (t) => {
  const a = await started(t, { cpuBackup: false })
  const clock = fakeClock()
  const lifecycle = { sleep_after_idle_s: 5, linger_ms: 0 }
  const soon = { cache: 'never', wait_for_instance: 0, retry: { max: 0 }, ...probesOff } as const
  const config = { a: configOf([a.url], { backend: 'sglang', lifecycle, ...soon }) }
  const failed: string[] = []
  let models = openModels(config, { clock, events: { orderFailed: ({ reason }) => failed.push(reason) } })
  t.teardown(() => models.close())
  let asked = 0
  const ask = () => models.ask({ ...question(`q${asked++}`, clock.now() + 60_000), model: 'a' })
  const looks = () => a.looks.filter((path) => path === '/server_info').length
  /** Idle times pass; each order ends before the next is due. */
  const idle = async () => {
    for (let i = 0; i < 5; i += 1) {
      clock.advance(5001)
      for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate)
    }
  }
  await ask()

  await t.test('is tried and reported once, however long the server is idle', async (t) => {
    await idle()
    t.equal(failed.length, 1)
    t.match(failed, [/--enable-weights-cpu-backup/])
    t.equal(looks(), 1)
  })

  await t.test('is not tried again after a question', async (t) => {
    t.ok(await ask())
    await idle()
    t.strictSame([failed.length, looks()], [1, 1])
  })

  await t.test('is tried and reported whenever an operator orders it', async (t) => {
    await t.rejects(models.sleep('a'), { message: /--enable-weights-cpu-backup/ })
    t.equal(looks(), 2)
    await t.rejects(models.sleep('a'), { message: /--enable-weights-cpu-backup/ })
    t.equal(failed.length, 3)
  })

  await t.test('is tried once more after a reload', async (t) => {
    const before = models
    models = before.next(config)
    await before.close()
    await idle()
    t.strictSame([failed.length, looks()], [4, 4])
  })

  await t.test('is tried again in a new process, which sleeps if it can', async (t) => {
    await a.close()
    t.match(await failureOf(ask()), { kind: 'judge_unreachable' })
    await a.restart()
    a.cpuBackup = true
    clock.advance(60_000)
    t.ok(await ask())
    await idle()
    t.equal(failed.length, 4)
    t.equal(a.asleep, true)
    t.equal(a.death, '')
  })
})

t.test('a model without a lifecycle waits for a server that sleeps for another model', async (t) => {
  const a = await started(t)
  const url = [a.url]
  const settings = { backend: 'sglang', cache: 'never', ...probesOff } as const
  const models = openModels(
    { plain: configOf(url, settings), sleeper: configOf(url, { ...settings, lifecycle: {} }) },
    { clock: systemClock },
  )
  t.teardown(() => models.close())
  const ask = (model: string) => models.ask({ ...question(model, systemClock.now() + 30_000), model })
  await ask('plain')
  await models.sleep('sleeper')
  t.equal(a.asleep, true)
  t.ok(await ask('plain'))
  t.equal(a.death, '')
  await t.rejects(models.sleep('plain'), { code: 'RG_REQUEST_INVALID' })
})
