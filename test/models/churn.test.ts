import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import type { AskError, Models } from '../../src/models/models.ts'
import { openModels } from '../../src/models/open-models.ts'
import { configOf, question } from '../support/models.ts'
import { seeded } from '../support/seeded.ts'
import { startFleet } from '../support/simulated.ts'

const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const seeds = process.env.SEED ? [first] : [first, first + 1]
t.comment(`SEED=${seeds.join(' or SEED=')}`)

const after = (ms: number) => new Promise<void>((resolve) => void systemClock.after(ms, resolve))

for (const seed of seeds) {
  t.test(`instances come and go in every way, and no question is lost (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const servers = await startFleet(t, 5, { model: 'm', seed, latencyMedianMs: 5, latencySigma: 1 })
    const urls = servers.map(({ url }) => url)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const file = join(t.testdir(), 'instances.txt')
    const list = async (some: readonly string[]) => {
      await writeFile(`${file}.part`, some.join('\n'))
      await rename(`${file}.part`, file)
    }
    await list(urls.slice(1, 2))
    // The first server stays; the clock of the file's watch is quick.
    const configNow = () => ({
      judge: configOf([urls[0], pick(urls)], {
        allow: ['http://127.0.0.1:*'],
        instances_file: file,
        max_in_flight: 1 + Math.floor(4 * random()),
        timeout_s: 5,
      }),
    })
    const quick = {
      ...systemClock,
      after: (ms: number, fn: () => void) => systemClock.after(ms === 2000 ? 5 : ms, fn),
    }
    let models = openModels(configNow(), { clock: quick, random })
    const earlier: Models[] = []
    t.teardown(async () => {
      await Promise.all([...earlier, models].map((one) => one.close()))
    })
    const asked: Promise<string>[] = []
    let isOver = false
    const stream = async (name: number) => {
      for (let n = 0; !isOver; n += 1) {
        const request = question(`${name} ${n}`, systemClock.now() + 20_000)
        const outcome = models.ask(request).then(
          () => 'answered',
          (error: AskError) => error.failure?.kind ?? String(error),
        )
        asked.push(outcome)
        if (random() < 0.5) await outcome
        else await after(3 * random())
      }
    }
    const streams = Array.from({ length: 12 }, (_, name) => stream(name))
    const changes: Promise<unknown>[] = []
    const known = (error: { code?: string }) => {
      if (error.code !== 'RG_NOT_FOUND') throw error
    }
    for (let n = 0; n < 60; n += 1) {
      const url = pick(urls.slice(1))
      const move = random()
      if (move < 0.3) models.addInstance('judge', url)
      else if (move < 0.5) changes.push(models.drainInstance('judge', url).catch(known))
      else if (move < 0.7) changes.push(models.removeInstance('judge', url).catch(known))
      else if (move < 0.85) await list(urls.filter(() => random() < 0.5))
      else {
        earlier.push(models)
        models = models.next(configNow())
      }
      await after(6 * random())
    }
    isOver = true
    await Promise.all(streams)
    const outcomes = await Promise.all(asked)
    t.comment(`${outcomes.length} questions, ${earlier.length} reloads`)
    t.strictSame([...new Set(outcomes)], ['answered'])
    await Promise.all(changes)
    for (const one of [...earlier, models])
      for (const { waiting, instances } of one.snapshot()) {
        t.equal(waiting, 0)
        t.ok(instances.every(({ inFlight }) => inFlight === 0))
      }
    await Promise.all(earlier.map((one) => one.close()))
    t.match(await models.ask(question('after', systemClock.now() + 20_000)), { source: 'call' })
  })
}
