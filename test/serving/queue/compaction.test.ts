import { readdirSync } from 'node:fs'
import t from 'tap'
import { allFinals, finish, newFolder, opened, submission } from '../../support/run-store.ts'

t.test('a log whose only file counts no more is small, although nothing more is written', async (t) => {
  const folder = newFolder()
  let now = 0
  const parts = { keepMs: 1000, wallClock: () => now }
  const store = await opened(folder, parts)
  const waits = await store.submit(submission('waits', 'has no final'))
  if (waits.pending) await store.keepAnswer(waits.pending, 'q', '"kept"')
  for (let k = 0; k < 40; k += 1) {
    const { pending } = await store.submit(submission(`u${k}`, 'x'.repeat(50_000), { digest: `d${k}` }))
    if (pending) await finish(store, [pending])
  }
  await store.compact()
  t.ok(store.bytes < 50_000, `${store.bytes} bytes once all but one have their finals`)
  t.strictSame(
    (await allFinals(store)).map(({ uid, state }) => `${uid} ${state}`),
    Array.from({ length: 40 }, (_, k) => `u${k} scored`),
  )
  now = 2000
  store.expire()
  const before = readdirSync(folder)
  await store.compact()
  t.strictSame(readdirSync(folder), before, 'a file that is small is left alone')
  await store.close()
  const again = await opened(folder, parts)
  t.strictSame(
    [...again.state.pending].map(({ head, answers }) => [head.uid, [...answers.keys()]]),
    [['waits', ['q']]],
  )
  t.strictSame(again.damage, [])
  await again.close()
})
