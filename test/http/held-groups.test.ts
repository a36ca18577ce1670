import t from 'tap'
import type { Scored } from '../../src/gateway/gateway.ts'
import { type HeldRow, openHeldGroups } from '../../src/http/held-groups.ts'
import { testApp } from '../support/app.ts'
import { fakeClock } from '../support/clock.ts'
import { sampleOf } from '../support/gateway.ts'

const app = await testApp(t, {
  rank: { steps: [{ name: 'rank', function: 'rank-rule' }], group: { wait_s: 1.5 } },
  gateway: { functions: { threads: 1 } },
})

const verify = async (query: string, text: string, row: object) => {
  const response = await app.inject({
    method: 'POST',
    url: `/wire/nemo-gym/rank/verify${query}`,
    payload: {
      ...row,
      responses_create_params: { input: 'Say a number.' },
      response: { output: [{ role: 'assistant', content: text }] },
    },
  })
  return { status: response.statusCode, body: response.json() }
}

t.test('answers of one group are held until all are there; each gets its own reward', async (t) => {
  const place = (task: number, index: number) => ({ _ng_task_index: task, _ng_rollout_index: index })
  const texts = ['a', 'ccc', 'bb']
  const answers = await Promise.all([
    ...texts.map((text, index) => verify('?group_size=3', text, place(7, index))),
    verify('?group_size=3', 'ccc', place(7, 1)),
    ...texts.map((text, index) => verify('?group_size=3', text.repeat(index + 1), place(8, index))),
  ])
  t.strictSame(
    answers.map(({ body }) => body.reward),
    [0, 1, 0.5, 1, 0, 0.5, 0.5],
  )
  const late = await verify('?group_size=3', 'a', place(9, 0))
  t.match(late.body, { mask_sample: true, failure_kind: 'cohort_incomplete', reward: 0 })
})

t.test('an answer that does not say its place is refused', async (t) => {
  const refused = { status: 400, body: { error: { code: 'RG_REQUEST_INVALID' } } }
  t.match(await verify('?group_size=3', 'a', {}), refused)
  t.match(await verify('?group_size=3', 'a', { _ng_task_index: 1, _ng_rollout_index: 3 }), refused)
  t.match(await verify('?group_size=1', 'a', {}), refused)
  t.match(await verify('', 'a', { _ng_task_index: 1, _ng_rollout_index: 0 }), refused)
})

const scored = (count: number): Scored => ({
  version: 'v',
  outcomes: Array.from({ length: count }, (_, reward) => ({
    id: '',
    terms: [],
    flags: [],
    valid: true,
    reward,
  })),
})
const held = (index: number, parts: Partial<HeldRow> = {}): HeldRow => ({
  key: 'g',
  row: sampleOf(String(index)),
  index,
  size: 3,
  waitMs: 1000,
  signal: new AbortController().signal,
  run: async (rows) => scored(rows.length),
  ...parts,
})

t.test('a group waits its time, then what is there is scored in the order of the places', async (t) => {
  const clock = fakeClock()
  const groups = openHeldGroups(clock)
  const answers = [groups.score(held(2)), groups.score(held(0))]
  await t.rejects(groups.score(held(2)), /has the index 2/)
  clock.advance(1000)
  t.match(await Promise.all(answers), [{ outcomes: [{ reward: 1 }] }, { outcomes: [{ reward: 0 }] }])
  t.equal(clock.pending, 0)
})

t.test('who has gone is no sibling, and a retry takes the place', async (t) => {
  const clock = fakeClock()
  const groups = openHeldGroups(clock)
  const gone = new AbortController()
  const first = groups.score(held(0, { signal: gone.signal }))
  const second = groups.score(held(1))
  gone.abort()
  const answers = [second, groups.score(held(0)), groups.score(held(2))]
  t.match(
    await Promise.all(answers),
    [1, 0, 2].map((reward) => ({ outcomes: [{ reward }] })),
  )
  t.match(await first, { outcomes: [{ reward: 0 }] }, 'its own retry answered')
  const both = new AbortController()
  const alone = groups.score(held(0, { key: 'h', signal: both.signal }))
  both.abort()
  await t.rejects(alone, /went away/)
  t.equal(clock.pending, 0, 'no group waits any more')
})

t.test('too many that wait are refused', async (t) => {
  const clock = fakeClock()
  const groups = openHeldGroups(clock, 2)
  const waiting = [groups.score(held(0)), groups.score(held(1))]
  await t.rejects(groups.score(held(0, { key: 'h' })), { code: 'RG_OVERLOADED' })
  clock.advance(1000)
  await Promise.all(waiting)
  const failing = groups.score(held(0, { key: 'i', size: 1, run: () => Promise.reject(new Error('no')) }))
  await t.rejects(failing, /no/)
})
