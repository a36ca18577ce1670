import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { type SimulatedServer, startSimulatedServer } from '../../../src/simulator/index.ts'
import { configOf, failureOf, question, until } from '../../support/models.ts'

async function simulated(t: Test, sglang: object, more: object = {}): Promise<SimulatedServer> {
  const server = await startSimulatedServer({
    engine: 'sglang',
    model: 'm',
    latencyMedianMs: 3,
    sglang,
    ...more,
  })
  t.teardown(() => server.close())
  return server
}

function gateway(t: Test, servers: Record<string, SimulatedServer>, lifecycle: object) {
  const failed: string[] = []
  const configs = Object.fromEntries(
    Object.entries(servers).map(([name, { url }]) => [
      name,
      configOf([url], {
        backend: 'sglang',
        gpu_group: 'gpu',
        lifecycle: { linger_ms: 0, ...lifecycle },
        cache: 'never',
        health: { interval_s: 0.02, timeout_s: 1 },
      }),
    ]),
  )
  const out: string[] = []
  const events = {
    orderFailed: ({ reason }: { reason: string }) => void failed.push(reason),
    ejected: ({ reason }: { reason: string }) => void out.push(reason),
  }
  const models = openModels(configs, { clock: systemClock, events })
  t.teardown(() => models.close())
  const ask = (model: string, text: string, more: object = {}) =>
    models.ask({ ...question(text, systemClock.now() + 60_000), model, ...more })
  return { models, ask, failed, out }
}

for (const level of [1, 2] as const)
  t.test(
    `simulated SGLang servers live through their turns and keep their weights, level ${level}`,
    async (t) => {
      const sglang = level === 1 ? { enableWeightsCpuBackup: true } : {}
      const servers = { a: await simulated(t, sglang), b: await simulated(t, sglang) }
      const { ask, failed, out } = gateway(t, servers, { level })
      for (let round = 0; round < 4; round += 1)
        for (const model of ['a', 'b']) {
          const answers = await Promise.all(
            Array.from({ length: 8 }, (_, i) => {
              // Some clients leave: the server goes on for them until it looks.
              const signal = i % 4 === 3 ? AbortSignal.timeout(2) : undefined
              return ask(model, `${round} ${i}`, signal ? { signal } : {}).catch(unlessGone)
            }),
          )
          t.equal(answers.length, 8)
        }
      for (const server of Object.values(servers)) {
        t.equal(server.stats().diedOf, null)
        t.equal(server.stats().weights === 'sound' || server.stats().isSleeping, true)
        t.ok(server.stats().sleeps >= 3, `${server.stats().sleeps} sleeps`)
      }
      t.strictSame(failed, [])
      // A real one lists the path of its weights as its model, once it has read them again.
      t.strictSame(out, [])
    },
  )

/** A client that has left is no fault here. */
const unlessGone = (error: { failure?: { kind: string } }) => {
  if (error.failure?.kind !== 'cancelled') throw error
  return null
}

for (const randomSeed of [undefined, 7])
  t.test(
    `a simulated SGLang that others start anew while it sleeps is not resumed (seed ${randomSeed})`,
    async (t) => {
      const a = await simulated(t, { enableWeightsCpuBackup: true, ...(randomSeed && { randomSeed }) })
      const { ask, models, failed, out } = gateway(t, { a }, { level: 1 })
      await ask('a', 'before')
      await models.sleep('a')
      a.kill()
      if (randomSeed) await until(() => out.length > 0)
      a.restart()
      await until(() => a.state === 'ready')
      t.ok(await ask('a', 'after'))
      t.equal(a.stats().diedOf, null)
      t.equal(a.stats().requests['/resume_memory_occupation'], undefined)
      t.strictSame(failed, [])
    },
  )

t.test('a simulated SGLang without the copy of its weights is not put to sleep at level 1', async (t) => {
  const a = await simulated(t, {})
  const { ask, models, failed } = gateway(t, { a }, { level: 1 })
  await ask('a', 'q')
  await t.rejects(models.sleep('a'), { message: /--enable-weights-cpu-backup/ })
  t.match(failed, [/--enable-weights-cpu-backup/])
  t.equal(a.stats().sleeps, 0)
  t.ok(await ask('a', 'q2'))
})

t.test(
  'a simulated SGLang that was put to sleep by another gateway is neither released nor resumed',
  async (t) => {
    const a = await simulated(t, { enableWeightsCpuBackup: true })
    const first = gateway(t, { a }, {})
    await first.ask('a', 'q')
    await first.models.sleep('a')
    const second = gateway(t, { a }, { timeout_s: 0.3 })
    await t.rejects(second.models.sleep('a'), { message: /unknown whether the server sleeps/ })
    t.match(await failureOf(second.ask('a', 'q2', { deadline: systemClock.now() + 1500 })), {
      kind: 'judge_unreachable',
    })
    t.equal(a.stats().diedOf, null)
    t.equal(a.stats().isSleeping, true)
    t.ok(await first.ask('a', 'q3'), 'who put it to sleep wakes it')
    t.ok(await second.ask('a', 'q4'))
  },
)

t.test('a simulated SGLang that started anew while its model slept', async (t) => {
  const a = await simulated(t, { enableWeightsCpuBackup: true })
  const { ask, models } = gateway(t, { a }, {})
  await ask('a', 'q')
  a.kill()
  await models.sleep('a')
  a.restart({ downMs: 0, loadingMs: 0 })
  await until(() => a.state === 'ready')
  t.ok(await ask('a', 'q2'))
  t.equal(a.stats().diedOf, null)
})
