import t from 'tap'
import { until } from '../../support/models.ts'
import { type rewards, type World, worldOf } from '../../support/queue-world.ts'
import { finish, newFolder, opened, submission } from '../../support/run-store.ts'
import { completion, type Script } from '../../support/scripted-server.ts'

const member = (uid: string, more: object = {}, reward: keyof typeof rewards = 'ranked') => ({
  reward,
  sample: { response: uid, group_id: 'g', group_size: 4 },
  ...more,
})

const putAll = async ({ put }: World, uids: readonly string[], reward?: keyof typeof rewards) => {
  for (const uid of uids) t.equal((await put(uid, member(uid, {}, reward))).status, 202)
}

const shown = (finals: Awaited<ReturnType<World['finals']>>) =>
  finals.map(({ uid, state, result }) => `${uid} ${state} ${result.failure?.kind ?? result.reward}`)

t.test('a group that lost an answer ends at once when the last of the others has come', async (t) => {
  const world = await worldOf(t)
  await putAll(world, ['a', 'b', 'c'])
  await world.post('/v1/runs/a/cancel', { uid: 'b' })
  t.equal((await world.get('/v1/runs/a/rollouts/a')).json.state, 'waiting')
  await putAll(world, ['d'])
  const finals = await world.finals(4)
  t.strictSame(shown(finals), [
    'b cancelled cancelled',
    'a invalid group_incomplete',
    'c invalid group_incomplete',
    'd invalid group_incomplete',
  ])
  t.match(
    finals[1].result.failure.detail,
    /'g' has 3 of its 4 answers and cannot be complete: 1 had ended before/,
  )
  await putAll(world, ['e', 'f', 'g', 'h'])
  t.equal(
    (await world.finals(8)).filter(({ state }) => state === 'scored').length,
    4,
    'the next of that name',
  )
})

t.test('a cancellation ends at once what it leaves', async (t) => {
  const world = await worldOf(t)
  await putAll(world, ['a', 'b', 'c'])
  await world.post('/v1/runs/a/cancel', { uid: 'b' })
  await world.put('b', member('b', { attempt: 2 }))
  await putAll(world, ['d'])
  t.equal((await world.finals(5)).filter(({ state }) => state === 'scored').length, 4, 'it came again')
  await putAll(world, ['1', '2'], 'ranked-some')
  await world.put('3', member('3', {}, 'ranked-some'))
  for (const uid of ['3']) await world.post('/v1/runs/a/cancel', { uid })
  await putAll(world, ['4'], 'ranked-some')
  t.strictSame(
    shown(await world.finals(9)).slice(5),
    ['3 cancelled cancelled', '1 scored 0', '2 scored 0', '4 scored 0'],
    'group.min are enough',
  )
})

t.test('an answer that is cancelled while its group is scored: a restart does not wait for it', async (t) => {
  const folder = newFolder()
  let isHolding = true
  let asked = 0
  const script: Script = async (seen) => {
    asked += 1
    if (isHolding) await seen.closed
    return completion(seen, '1')
  }
  const first = await worldOf(t, { folder }, script)
  await putAll(first, ['a', 'b', 'c', 'd'], 'judged-ranked')
  await until(() => asked > 0)
  await first.post('/v1/runs/a/cancel', { uid: 'a' })
  t.equal((await first.get('/v1/runs/a/rollouts/b')).json.state, 'running', 'the others go on')
  await first.app.close()
  isHolding = false
  const second = await worldOf(t, { folder }, script)
  t.strictSame(shown(await second.finals(4)), [
    'a cancelled cancelled',
    'b invalid group_incomplete',
    'c invalid group_incomplete',
    'd invalid group_incomplete',
  ])
})

t.test('which answers a group has lost is known after any compaction', async (t) => {
  const folder = newFolder()
  const parts = { segmentBytes: 1500 }
  const group = { group: 'g', size: 4, step: 3 }
  let store = await opened(folder, parts)
  for (const uid of ['a', 'b', 'c']) await store.submit(submission(uid, uid, group))
  const key = 'r\n3\ng'
  await store.finish(
    [{ pending: store.state.pendingOf('b') as never, state: 'cancelled', result: '{}' }],
    'apart',
  )
  for (let round = 0; round < 6; round += 1) {
    t.strictSame(store.state.groups.endedOf(key), ['b'], `round ${round}`)
    for (let k = 0; k < 9; k += 1) {
      const { pending } = await store.submit(submission(`x${round}-${k}`, 'x'.repeat(300)))
      if (pending) await finish(store, [pending])
    }
    await store.compact(true)
    await store.close()
    store = await opened(folder, parts)
  }
  await store.submit(submission('b', 'again', group))
  t.strictSame(store.state.groups.endedOf(key), [])
  await store.close()
  store = await opened(folder, parts)
  t.strictSame(store.state.groups.endedOf(key), [])
  await store.finish(
    [...store.state.pending].map((pending) => ({ pending, state: 'scored', result: '{}' })),
    'whole',
  )
  await store.submit(submission('next', 'x', group))
  t.strictSame(store.state.groups.endedOf(key), [])
  await store.close()
})

t.test(
  'a group that does not fit into memory is ended by name, with the answers that come later',
  async (t) => {
    const folder = newFolder()
    const gateway = { limits: { max_bodies_bytes: 400_000 } }
    const world = await worldOf(t, { folder }, undefined, {}, {}, gateway)
    const large = (uid: string) => ({
      reward: 'ranked',
      sample: { response: uid.padEnd(100_000, 'x'), group_id: 'large', group_size: 6 },
    })
    for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) await world.put(uid, large(uid))
    const finals = await world.finals(6)
    for (const { state, result } of finals)
      t.match(
        [state, result.failure],
        [
          'invalid',
          { kind: 'group_incomplete', retryable: false, detail: /'large' have more than 400000 bytes/ },
        ],
      )
    await putAll(world, ['1', '2', '3', '4'])
    t.equal((await world.finals(10)).filter(({ state }) => state === 'scored').length, 4, 'others are scored')
  },
)
