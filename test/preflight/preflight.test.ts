import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRows } from '../../src/dataset/row-source.ts'
import type { FunctionHost } from '../../src/functions/function-host.ts'
import { openFunctions } from '../../src/functions/open-functions.ts'
import { readConfigs } from '../../src/plan/configs.ts'
import { resolvePlans } from '../../src/plan/resolve.ts'
import { openPolicy } from '../../src/policy/policy.ts'
import { findingKinds } from '../../src/preflight/finding.ts'
import { preflight, type Report } from '../../src/preflight/preflight.ts'
import type { Sampled } from '../../src/preflight/signal-probe.ts'
import { openSubject } from '../../src/preflight/subject.ts'
import { families } from '../../src/prepare/families.ts'
import { trainingRow } from '../../src/prepare/training-row.ts'
import { simulated } from '../support/simulated.ts'
import { sources } from '../support/training-sources.ts'

type Row = Record<string, unknown>

/** Training rows of a family, as `prepare` writes them. */
function rowsOf(name: string, count: number): Row[] {
  const family = families.get(name)
  if (!family) throw new Error(name)
  return (sources[name]?.(count) ?? []).map((row, at) => ({
    ...trainingRow(family.read(row, {}), family, at),
  }))
}

const configOf = (name: string) => ({ steps: families.get(name)?.steps })

