import t from 'tap'
import type { RunStore } from '../../../src/serving/queue/run-store.ts'
import { boundFinals } from '../../../src/serving/queue/upkeep.ts'
import { judging, movedClock, rule, worldOf } from '../../support/queue-world.ts'
import { allFinals, finish, newFolder, opened, submission } from '../../support/run-store.ts'

async function storeOf(finals: number, bytes = 10): Promise<RunStore> {
  const store = await opened(newFolder())
  for (let k = 0; k < finals; k += 1) {
    const { pending } = await store.submit(submission(`u${k}`, 'x', { digest: `${k}`.padEnd(bytes, '.') }))
    if (pending) await finish(store, [pending])
  }
  return store
}

const uidsOf = async (store: RunStore): Promise<readonly string[]> =>
  (await allFinals(store)).map(({ uid }) => uid)

t.test('beyond the bound, the run that keeps most gives up its oldest finals', async (t) => {
  const [small, large, other] = await Promise.all([storeOf(2), storeOf(9), storeOf(5)])
  const stores = [large, small, other]
  const bytes = Number.POSITIVE_INFINITY
  t.equal(await boundFinals(stores, { finals: 16, bytes }), 0)
  t.equal(await boundFinals(stores, { finals: 10, bytes }), 6)
  t.strictSame(await uidsOf(small), ['u0', 'u1'])
  t.strictSame(await uidsOf(large), ['u5', 'u6', 'u7', 'u8'])
  t.strictSame(await uidsOf(other), ['u1', 'u2', 'u3', 'u4'])
  for (const store of stores) await store.close()
})

t.test('the bytes of finals are bounded, also after a compaction', async (t) => {
  const [small, large] = await Promise.all([storeOf(3), storeOf(9, 1000)])
  const finals = Number.POSITIVE_INFINITY
  const most = small.state.keptBytes + large.state.keptBytes / 3 + 100
  t.equal(await boundFinals([small, large], { finals, bytes: most }), 6)
  t.strictSame(await uidsOf(large), ['u6', 'u7', 'u8'])
  t.equal((await uidsOf(small)).length, 3)
  await large.compact(true)
  t.equal(await boundFinals([small, large], { finals, bytes: most }), 0)
  for (const store of [small, large]) await store.close()
})

t.test('whoever asks for finals that were removed early is told how many are gone', async (t) => {
  const { parts, maintain } = movedClock()
  const { put, get, finals, app } = await worldOf(t, { keep_finals: 2 }, judging, parts)
  for (const uid of ['a1', 'a2', 'a3', 'a4', 'a5']) await put(uid, rule('4'))
  const [first, second, third] = await finals(5)
  await maintain()
  const { status, json } = await get(`/v1/runs/a/rewards?after=${first.cursor}`)
  t.equal(status, 410)
  t.match(json.error, { lost: 2, cursor: third.cursor, message: /2 finals.*keep_finals/ })
  const rest = await get(`/v1/runs/a/rewards?after=${third.cursor}`)
  t.strictSame(
    rest.json.results.map(({ uid }: { uid: string }) => uid),
    ['a4', 'a5'],
  )
  t.equal((await get(`/v1/runs/a/rollouts/${second.uid}`)).status, 404)
  const { body } = await app.inject({ method: 'GET', url: '/metrics' })
  t.match(body, /reward_gateway_queue_kept_finals\{run="a"\} 2\n/)
  t.match(body, /reward_gateway_queue_dropped_finals_total 3\n/)
})
