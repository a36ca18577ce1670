import t from 'tap'
import { finishAll, newFolder, opened, submission } from '../../support/run-store.ts'

t.test('what has its final is known by its bytes, also after a restart and a compaction', async (t) => {
  const folder = newFolder()
  const parts = { segmentBytes: 2000 }
  let store = await opened(folder, parts)
  await store.submit(submission('u', 'short'))
  await store.submit(submission('u', 'longer'))
  await finishAll(store)
  for (let k = 0; k < 30; k += 1) await store.submit(submission(`other-${k}`, 'x'.repeat(200)))
  await finishAll(store)
  await store.compact()
  for (const when of ['before', 'after']) {
    const again = async (text: string) => {
      const { attempt, state, isNew } = await store.submit(submission('u', text))
      return [attempt, state, isNew]
    }
    t.strictSame(await again('longer'), [2, 'scored', false], when)
    t.strictSame(await again('short'), [1, 'replaced', false], when)
    await t.rejects(store.submit(submission('u', 'x', { attempt: 2 })), { code: 'RG_ATTEMPT_CONFLICT' })
    await store.close()
    store = await opened(folder, parts)
  }
  t.equal((await store.submit(submission('u', 'longest'))).attempt, 3)
  await store.close()
})
