import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { openGroundTruthIndex } from '../../../src/trainers/ground-truth-index.ts'
import { rmPromptColumns } from '../../../src/workbench/dataset/samples.ts'
import { cpuMs } from '../../support/cpu.ts'
import { testGateway } from '../../support/gateway.ts'
import { turnsOf } from '../../support/turns.ts'

const silent = {
  model: 'judge',
  instances: [],
  allow: ['http://judge-*:8000'],
  health: { interval_s: 0 },
  wait_for_instance: 60,
}
const rewards = {
  exact: { steps: [{ name: 'exact', function: 'exact-match' }] },
  rank: { steps: [{ name: 'rank', function: 'rank-rule' }], group: { wait_s: 1 } },
  judged: { models: { silent }, steps: [{ name: 'q', function: 'digit-judge', model: 'silent' }] },
}
const settings = (truths: string) => ({
  trainers: {
    'llama-factory': { ground_truth_file: truths, on_invalid: -1 },
    openrlhf: { ground_truth_file: truths, deadline_s: 0.2 },
    slime: { on_invalid: 0.5, deadline_s: 0.1 },
    'nemo-gym': { deadline_s: 4 },
  },
  keys: { run: { env: 'RUN_KEY', scopes: ['score'] } },
  functions: { threads: 1 },
})

const folder = t.testdir({
  'truths.jsonl': `${[
    { prompt: 'Letter?', ground_truth: 'b', extra_info: { level: 1 } },
    {
      prompt: [
        { role: 'system', content: 's' },
        { role: 'user', content: ' Word? ' },
      ],
      ground_truth: 'c',
    },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n')}\n`,
})
const file = join(folder, 'gateway.json')
writeFileSync(file, JSON.stringify(settings('truths.jsonl')))
const key = 'k'.repeat(20)
const gateway = await testGateway(t, rewards, { configs: [file], env: { RUN_KEY: key } })
const metrics = openMetrics({ version: 'test', inFlight: () => gateway.inFlight })
const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
t.teardown(async () => {
  await app.close()
  metrics.close()
})

const basic = `Basic ${Buffer.from(`run-7:${key}`).toString('base64')}`
const post = async (url: string, payload: object, authorization: string = basic) => {
  const response = await app.inject({
    method: 'POST',
    url: `/wire/${url}`,
    payload,
    headers: { authorization },
  })
  return { status: response.statusCode, body: response.json() }
}
const chat = (prompt: string, response: string) =>
  `<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n${response}<|im_end|>`

t.test('ground truths are looked up by prompt; an unknown prompt is bad_sample, never 0', async (t) => {
  const messages = [chat('Letter?', 'b'), chat('Word?', 'c'), chat('Letter?', 'c'), chat('Other?', 'b')]
  t.strictSame((await post('llama-factory/exact', { messages })).body.scores, [1, 1, 0, -1])
  const sent = await post('openrlhf/exact', { query: messages.slice(0, 2), labels: ['', 'd'] })
  t.strictSame(sent.body.rewards, [1, 0], 'a label that is sent goes before')
  t.match(await post('openrlhf/exact', { query: messages.slice(3) }), {
    status: 502,
    body: {
      error: {
        problems: [{ message: /^bad_sample: the prompt is not in the ground truth file .*truths.jsonl/ }],
      },
    },
  })
})

t.test('the reply comes within the deadline and marks the sample invalid', async (t) => {
  const start = cpuMs()
  const text = 'one'
  const [openrlhf, slime, masked] = await Promise.all([
    post('openrlhf/judged', { query: [chat('a', text)], labels: ['x'] }),
    post('slime/judged?reward_key=score', { prompt: 'a', response: text, label: null }),
    post('nemo-gym/judged/verify', {
      responses_create_params: { input: 'a' },
      response: { output: [{ role: 'assistant', content: text }] },
    }),
  ])
  t.ok(cpuMs() - start < 2000)
  t.match(openrlhf, {
    status: 502,
    body: { error: { problems: [{ message: /^(?:deadline|judge_unreachable)/ }] } },
  })
  t.strictSame(slime?.body, { q: null, q_scored: 0, invalid: 1, score: 0.5 })
  t.match(masked?.body, { mask_sample: true, failure_kind: /^(?:transport_timeout|judge_failed)$/ })
})