t.test('data, a reward and its servers are looked at before a run', async (t) => {
  const functions = await openFunctions({ folders: [], sampleTimeoutMs: 5000, threads: 1 })
  t.teardown(() => functions.close())
  const file = join(t.testdir(), 'rows.jsonl')

  async function look(
    reward: object,
    rows: readonly (Row | string)[],
    more: {
      readonly models?: object
      readonly sampled?: Sampled
      readonly goldPath?: string
      readonly answerTokens?: number
    } = {},
  ): Promise<Report> {
    writeFileSync(file, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'))
    return reportOn(functions, reward, more.models ?? {}, {
      files: [{ path: file, source: await openRows(file, process.stdin) }],
      sampled: more.sampled ?? null,
      goldPath: more.goldPath ?? null,
      answerTokens: more.answerTokens ?? null,
    })
  }
  const named = ({ findings }: Report): string[] =>
    findings.map(({ name, rows }) => `${name} ${rows.join(' ')}`)

  for (const name of ['gsm8k', 'countdown', 'tool-call', 'npg-muse']) {
    await t.test(`${name}: nothing is found in 200 clean rows`, async (t) => {
      const report = await look(configOf(name) as object, rowsOf(name, 200))
      t.strictSame(report.findings, [])
      t.equal(report.rows, 200)
      for (const levels of Object.values(report.levels)) t.equal(levels.length, 1, JSON.stringify(levels))
    })
  }

  const judge = await simulated(t, { model: 'judge', maxModelLen: 900 })
  const models = {
    judge: {
      model: 'judge',
      instances: [judge.url],
      sampling: { max_tokens: 100 },
      health: { interval_s: 0 },
    },
  }
  const quality = { name: 'quality', function: 'rider-judge', model: 'judge', weight: 0.3 }
  const rider = { gate: 'rule == 1', steps: [{ name: 'rule', function: 'rider-rule' }, quality] }

  await t.test('rider: nothing is found in 200 clean rows, and three questions are shown', async (t) => {
    const report = await look(rider, rowsOf('rider', 200), { models })
    t.strictSame(report.findings, [])
    t.strictSame(
      report.questions.map(({ row, step }) => `${row} ${step}`),
      ['1 quality', '2 quality', '3 quality'],
    )
    t.match(report.questions[1]?.text, /第1单，请评审客服回复：\n.*\n客服:第1单已核实/)
    t.notOk(report.questions[1]?.text.includes('{response}'))
  })

  await t.test('every planted fault is named with its row', async (t) => {
    const rows: (Row | string)[] = rowsOf('gsm8k', 30)
    const row = (at: number): Row & { prompt: { content: string }[]; extra_info: Row; reward_model: Row } =>
      rows[at - 1] as never
    const change = (at: number, change: (one: ReturnType<typeof row>) => object) => {
      rows[at - 1] = { ...row(at), ...change(row(at)) }
    }
    change(2, () => ({ prompt: undefined }))
    change(3, () => ({ reward_model: { ground_truth: { value: 3 } } }))
    change(4, ({ extra_info }) => ({ extra_info: { ...extra_info, near_miss: `So.\n${extra_info.answer}` } }))
    rows[4] = structuredClone(row(6))
    change(7, () => ({ prompt: row(8).prompt }))
    change(9, () => ({ prompt: [{ role: 'user', content: ' ' }] }))
    change(10, () => ({ data_source: 'opnai/gsm8k' }))
    change(11, ({ prompt }) => ({
      prompt: [{ role: 'user', content: `${prompt[0]?.content} Itâ€™s 5 â‚¬.` }],
    }))
    change(12, ({ prompt, extra_info }) => ({ prompt: `${prompt[0]?.content}\n${extra_info.answer}` }))
    change(13, ({ prompt, reward_model }) => ({
      prompt: `${prompt[0]?.content} #### ${reward_model.ground_truth}`,
    }))
    rows[13] = '{"prompt": '
    change(15, ({ extra_info }) => ({ extra_info: { ...extra_info, answer: 'Who knows?' } }))
    change(16, ({ extra_info }) => ({
      extra_info: { ...extra_info, answer: 'It is so.\n#### 5', near_miss: null },
    }))
    change(17, ({ prompt }) => ({ prompt: [...prompt, { role: 'assistant', content: 'Well,' }] }))
    change(18, () => ({ reward_model: {} }))
    change(19, ({ extra_info }) => ({ extra_info: { ...extra_info, answer: undefined } }))
    change(20, () => ({ prompt: 5 }))
    const reward = { steps: [{ name: 'rule', function: 'gsm8k-progressive', data_source: 'openai/*' }] }
    const found = named(await look(reward, rows))
    const wanted = [
      'missing-column 2',
      'missing-column 18',
      'unknown-data-source 10',
      'refused-truth 3',
      'gold-not-above-near-miss 4',
      'gold-not-paid 15',
      'gold-below-best 16',
      'repeated-row 6',
      'conflicting-rows 8',
      'empty-prompt 9',
      'chat-form 17',
      'garbled-text 11',
      'leaked-answer 12',
      'stated-answer 13',
      'unreadable-row 14',
      'unreadable-row 20',
      'no-gold ',
    ]
    t.strictSame([...found].sort(), [...wanted].sort())
  })

  await t.test(
    "judge prompts that lose the answer, and questions beyond the judge's window, are named",
    async (t) => {
      const rows = rowsOf('rider', 12)
      const change = (at: number, template: string) => {
        rows[at - 1] = { ...rows[at - 1], rm_prompt_0: template }
      }
      change(2, '请评审：{reponse}')
      change(3, '请评审这条回复。')
      change(4, `请评审：{response} {criterion} \\frac{a}{b}`)
      change(5, `${'长'.repeat(4000)}{response}`)
      const report = await look(rider, rows, { models })
      t.strictSame(named(report), [
        'template-placeholder 2',
        'response-not-in-question 2 3',
        'template-placeholder 4',
        'prompt-too-long 5',
      ])
      t.match(report.findings[0]?.message, /{reponse} stays as it is; did you mean 'response'/)
      t.match(report.findings[3]?.message, /800 tokens that judge takes/)

      const long = await look(rider, rowsOf('rider', 2), { models, answerTokens: 2000 })
      t.strictSame(named(long), ['prompt-too-long 1 2'])

      const away = { judge: { ...models.judge, instances: ['http://127.0.0.1:9'], max_prompt_tokens: 300 } }
      const estimated = await look(rider, rows.slice(4, 6), {
        models: { judge: { ...away.judge, wait_for_instance_s: 0 } },
      })
      t.strictSame(named(estimated), ['prompt-too-long 1', 'judge-not-reached '])
    },
  )

  await t.test("a judge's plain question, and one that it cannot make, are named", async (t) => {
    const rows = rowsOf('gsm8k', 2)
    const steps = [
      { name: 'quality', function: 'rider-judge', model: 'judge', options: { mode: 'reference' } },
    ]
    t.strictSame(named(await look({ steps }, rows, { models })), ['failing-question 1 2'])
    const silent = [{ name: 'quality', function: 'rider-judge', model: 'judge' }]
    t.strictSame(named(await look({ steps: silent }, rows, { models })), ['no-question 1 2'])
  })

  await t.test('judges that compare answers are looked at with two', async (t) => {
    for (const name of ['pairwise-judge', 'listwise-judge']) {
      const steps = [{ name: 'rank', function: name, model: 'judge' }]
      const report = await look({ steps }, rowsOf('gsm8k', 4), { models })
      t.strictSame(report.findings, [], name)
      t.match(report.questions[0]?.text, 'I do not know.')
    }
  })

  await t.test('every kind of finding is explained', async (t) => {
    const page = readFileSync('docs/prepare.md', 'utf8')
    for (const [name, { severity }] of Object.entries(findingKinds))
      t.match(page, new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\| ${severity} \\|`, 'm'), name)
  })

  await t.test('right answers may stand in another column', async (t) => {
    const rows = rowsOf('gsm8k', 3).map(({ extra_info, ...row }) => ({
      ...row,
      extra_info: { solution: (extra_info as Row).answer },
    }))
    const reward = configOf('gsm8k') as object
    t.strictSame(named(await look(reward, rows, { goldPath: 'extra_info.solution' })), [])
    t.strictSame(named(await look(reward, rows)), ['no-gold '])
  })

  await t.test("a policy's answers tell whether there is anything to learn from", async (t) => {
    const rows = rowsOf('gsm8k', 20)
    const answers = Object.fromEntries(
      rows.map((row) => {
        const { prompt, reward_model: truth } = row as { prompt: { content: string }[]; reward_model: Row }
        return [prompt[0]?.content ?? '', String(truth.ground_truth)]
      }),
    )
    const sampledFrom = async (url: string, model: string | null): Promise<Sampled> => {
      const options = { backend: 'openai', concurrency: 64, timeoutS: 5, waitS: 0, env: {} } as const
      const policy = await openPolicy({ urls: [url], model, ...options })
      t.teardown(() => policy.close())
      return { policy, answers: 8, temperature: 1, maxTokens: 200, seed: 1 }
    }
    const probe = async (options: object) => {
      const policy = await simulated(t, { model: 'policy', policy: 'solver', answers, ...options })
      return look(configOf('gsm8k') as object, rows, { sampled: await sampledFrom(policy.url, null) })
    }
    const half = await probe({ successRate: 0.5 })
    t.match(half, { findings: [], probe: { verdict: 'good', prompts: 5, answers: 40, max: 1 } })
    const spread = half.probe?.groups.map(({ variance }) => variance) ?? []
    t.ok(
      spread.some((variance) => variance > 0.05),
      `${spread}`,
    )
    const never = await probe({ successRate: 0 })
    t.match(never.probe, { verdict: 'none', levels: [{ answers: 40 }] })
    t.match(named(never), [/^no-signal/])
    t.match(named(await probe({ successRate: 1 })), [/^solved-data/])
    t.match(named(await probe({ policy: 'constant', constant: '}{ @@ ~~ ### $$' })), [
      /^no-signal/,
      /^policy-text \d/,
    ])
    const absent = await sampledFrom('http://127.0.0.1:9', 'x')
    t.match(named(await look(configOf('gsm8k') as object, rows, { sampled: absent })), [
      /^policy-unreachable/,
    ])
  })
})

async function reportOn(
  functions: FunctionHost,
  reward: object,
  models: object,
  job: Pick<Parameters<typeof preflight>[0], 'files' | 'sampled' | 'goldPath' | 'answerTokens'>,
): Promise<Report> {
  const texts = [
    { file: 'gateway.json', text: JSON.stringify({ models }) },
    { file: 'reward.json', text: JSON.stringify(reward) },
  ]
  const resolved = await resolvePlans(readConfigs(texts, {}), functions)
  const plan = resolved.plans.get('reward')
  if (!plan) throw new Error('no plan')
  const subject = openSubject(resolved, plan, functions, {})
  const signal = new AbortController().signal
  try {
    return await preflight({
      subject,
      maxRows: Number.POSITIVE_INFINITY,
      probed: 5,
      seed: 42,
      signal,
      ...job,
    })
  } finally {
    await subject.close()
  }
}
