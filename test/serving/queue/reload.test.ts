import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { Pauses } from '../../../src/serving/queue/pauses.ts'
import { openQueue } from '../../../src/serving/queue/queue.ts'
import type { Unit } from '../../../src/serving/queue/ready.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { judging, rewards, worldOf } from '../../support/queue-world.ts'
import { newFolder } from '../../support/run-store.ts'
import { scriptedServer } from '../../support/scripted-server.ts'

const ranked = (response: string) => ({
  reward: 'judged-ranked',
  sample: { response, group_id: 'g', group_size: 2 },
})

t.test(
  'rollouts whose reward is gone wait for it, and are then scored as if it had always been there',
  async (t) => {
    const queueFolder = newFolder()
    const first = await worldOf(t, { folder: queueFolder }, async (seen) => {
      await seen.closed
      return undefined
    })
    await first.put('alone', { reward: 'judged', sample: { response: 'x' } })
    await first.put('late', { reward: 'judged', sample: { response: 'y' }, deadline_s: 3 })
    await first.put('short', ranked('x'))
    await first.put('long', ranked('xx'))
    await first.app.close()

    const configs = newFolder()
    const judge = await scriptedServer(judging)
    t.teardown(() => judge.kill())
    const write = (name: string, config: object) =>
      writeFileSync(join(configs, `${name}.json`), JSON.stringify(config))
    const models = { judge: { model: 'm', instances: [judge.url], hedge: { budget: 0 } } }
    write('gateway', { models, queue: { folder: queueFolder, commit_ms: 0 } })
    write('mixed', rewards.mixed)
    const gateway = await testGateway(t, {}, { configs: [configs] })
    const queue = await openQueue({ gateway, clock: systemClock })
    const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
    const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20, queue })
    t.teardown(async () => {
      queue?.stop()
      await app.close()
      await gateway.close(0)
      await queue?.close()
      metrics.close()
    })
    const get = async (url: string) => (await app.inject({ url })).json()
    t.match((await get('/v1/queue')).runs[0].waits, [
      { cause: 'paused', name: 'reward_unknown', rollouts: 4 },
    ])
    const [late] = (await get('/v1/runs/a/rewards?wait_s=20')).results
    t.match(late, { uid: 'late', result: { failure: { kind: 'deadline', detail: /no config.*'judged'/ } } })

    write('judged', rewards.judged)
    write('judged-ranked', rewards['judged-ranked'])
    await gateway.reload()
    const found: unknown[] = []
    for (let { cursor } = late; found.length < 3; ) {
      const { results, ...rest } = await get(`/v1/runs/a/rewards?wait_s=20&after=${cursor}`)
      cursor = rest.cursor
      found.push(...results)
    }
    const of = (name: string) => found.find((one) => (one as { uid: string }).uid === name)
    t.match(of('alone'), { state: 'scored' })
    t.match(of('short'), { state: 'scored', result: { reward: 1 } })
    t.match(of('long'), { state: 'scored', result: { reward: 2 } })
  },
)

t.test('one rollout waits an hour for its reward, and nobody looks for it afterwards', (t) => {
  const clock = fakeClock()
  const found: Unit[] = []
  let isThere = false
  const pauses = new Pauses({
    clock,
    again: () => t.fail('it was never tried'),
    hasReward: () => isThere,
    found: (unit) => void found.push(unit),
  })
  const unit = { members: [{ head: { reward: 'judged' }, isOver: false }], tries: 0 } as unknown as Unit
  pauses.awaitReward(unit)
  clock.advance(3_600_000)
  t.strictSame(found, [])
  isThere = true
  clock.advance(1000)
  t.strictSame(found, [unit])
  t.equal(clock.pending, 0)
  t.end()
})
