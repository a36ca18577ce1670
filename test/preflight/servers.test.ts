import { join } from 'node:path'
import t from 'tap'
import { openPolicy } from '../../src/policy/policy.ts'
import type { Sampled } from '../../src/preflight/signal-probe.ts'
import { familyConfig, namedFindings, openLook, type Row, trainingRows } from '../support/preflight.ts'
import { simulated } from '../support/simulated.ts'

t.test("judges' questions and a policy's answers are looked at", async (t) => {
  const look = await openLook(t, [join('test/fixtures/preflight')])

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
    const report = await look(rider, trainingRows('rider', 200), { models })
    t.strictSame(report.findings, [])
    t.strictSame(
      report.questions.map(({ row, step }) => `${row} ${step}`),
      ['1 quality', '2 quality', '3 quality'],
    )
    t.match(report.questions[1]?.text, /第1单，请评审客服回复：\n.*\n客服:第1单已核实/)
    t.notOk(report.questions[1]?.text.includes('{response}'))
  })

  await t.test(
    "judge prompts that lose the answer, and questions beyond the judge's window, are named",
    async (t) => {
      const rows = trainingRows('rider', 12)
      const change = (at: number, template: string) => {
        rows[at - 1] = { ...rows[at - 1], rm_prompt_0: template }
      }
      change(2, '请评审：{reponse}')
      change(3, '请评审这条回复。')
      change(4, `请评审：{response} {criterion} \\frac{a}{b}`)
      change(5, `${'长'.repeat(4000)}{response}`)
      const report = await look(rider, rows, { models })
      t.strictSame(namedFindings(report), [
        'template-placeholder 2',
        'response-not-in-question 2 3',
        'template-placeholder 4',
        'prompt-too-long 5',
      ])
      t.match(report.findings[0]?.message, /{reponse} stays as it is; did you mean 'response'/)
      t.match(report.findings[3]?.message, /800 tokens that judge takes/)

      const long = await look(rider, trainingRows('rider', 2), { models, answerTokens: 2000 })
      t.strictSame(namedFindings(long), ['prompt-too-long 1 2'])

      const away = { judge: { ...models.judge, instances: ['http://127.0.0.1:9'], max_prompt_tokens: 300 } }
      const estimated = await look(rider, rows.slice(4, 6), {
        models: { judge: { ...away.judge, wait_for_instance_s: 0 } },
      })
      t.strictSame(namedFindings(estimated), ['prompt-too-long 1', 'judge-not-reached '])
    },
  )

  await t.test("a judge's plain question, and one that it cannot make, are named", async (t) => {
    const rows = trainingRows('gsm8k', 2)
    const steps = [
      { name: 'quality', function: 'rider-judge', model: 'judge', options: { mode: 'reference' } },
    ]
    t.strictSame(namedFindings(await look({ steps }, rows, { models })), ['failing-question 1 2'])
    const silent = [{ name: 'quality', function: 'rider-judge', model: 'judge' }]
    t.strictSame(namedFindings(await look({ steps: silent }, rows, { models })), ['no-question 1 2'])
  })

  await t.test('judges that compare answers are looked at with two', async (t) => {
    for (const name of ['pairwise-judge', 'listwise-judge']) {
      const steps = [{ name: 'rank', function: name, model: 'judge' }]
      const report = await look({ steps }, trainingRows('gsm8k', 4), { models })
      t.strictSame(report.findings, [], name)
      t.match(report.questions[0]?.text, 'I do not know.')
    }
  })

  await t.test('windows are asked of SGLang, and not of servers that cannot count', async (t) => {
    const rows = trainingRows('rider', 2)
    const more = { answerTokens: 2000 }
    const sglang = { judge: { ...models.judge, backend: 'sglang' } }
    t.strictSame(namedFindings(await look(rider, rows, { models: sglang, ...more })), ['prompt-too-long 1 2'])
    const openai = { judge: { ...models.judge, backend: 'openai' } }
    const unknown = await look(rider, rows, { models: openai, ...more })
    t.strictSame(namedFindings(unknown), ['judge-not-reached '])
    t.match(unknown.findings[0]?.message, /cannot\): its window is not known/)
    const deaf = await simulated(t, { model: 'other', maxModelLen: 900 })
    const lost = { judge: { ...models.judge, instances: [deaf.url] } }
    t.match((await look(rider, rows, { models: lost })).findings[0]?.message, /\/tokenize answers with 404/)
  })

  await t.test('a judge that gets plain text is named', async (t) => {
    const steps = [{ name: 'loose', function: 'loose-judge', model: 'judge' }]
    t.strictSame(namedFindings(await look({ steps }, trainingRows('gsm8k', 2), { models })), [
      'unguarded-response 1 2',
    ])
  })

  await t.test("a policy's answers tell whether there is anything to learn from", async (t) => {
    const rows = trainingRows('gsm8k', 20)
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
      return look(familyConfig('gsm8k'), rows, { sampled: await sampledFrom(policy.url, null) })
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
    t.match(namedFindings(never), [/^no-signal/])
    t.match(namedFindings(await probe({ successRate: 1 })), [/^solved-data/])
    t.match(namedFindings(await probe({ policy: 'constant', constant: '}{ @@ ~~ ### $$' })), [
      /^no-signal/,
      /^policy-text \d/,
    ])
    const marked = (_: unknown, { index }: { readonly index: number }) =>
      index % 2 === 0 ? 'It is so.\n#### 5' : 'I do not know this.'
    const form = await probe({ policy: marked })
    t.match(form.probe, { verdict: 'format', max: 0.1, min: 0 })
    t.match(namedFindings(form), [/^weak-signal/])
    const long = await probe({ policy: () => 'word '.repeat(2000) })
    t.match(namedFindings(long), [/^no-signal/, /^policy-text/, /^policy-cut/])

    const dead = { judge: { ...models.judge, instances: ['http://127.0.0.1:9'], wait_for_instance_s: 0 } }
    const gated = {
      gate: 'rule == 1',
      steps: [
        { name: 'rule', function: 'gsm8k-progressive' },
        { name: 'judge', function: 'yes-no-judge', model: 'judge' },
      ],
    }
    const solver = await simulated(t, { model: 'policy', policy: 'solver', answers, successRate: 0.5 })
    const unscored = await look(gated, rows, {
      models: dead,
      sampled: await sampledFrom(solver.url, null),
    })
    t.match(namedFindings(unscored), [/^policy-unscored/, /^no-signal/, /^judge-not-reached/])
    const absent = await sampledFrom('http://127.0.0.1:9', 'x')
    t.match(namedFindings(await look(familyConfig('gsm8k'), rows, { sampled: absent })), [
      /^policy-unreachable/,
    ])
  })
})