t.test('a client that only takes a URL can send its key in it', async (t) => {
  const sent = { prompt: 'a', response: 'b', label: 'b' }
  t.equal((await post('slime/exact', sent, `Bearer ${key}`)).body, 1)
  for (const wrong of [
    '',
    'Basic',
    `Basic ${key}`,
    `Basic ${Buffer.from(`${key}:x`).toString('base64')}`,
    'Basic %%%',
  ])
    t.equal((await post('slime/exact', sent, wrong)).status, 401, wrong)
})

t.test(
  'a reload reads ground truths again, and keeps the old ones if the new ones cannot be read',
  async (t) => {
    const messages = [chat('Letter?', 'b')]
    const score = async () => (await post('llama-factory/exact', { messages })).body.scores[0]
    writeFileSync(join(folder, 'truths.jsonl'), 'no JSON\n')
    await gateway.reload()
    t.equal(await score(), 1)
    writeFileSync(join(folder, 'truths.jsonl'), '{"prompt":"Letter?","ground_truth":"c"}\n')
    await gateway.reload()
    t.equal(await score(), 0)
  },
)

t.test('ground truths are read without blocking other requests', async (t) => {
  const lines = Array.from({ length: 60_000 }, (_, row) =>
    JSON.stringify({ prompt: `Question ${row}?`, ground_truth: `${row}` }),
  )
  const path = join(t.testdir({ 'many.jsonl': lines.join('\n') }), 'many.jsonl')
  const { ms } = await turnsOf(100, async () => {
    const truths = await openGroundTruthIndex(path)
    t.match(truths.find('Question 59999?'), { groundTruth: '59999' })
  })
  t.ok(ms < 100, `${ms.toFixed()} ms at a time`)
})

t.test('mistakes in a ground truth file are reported by line', async (t) => {
  const lines = [
    '{',
    '[]',
    '{"prompt":""}',
    '{"prompt":"a","truth":1}',
    '{"prompt":"a","ground_truth":NaN}',
    '{"prompt":"b","ground_truth":1}',
    '{"prompt":" b","ground_truth":2}',
  ]
  const path = join(t.testdir({ 'bad.jsonl': lines.join('\n'), 'empty.jsonl': '\n' }), 'bad.jsonl')
  try {
    await openGroundTruthIndex(path)
    t.fail('must throw')
  } catch (error) {
    const { code, problems } = error as { code: string; problems: { path: string; message: string }[] }
    t.equal(code, 'RG_CONFIG_INVALID')
    t.strictSame(
      problems.map(({ path: at }) => Number(at.split(':').pop())),
      [1, 2, 3, 4, 5, 7],
    )
    t.match(problems.at(-1)?.message, /line 6 has another ground truth/)
  }
  await t.rejects(openGroundTruthIndex(path.replace('bad', 'empty')), { code: 'RG_CONFIG_INVALID' })
  await t.rejects(openGroundTruthIndex(path.replace('bad', 'none')), { code: 'RG_CONFIG_INVALID' })
})

t.test('columns of judge prompts become prompts of steps', async (t) => {
  const row = {
    prompt: 'x',
    rm_prompt: 'all',
    rm_prompt_0: 'first',
    rm_prompt_1: null,
    rm_prompt_2: 'third',
    rm_prompt_9: 'none',
  }
  t.strictSame(rmPromptColumns(row, ['quality', 'consistency', 'judge']), {
    rm_prompt: 'all',
    rm_prompts: { quality: 'first', judge: 'third' },
  })
  t.strictSame(rmPromptColumns({ prompt: 'x' }, ['quality']), {})
})

const verify = async (query: string, text: string, row: object) => {
  const response = await app.inject({
    method: 'POST',
    url: `/wire/nemo-gym/rank/verify${query}`,
    headers: { authorization: basic },
    payload: {
      ...row,
      responses_create_params: { input: 'Say a number.' },
      response: { output: [{ role: 'assistant', content: text }] },
    },
  })
  return { status: response.statusCode, body: response.json() }
}

t.test('answers of a group wait until all have arrived, and each gets its own reward', async (t) => {
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

t.test('an answer that does not name its group is refused', async (t) => {
  const refused = { status: 400, body: { error: { code: 'RG_REQUEST_INVALID' } } }
  t.match(await verify('?group_size=3', 'a', {}), refused)
  t.match(await verify('?group_size=3', 'a', { _ng_task_index: 1, _ng_rollout_index: 3 }), refused)
  t.match(await verify('?group_size=1', 'a', {}), refused)
  t.match(await verify('', 'a', { _ng_task_index: 1, _ng_rollout_index: 0 }), refused)
})
