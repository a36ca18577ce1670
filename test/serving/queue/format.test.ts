import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allFinals, allPartials, finishAll, newFolder, opened } from '../../support/run-store.ts'

const shipped = 'test/fixtures/queue-log'

t.test('a log that an earlier version wrote is read, and goes on', async (t) => {
  const folder = newFolder()
  for (const name of readdirSync(shipped)) copyFileSync(join(shipped, name), join(folder, `${name}.log`))
  for (const life of [1, 2]) {
    const store = await opened(folder, { segmentBytes: 3500 })
    t.strictSame(store.damage, [])
    t.equal(store.run, 'shipped')
    t.strictSame([...store.state.pending].map(({ head }) => `${head.uid} ${head.attempt}`).sort(), [
      'g0 1',
      'u1 2',
      'u3 1',
    ])
    const waiting = store.state.pendingOf('u3')
    t.strictSame(waiting && [...(await store.reader.answersOf(waiting))], [['question', '"kept"']])
    t.strictSame(await allPartials(store), ['1 u3 1 {"early":1}'])
    t.equal(store.last, 17)
    const finals = await allFinals(store)
    t.strictSame(
      finals.slice(0, 4).map(({ uid, state }) => `${uid} ${state}`),
      ['u0 scored', 'u2 scored', 'c cancelled', 'v0 scored'],
    )
    await store.compact(true)
    if (life === 2) await finishAll(store)
    await store.close()
  }
  const last = await opened(folder)
  t.equal(last.last, 20)
  t.equal(last.state.pending.size, 0)
  await last.close()
})
