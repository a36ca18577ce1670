import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { judging, movedClock, rule, worldOf } from '../../support/queue-world.ts'
import { newFolder } from '../../support/run-store.ts'

t.test('a lock that cannot be read for a moment ends nothing, and /readyz says so', async (t) => {
  const folder = newFolder()
  const told: (string | null)[] = []
  const { parts, maintain } = movedClock()
  const events = { disk: (trouble: string | null) => told.push(trouble) }
  const { put, get } = await worldOf(t, { folder }, judging, { ...parts, events })
  renameSync(join(folder, 'lock'), join(folder, 'aside'))
  mkdirSync(join(folder, 'lock'))
  await maintain()
  const ready = await get('/readyz')
  t.equal(ready.status, 200)
  t.match(ready.json.queue, /lock cannot be read/)
  t.equal((await put('u', rule('4'))).status, 202)
  rmdirSync(join(folder, 'lock'))
  renameSync(join(folder, 'aside'), join(folder, 'lock'))
  await maintain()
  t.equal((await get('/readyz')).json.queue, null)
  t.match(told, [/lock cannot be read/, null], 'the log says it once')
})

t.test('a gateway whose folder another process has taken over is not ready', async (t) => {
  const folder = newFolder()
  const { parts, maintain } = movedClock()
  let told = () => {}
  const events = { lost: () => told() }
  const { put, get } = await worldOf(t, { folder }, judging, { ...parts, events })
  writeFileSync(join(folder, 'lock'), 'of another process')
  await new Promise<void>((resolve) => {
    told = resolve
    void maintain()
  })
  const { status, json } = await get('/readyz')
  t.match({ status, ...json }, { status: 503, ready: false, queue: /another process/ })
  t.match(await put('u', rule('4')), { status: 503, json: { error: { code: 'RG_CLOSING' } } })
})
