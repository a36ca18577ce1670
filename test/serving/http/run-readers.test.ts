import t from 'tap'
import { judging, movedClock, rule, worldOf } from '../../support/queue-world.ts'

t.test('a run that was removed and begins again: readers skip none of its finals', async (t) => {
  const { parts, advance, maintain } = movedClock()
  const { put, get, finals, app } = await worldOf(t, { keep_s: 3600 }, judging, parts)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const uid of ['a1', 'a2', 'a3']) await put(uid, rule('4'))
  const [first, , last] = await finals(3)
  const gone = new AbortController()
  const stream = await fetch(`${url}/v1/runs/a/rewards`, {
    headers: { accept: 'text/event-stream', 'last-event-id': last.cursor },
    signal: gone.signal,
  })
  const polled = get(`/v1/runs/a/rewards?wait_s=60&after=${last.cursor}`)
  advance(3_601_000)
  await maintain()
  t.equal((await get('/v1/runs/a')).status, 404)
  for (const uid of ['b1', 'b2', 'b3', 'b4']) await put(uid, rule('4'))
  const again = await finals(4)
  const { json } = await polled
  t.equal(json.results[0].uid, 'b1', 'a long poll that had everything goes on')
  t.equal(json.cursor, json.results.at(-1).cursor)
  const late = await get(`/v1/runs/a/rewards?after=${last.cursor}`)
  t.equal(late.json.results.length, 4, 'and so does a later one')
  let text = ''
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"b4"')) break
  }
  gone.abort()
  t.strictSame(
    [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id),
    again.map(({ cursor }) => cursor),
  )
  const behind = await get(`/v1/runs/a/rewards?after=${first.cursor}`)
  t.equal(behind.status, 410)
  t.match(behind.json.error, {
    code: 'RG_CURSOR_UNKNOWN',
    lost: 2,
    cursor: again[0].cursor.replace(/1$/, '0'),
  })
})

t.test('a stream whose reader is so late that finals have expired ends', async (t) => {
  const { parts, advance, maintain } = movedClock()
  const { put, get, finals, app } = await worldOf(t, { keep_s: 3600 }, judging, parts)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  // More than a stream and its socket hold.
  const large = 'x'.repeat(900_000)
  for (let k = 0; k < 20; k += 1)
    await put(`u${k}`, { ...rule('4'), sample: { id: `${k}${large}`, response: '4' } })
  await finals(20)
  const stream = await fetch(`${url}/v1/runs/a/rewards`, { headers: { accept: 'text/event-stream' } })
  const reader = stream.body?.getReader()
  await reader?.read()
  await put('hold', { reward: 'ranked', sample: { response: 'x', group_id: 'g', group_size: 2 } })
  advance(3_601_000)
  await maintain()
  t.equal((await get('/v1/runs/a')).json.expired, 20)
  let text = ''
  for (;;) {
    const chunk = await reader?.read()
    if (!chunk || chunk.done) break
    text += Buffer.from(chunk.value).toString()
  }
  t.notMatch(text, /"damaged"/, 'what has expired is not reported as damaged')
  const id = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
  t.equal((await get(`/v1/runs/a/rewards?after=${id}`)).status, 410)
})

t.test("a system's time that is set forward takes no final away", async (t) => {
  const { parts, maintain } = movedClock()
  const { put, get, finals } = await worldOf(t, { keep_s: 3600 }, judging, { clock: parts.clock })
  await put('u', rule('4'))
  const [{ at }] = await finals(1)
  const { now } = Date
  t.teardown(() => Object.assign(Date, { now }))
  Date.now = () => now() + 8 * 3_600_000
  await maintain()
  t.equal((await get('/v1/runs/a/rollouts/u')).json.at, at)
  await put('late', rule('4', { deadline_s: 60 }))
  t.match((await finals(2))[1], { uid: 'late', state: 'scored' })
})
