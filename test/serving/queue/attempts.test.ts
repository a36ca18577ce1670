import t from 'tap'
import { finishAll, newFolder, opened, submission } from '../../support/run-store.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
t.comment(`SEED=${seed}`)

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

t.test('a uid that is used again after its final has expired is not lost by a restart', async (t) => {
  let now = 1_000_000
  const folder = newFolder()
  const parts = { keepMs: 1000, wallClock: () => now }
  let store = await opened(folder, parts)
  const restart = async () => {
    await store.close()
    store = await opened(folder, parts)
  }
  const unfinished = () => [...store.state.pending].map(({ head }) => `${head.uid} ${head.attempt}`)
  await store.submit(submission('long', 'holds the run'))
  for (const text of ['one', 'one and more', 'one again']) await store.submit(submission('u', text))
  const [first] = [...store.state.pending].filter(({ head }) => head.uid === 'u')
  if (first) await store.keepAnswer(first, 'question', '"of the first life"')
  if (first) await store.finish([{ pending: first, state: 'scored', result: '{}' }])
  now += 2000
  store.expire()
  t.equal(store.state.newestOf('u'), undefined)
  for (const [attempt, text] of ['one', 'two'].entries()) {
    t.equal((await store.submit(submission('u', text))).attempt, attempt + 1)
    t.strictSame(unfinished(), ['long 1', `u ${attempt + 1}`])
    await restart()
    t.strictSame(unfinished(), ['long 1', `u ${attempt + 1}`], 'the final of its earlier life is another one')
    const answers = store.state.pendingOf('u')?.answers
    t.equal(answers?.size, 0, 'nor are its answers those of its earlier life')
  }
  await finishAll(store)
  await restart()
  t.strictSame(unfinished(), [])
  t.equal(store.last, 3)
  t.equal((await store.submit(submission('u', 'two'))).state, 'scored')
  await store.close()
})

t.test(
  'uids that come again and again, expire and are copied: each accepted attempt has one final',
  async (t) => {
    const random = seeded(seed)
    let now = 1_000_000
    const folder = newFolder()
    const parts = { keepMs: 500, wallClock: () => now, segmentBytes: 3000 }
    let store = await opened(folder, parts)
    /** Attempts that were accepted and have neither a final nor a newer attempt. */
    const waiting = new Map<string, number>()
    for (let step = 0; step < 600; step += 1) {
      now += 20
      const draw = random()
      const uid = `u${Math.floor(random() * 6)}`
      if (draw < 0.4) {
        const { attempt, isNew } = await store.submit(submission(uid, `text ${Math.floor(random() * 4)}`))
        if (isNew) waiting.set(uid, attempt)
      } else if (draw < 0.7) {
        const pending = store.state.pendingOf(uid)
        if (pending) {
          await store.keepAnswer(pending, `key ${step}`, `"${uid} ${waiting.get(uid)}"`)
          await store.keepPartial(pending, '{}')
          await store.finish([{ pending, state: 'scored', result: '{}' }])
        }
        waiting.delete(uid)
      } else if (draw < 0.9) {
        store.expire()
        await store.compact(draw < 0.8)
      } else {
        await store.close()
        store = await opened(folder, parts)
        t.strictSame(store.damage, [])
      }
      const found = new Map([...store.state.pending].map(({ head }) => [head.uid, head.attempt]))
      if (JSON.stringify([...found].sort()) !== JSON.stringify([...waiting].sort()))
        return t.fail(`step ${step}: ${JSON.stringify([...found])} and not ${JSON.stringify([...waiting])}`)
    }
    await store.close()
  },
)
