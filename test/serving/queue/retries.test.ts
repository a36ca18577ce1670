import t from 'tap'
import { RequestTimes } from '../../../src/core/stalls/request-times.ts'
import { failsSoon } from '../../support/models.ts'
import { worldOf } from '../../support/queue-world.ts'
import { recordsIn } from '../../support/records.ts'
import { newFolder } from '../../support/run-store.ts'
import { completion, type Script } from '../../support/scripted-server.ts'

t.test('what earlier tries waited for is not counted as the time of the gateway', async (t) => {
  const folder = newFolder()
  let isAway = true
  const script: Script = (seen, response) => (isAway ? void response.destroy() : completion(seen, '1'))
  const { put, get, finals, app } = await worldOf(t, {}, script, {}, failsSoon, { record: { folder } })
  await put('u', { reward: 'judged', training_step: 1, sample: { response: 'x' } })
  for (;;) {
    const [wait] = (await get('/v1/queue')).json.runs[0].waits
    if (wait?.cause === 'paused') break
    await new Promise(setImmediate)
  }
  isAway = false
  t.match(await finals(1), [{ uid: 'u', state: 'scored' }])
  await app.close()
  const scored = (await recordsIn(folder)).find(({ failure }) => failure === null)
  const ms = new Map<string, number>()
  for (const spell of scored?.spent ?? []) ms.set(spell.cause, (ms.get(spell.cause) ?? 0) + spell.ms)
  t.ok((ms.get('hung') ?? 0) >= 1000, `the pause counts like the call before it: ${JSON.stringify([...ms])}`)
  t.ok((ms.get('gateway') ?? 0) < 1000, 'and not as the time of the gateway')
})

t.test('earlier tries fill the time from the arrival to the beginning, without overlap', async (t) => {
  const earlier = [
    { cause: 'gateway', model: '', from: 0, to: 10 },
    { cause: 'hung', model: 'm', from: 10, to: 40 },
    { cause: 'parked', model: 'm', from: 50, to: 120 },
  ] as const
  const times = new RequestTimes(1, 100, 5, earlier)
  t.strictSame(times.spellsOf(0, 7), [
    { cause: 'gateway', model: '', from: 5, to: 10 },
    { cause: 'hung', model: 'm', from: 10, to: 40 },
    { cause: 'gateway', model: '', from: 40, to: 50 },
    { cause: 'parked', model: 'm', from: 50, to: 100 },
    { cause: 'gateway', model: '', from: 100, to: 107 },
  ])
})
