import t from 'tap'
import { testApp } from '../support/app.ts'

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
  const incomplete = { mask_sample: true, failure_kind: 'cohort_incomplete', reward: 0 }
  const late = [verify('?group_size=3', 'a', place(9, 0)), verify('?group_size=3', 'other', place(9, 0))]
  for (const { body } of await Promise.all(late))
    t.match(body, incomplete, 'alone, or with an index that another has')
})

t.test('an answer that does not say its place is refused', async (t) => {
  const refused = { status: 400, body: { error: { code: 'RG_REQUEST_INVALID' } } }
  t.match(await verify('?group_size=3', 'a', {}), refused)
  t.match(await verify('?group_size=3', 'a', { _ng_task_index: 1, _ng_rollout_index: 3 }), refused)
  t.match(await verify('?group_size=1', 'a', {}), refused)
  t.match(await verify('', 'a', { _ng_task_index: 1, _ng_rollout_index: 0 }), refused)
})
