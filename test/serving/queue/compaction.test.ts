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

t.test('a final says which reward scored it, also after a restart and a compaction', async (t) => {
  const folder = newFolder()
  const store = await opened(folder)
  const [scored, cancelled] = [
    await store.submit(submission('a', 'x')),
    await store.submit(submission('b', 'y')),
  ]
  if (scored.pending)
    await store.finish([{ pending: scored.pending, state: 'scored', result: '{}', version: 'v1' }])
  if (cancelled.pending) await finish(store, [cancelled.pending], 'cancelled')
  const rewards = [
    { name: 'r', version: 'v1' },
    { name: 'r', version: null },
  ]
  const read = async (from: typeof store) => (await allFinals(from)).map(({ reward }) => reward)
  t.strictSame(await read(store), rewards)
  await store.close()
  const again = await opened(folder)
  t.strictSame(await read(again), rewards)
  await again.submit(submission('c', 'z'))
  await again.compact(true)
  t.strictSame(await read(again), rewards)
  await again.close()
  const last = await opened(folder)
  t.strictSame(await read(last), rewards)
  await last.close()
})
