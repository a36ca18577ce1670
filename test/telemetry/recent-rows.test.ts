import t from 'tap'
import type { RequestDone } from '../../src/engine/events.ts'
import type { Sample } from '../../src/sample/sample.ts'
import { mostRows, RecentRows } from '../../src/telemetry/live/recent-rows.ts'

const sample: Sample = { id: 'a', prompt: '', response: 'r', groundTruth: null, rmPrompts: {}, extraInfo: {} }
const request = { rows: [sample] } as unknown as RequestDone

t.test('at rest every row is kept, under load a choice that lasts', async (t) => {
  const recent = new RecentRows()
  for (let count = 0; count < 10; count++) recent.take(request, `rest ${count}`, count, [], 0)
  t.equal(recent.since(0).length, 10)
  const before = recent.newest
  for (let ms = 0; ms < 60_000; ms++) recent.take(request, `load ${ms}`, 1000 + ms, [], 0)
  const taken = recent.newest - before
  t.ok(taken >= 40 * 60 && taken <= 40 * 60 + mostRows, `${taken} of 60000`)
  const [oldest] = recent.since(0)
  t.ok((oldest?.at ?? 0) < 61_000 - 9000, 'what is shown goes back seconds')
})

t.test('a row without a reward is kept beside the others, and at its own rate', async (t) => {
  const recent = new RecentRows()
  for (let ms = 0; ms < 5000; ms++) recent.take(request, `scored ${ms}`, ms, [], 0)
  recent.take(request, 'failed', 5000, [0], 0)
  t.ok(recent.get('failed:0'))
  const before = recent.newest
  for (let ms = 0; ms < 10_000; ms++) recent.take(request, `failed ${ms}`, 5000 + ms, [0], 0)
  t.ok(recent.newest - before <= 2 * 40 * 10 + mostRows)
})
