import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findingKinds } from '../../../src/workbench/preflight/finding.ts'
import type { Sampled } from '../../../src/workbench/preflight/signal-probe.ts'
import { openPolicy } from '../../../src/workbench/rollout/policy.ts'
import { dataUrl, png } from '../../support/images.ts'
import { familyConfig, namedFindings, openLook, type Row, trainingRows } from '../../support/preflight.ts'
import { simulated } from '../../support/simulated.ts'

const look = await openLook(t, [join('test/fixtures/preflight')])

t.test('rows are checked with the rules of their reward', async (t) => {
  for (const name of ['gsm8k', 'countdown', 'tool-call', 'npg-muse']) {
    await t.test(`${name}: 200 clean rows have no findings`, async (t) => {
      const report = await look(familyConfig(name), trainingRows(name, 200))
      t.strictSame(report.findings, [])
      t.equal(report.rows, 200)
      for (const levels of Object.values(report.levels)) t.equal(levels.length, 1, JSON.stringify(levels))
    })
  }

  await t.test('each planted error is reported with its row', async (t) => {
    const rows: (Row | string)[] = trainingRows('gsm8k', 30)
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
    const found = namedFindings(await look(reward, rows))
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

  await t.test('right answers may be in another column', async (t) => {
    const rows = trainingRows('gsm8k', 3).map(({ extra_info, ...row }) => ({
      ...row,
      extra_info: { solution: (extra_info as Row).answer },
    }))
    const reward = familyConfig('gsm8k')
    t.strictSame(namedFindings(await look(reward, rows, { goldPath: 'extra_info.solution' })), [])
    t.strictSame(namedFindings(await look(reward, rows)), ['no-gold '])
  })

  await t.test("labels and sources that a rule cannot use are reported in the rule's words", async (t) => {
    const [call = {}, ...calls] = trainingRows('tool-call', 3)
    const bare = { ...call, reward_model: { ground_truth: 'nothing to call' } }
    t.strictSame(namedFindings(await look(familyConfig('tool-call'), [...calls, bare])), ['ungradable-row 3'])
    const graphs = trainingRows('npg-muse', 4)
    const [clique = {}] = graphs
    const extra = clique.extra_info as Row
    graphs[0] = { ...clique, extra_info: { ...extra, exact_answer: 1, near_miss: '[]' } }
    graphs[1] = { ...graphs[1], data_source: 'Sorting_binary' }
    const found = await look(familyConfig('npg-muse'), graphs)
    t.strictSame(namedFindings(found), ['failing-rule 2', 'flagged-row 1'])
    t.match(found.findings[1]?.message, /better_than_exact/)
  })

  await t.test('a reward that pays any answer with a marker is reported', async (t) => {
    const rows = trainingRows('gsm8k', 3).map(({ extra_info: extra, ...row }) => ({
      ...row,
      extra_info: { ...(extra as Row), near_miss: null },
    }))
    const steps = [{ name: 'rule', function: 'regex-match', options: { pattern: '(?s).*#### .*' } }]
    t.strictSame(namedFindings(await look({ steps }, rows)), ['made-near-miss-paid 1 2 3'])
  })

  await t.test('an empty file or useless columns do not crash the check', async (t) => {
    t.match(namedFindings(await look(familyConfig('gsm8k'), [])), ['missing-column '])
    t.match(namedFindings(await look(familyConfig('gsm8k'), ['5', '[]', '{"a": 1}'])), [/^unreadable-row/])
  })

  await t.test('docs/prepare.md explains every kind of finding', async (t) => {
    const page = readFileSync('docs/prepare.md', 'utf8')
    for (const [name, { severity }] of Object.entries(findingKinds))
      t.match(page, new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\| ${severity} \\|`, 'm'), name)
  })
})

t.test("the check covers judges' questions and a policy's answers", async (t) => {
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

  await t.test('rider: 200 clean rows have no findings, and three questions are shown', async (t) => {
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
    "judge prompts without the answer and questions beyond the judge's window are reported",
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
      t.match(report.findings[0]?.message, /{reponse} is not filled in; did you mean 'response'/)
      t.match(report.findings[3]?.message, /800 tokens that judge takes/)

      const long = await look(rider, trainingRows('rider', 2), { models, answerTokens: 2000 })
      t.strictSame(namedFindings(long), ['prompt-too-long 1 2'])

      const away = { judge: { ...models.judge, instances: ['http://127.0.0.1:9'], max_prompt_tokens: 300 } }
      const estimated = await look(rider, rows.slice(4, 6), {
        models: { judge: { ...away.judge, wait_for_instance: 0 } },
      })
      t.strictSame(namedFindings(estimated), ['prompt-too-long 1', 'judge-not-reached '])
    },
  )

  await t.test('a plain question of a judge, and one that cannot be built, are reported', async (t) => {
    const rows = trainingRows('gsm8k', 2)
    const steps = [
      { name: 'quality', function: 'rider-judge', model: 'judge', options: { mode: 'published' } },
    ]
    t.strictSame(namedFindings(await look({ steps }, rows, { models })), ['failing-question 1 2'])
    const silent = [{ name: 'quality', function: 'rider-judge', model: 'judge' }]
    t.strictSame(namedFindings(await look({ steps: silent }, rows, { models })), ['no-question 1 2'])
  })

  await t.test('a ground truth that a judge gets as JSON text is reported (M37)', async (t) => {
    const asText = trainingRows('gsm8k', 3).map((row, at) => ({
      ...row,
      reward_model: { ground_truth: at === 2 ? { points: ['b'] } : '{"points": ["a"]}' },
    }))
    const steps = [{ name: 'rubric', function: 'points-judge', model: 'judge' }]
    const { findings } = await look({ models, steps }, asText)
    t.match(findings, [
      { name: 'truth-from-text', severity: 'note', count: 2, rows: ['1', '2'], message: /^step rubric: / },
    ])
  })

  await t.test('judges that compare answers are checked with two answers', async (t) => {
    for (const name of ['pairwise-judge', 'listwise-judge']) {
      const steps = [{ name: 'rank', function: name, model: 'judge' }]
      const report = await look({ steps }, trainingRows('gsm8k', 4), { models })
      t.strictSame(report.findings, [], name)
      t.match(report.questions[0]?.text, 'I do not know.')
    }
  })

  await t.test(
    'context windows are read from SGLang, and not from servers without a token count',
    async (t) => {
      const rows = trainingRows('rider', 2)
      const more = { answerTokens: 2000 }
      const sglang = { judge: { ...models.judge, backend: 'sglang' } }
      t.strictSame(namedFindings(await look(rider, rows, { models: sglang, ...more })), [
        'prompt-too-long 1 2',
      ])
      const openai = { judge: { ...models.judge, backend: 'openai' } }
      const unknown = await look(rider, rows, { models: openai, ...more })
      t.strictSame(namedFindings(unknown), ['judge-not-reached '])
      t.match(unknown.findings[0]?.message, /cannot\): its window is not known/)
      const deaf = await simulated(t, { model: 'other', maxModelLen: 900 })
      const lost = { judge: { ...models.judge, instances: [deaf.url] } }
      t.match((await look(rider, rows, { models: lost })).findings[0]?.message, /\/tokenize answers with 404/)
    },
  )

  await t.test('a judge that gets plain text is reported', async (t) => {
    const steps = [{ name: 'loose', function: 'loose-judge', model: 'judge' }]
    t.strictSame(namedFindings(await look({ steps }, trainingRows('gsm8k', 2), { models })), [
      'unguarded-response 1 2',
    ])
  })

  await t.test(
    'what a step does not see of a rollout is counted and reported (spec of rollouts)',
    async (t) => {
      const row = (prompt: unknown, response: unknown) => ({
        prompt,
        response,
        ground_truth: '4',
        data_source: 'd',
      })
      const called = { role: 'assistant', tool_calls: [{ name: 'add', arguments: { a: 2, b: 2 } }] }
      const result = { role: 'tool', content: 'sum 4' }
      const audio = { type: 'input_audio', input_audio: { data: 'AAAA' } }
      const asking = [{ role: 'user', content: [{ type: 'text', text: 'Hear:' }, audio] }]
      const image = { type: 'image_url', image_url: 'data:image/png;base64,cGl4ZWxz' }
      const rows = [
        row('2 + 2?', '4'),
        row('2 + 2!', [called, result, { role: 'assistant', content: '4' }]),
        row('2 and 2?', [
          { role: 'assistant', content: 'I add.' },
          result,
          { role: 'assistant', content: '4' },
        ]),
        row(asking, '4'),
        row('Draw 4.', [{ role: 'assistant', content: [{ type: 'text', text: '4' }, image] }]),
        row('2, 2?', [{ role: 'assistant', content: 5 }]),
      ]
      const rule = { name: 'rule', function: 'regex-match', options: { pattern: '^4$' } }
      const steps = [rule, { name: 'quality', function: 'yes-no-judge', model: 'judge' }]
      const report = await look({ steps }, rows, { models })
      t.strictSame(report.contents, { image: 1, input_audio: 1, rollouts: 3, 'tool turns': 2 })
      const found = namedFindings(report)
      t.ok(found.includes('unreadable-row 6') && found.includes('earlier-turns 2 3'), found.join('; '))
      t.ok(found.includes('turns-unseen 2 3'))
      const unseen = report.findings.map(({ rows, message }) => `${rows} ${message}`).join('\n')
      t.match(unseen, /^4 step quality: prompt has a part of type input_audio, and a judge/m)
      t.match(unseen, /^5 step rule: response has a part of type image, and the rule reads only the text/m)
      t.notOk(
        found.some((one) => /^(gold|failing-|response-not)/.test(one)),
        found.join('; '),
      )
      const ignoring = steps.map((step) => ({ ...step, ignore: ['image', 'input_audio'] }))
      const told = await look({ steps: ignoring }, rows, { models })
      t.strictSame(
        namedFindings(told).filter((one) => /unseen-c|ignored/.test(one)),
        ['ignored-content 4', 'ignored-content 5', 'ignored-content 5'],
      )
      const played = await look({ steps: [rule], formula: 'rule + environment.goal' }, rows)
      t.strictSame(
        namedFindings(played).filter((one) => /environment|ungradable/.test(one)),
        ['environment-missing 2 3 5'],
      )
      const shown = { type: 'image_url', image_url: dataUrl(png(4, 4)) }
      const pictured = [{ role: 'user', content: [shown, { type: 'text', text: 'How many sides?' }] }]
      const seeing = await look({ steps: steps.slice(1) }, [row(pictured, '4')], { models })
      t.match(
        seeing.questions[0]?.text,
        /\[image: image\/png, \d+ bytes\]\n.*How many sides\?/s,
        'images stand where the judge sees them',
      )
    },
  )

  await t.test("a policy's answers show whether there is a training signal", async (t) => {
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

    await t.test('a policy that solves half of them gives one', async (t) => {
      const half = await probe({ successRate: 0.5 })
      t.strictSame(half.findings, [])
      t.match(half.probe, { verdict: 'good', prompts: 5, answers: 40, max: 1 })
      const spread = half.probe?.groups.map(({ variance }) => variance) ?? []
      t.ok(
        spread.some((variance) => variance > 0.05),
        `${spread}`,
      )
    })

    await t.test('a policy that solves none or all of them gives none', async (t) => {
      const never = await probe({ successRate: 0 })
      t.match(never.probe, { verdict: 'none', levels: [{ answers: 40 }] })
      t.match(namedFindings(never), [/^no-signal/])
      t.match(namedFindings(await probe({ successRate: 1 })), [/^solved-data/])
    })

    await t.test('rewards of the form alone are a weak one', async (t) => {
      const marked = (_: unknown, { index }: { readonly index: number }) =>
        index % 2 === 0 ? 'It is so.\n#### 5' : 'I do not know this.'
      const form = await probe({ policy: marked })
      t.match(form.probe, { verdict: 'format', max: 0.1, min: 0 })
      t.match(namedFindings(form), [/^weak-signal/])
    })

    await t.test('answers that are no text, or that are cut, are reported', async (t) => {
      t.match(namedFindings(await probe({ policy: 'constant', constant: '}{ @@ ~~ ### $$' })), [
        /^no-signal/,
        /^policy-text \d/,
      ])
      const long = await probe({ policy: () => 'word '.repeat(2000) })
      t.match(namedFindings(long), [/^no-signal/, /^policy-text/, /^policy-cut/])
    })

    await t.test('answers that no judge could score are reported', async (t) => {
      const dead = { judge: { ...models.judge, instances: ['http://127.0.0.1:9'], wait_for_instance: 0 } }
      const gated = {
        gate: 'rule == 1',
        steps: [
          { name: 'rule', function: 'gsm8k-progressive' },
          { name: 'judge', function: 'yes-no-judge', model: 'judge' },
        ],
      }
      const solver = await simulated(t, { model: 'policy', policy: 'solver', answers, successRate: 0.5 })
      const sampled = await sampledFrom(solver.url, null)
      const unscored = await look(gated, rows, { models: dead, sampled })
      t.match(namedFindings(unscored), [/^policy-unscored/, /^no-signal/, /^judge-not-reached/])
    })

    await t.test('a policy that cannot be reached is reported', async (t) => {
      const sampled = await sampledFrom('http://127.0.0.1:9', 'x')
      t.match(namedFindings(await look(familyConfig('gsm8k'), rows, { sampled })), [/^policy-unreachable/])
    })
  })
})

t.test('rubrics are named by their form, and odd ones are found', async (t) => {
  const rubrics = [
    { rubrics: [{ criterion: 'States X', points: 5 }] },
    [{ title: 'T', description: 'Essential Criteria: x', weight: 5 }],
    [{ text: 'Is rude', weight: -1 }],
    [{ text: 'a' }, { text: 'a' }],
    [
      { description: 'Pitfall Criteria: Does not invent.', weight: -1 },
      { description: 'Essential: x', weight: 5 },
    ],
    [{ text: 'a', weight: 0 }],
    'none',
    [{ text: 'a', axis: 'x', level: 'hard' }],
  ]
  const rows = rubrics.map((ground_truth, at) => ({ prompt: `Question ${at}?`, ground_truth }))
  const report = await look({ steps: [{ name: 'rubric', function: 'rubric-judge', model: 'judge' }] }, rows, {
    models: { judge: { model: 'm', backend: 'openai', instances: ['http://127.0.0.1:9'] } },
  })
  const found = report.findings
    .filter(({ name }) => ['rubric', 'odd-rubric', 'failing-question'].includes(name))
    .map(({ name, message, rows }) => `${name} ${rows.join()} ${message}`)
  t.match(found, [
    /^failing-question 6 .*rubric\[0\]: its weight is 0/,
    /^failing-question 7 .*the row has no rubric/,
    /^odd-rubric 3 .*only faults/,
    /^odd-rubric 4 .*the same criterion twice/,
    /^odd-rubric 5 .*pitfall/,
    /^odd-rubric 8 .*fields of its criteria that nothing reads: "axis", "level"/,
    /^rubric 1 .*form healthbench, 1 criterion/,
    /^rubric 2 .*form rar, 1 criterion/,
    /^rubric 3,8 .*form plain, 1 criterion/,
    /^rubric 4 .*form plain, 2 criteria/,
    /^rubric 5 .*form rar, 2 criteria/,
  ])
})

t.test('a prompt may have two rubrics, which is odd, but not two ground truths', async (t) => {
  const [one, two] = [[{ text: 'a' }], [{ text: 'b' }]]
  const judged = [{ name: 'rubric', function: 'rubric-judge', model: 'judge' }]
  const named = async (rows: readonly object[], steps: readonly object[] = judged) => {
    const all = rows.map((row) => ({ prompt: 'Question?', ...row }))
    const models = { judge: { model: 'm', backend: 'openai', instances: ['http://127.0.0.1:9'] } }
    return namedFindings(await look({ steps }, all, { models })).filter((name) => / 2$/.test(name))
  }
  t.match(await named([{ ground_truth: one }, { ground_truth: two }]), ['odd-rubric 2'])
  t.match(await named([{ ground_truth: one }, { ground_truth: JSON.stringify(one) }]), ['repeated-row 2'])
  const inInfo = (rubrics: object, ground_truth = 'x') => ({ ground_truth, extra_info: { rubrics } })
  t.match(await named([inInfo(one), inInfo(two)]), ['odd-rubric 2'], 'a rubric of extra_info is compared too')
  t.match(await named([inInfo(one), inInfo(one)]), ['repeated-row 2'])
  t.match(await named([inInfo(one), inInfo(one, 'y')]), ['conflicting-rows 2'])
  const misspelt = [{ text: 'a', wieght: 2 }]
  t.match(await named([{ ground_truth: one }, { ground_truth: misspelt }]), [
    'failing-question 2',
    'odd-rubric 2',
  ])
  const matched = [{ name: 'right', function: 'exact-match' }]
  t.match(await named([{ ground_truth: 'a' }, { ground_truth: 'b' }], matched), ['conflicting-rows 2'])
})

t.test('the questions that a step of rubrics asks are added up, with all votes', async (t) => {
  const rows = [1, 3, 2].map((size, at) => ({
    prompt: `Question ${at}?`,
    ground_truth: Array.from({ length: size }, (_, one) => ({ text: `criterion ${one}` })),
  }))
  const judge = { model: 'm', backend: 'openai', instances: ['http://127.0.0.1:9'] }
  const models = { judge, large: judge }
  const counted = async (step: object) => {
    const steps = [{ name: 'rubric', function: 'rubric-judge', model: 'judge', ...step }]
    const { findings } = await look({ steps }, [...rows, { prompt: 'bad?', ground_truth: 'none' }], {
      models,
    })
    return findings.find(({ name }) => name === 'question-count')
  }
  t.match(await counted({}), { message: /^step rubric: at most 6 questions for one answer/, count: 3 })
  t.match(await counted({ votes: { n: 3 }, sampling: { temperature: 1 } }), {
    message: /at most 18 questions/,
  })
  t.match(await counted({ options: { ask: 'batch', batch: 2 } }), { message: /at most 4 questions/ })
  t.match(await counted({ function: 'rubric-judge-group' }), { message: /at most 6 questions for one group/ })
  t.equal(await counted({ function: 'yes-no-judge' }), undefined)
  const fewer = /ask: batch and ask: all ask fewer/
  t.match(await counted({}), { message: fewer })
  for (const step of [
    { options: { ask: 'all' } },
    { options: { ask: 'batch' } },
    { options: { mode: 'published', code: 'verifiers' } },
    { function: 'rubric-judge-group' },
    { function: 'rubric-decisions' },
  ])
    t.notMatch(JSON.stringify((await counted(step)) ?? {}), /ask: (?:each|batch|all)/, JSON.stringify(step))
  t.match(await counted({ function: 'rubric-decisions' }), { message: /at most 6 .*share requests/ })
  const escalate = { below: 0.8, model: 'large' }
  t.match(await counted({ function: 'rubric-decisions', escalate }), {
    message: /at most 12 questions for one answer to each of these rows, half of them to large/,
  })
})

t.test('a decision is shown as its model is asked it', async (t) => {
  const rows = [
    { prompt: 'Question?', ground_truth: [{ text: 'It is {kind}.', levels: ['no', 'so so', 'yes'] }] },
  ]
  const shown = async (wire: string) => {
    const models = { judge: { model: 'm', instances: ['http://127.0.0.1:9'], decide: { wire } } }
    const steps = [{ name: 'rubric', function: 'rubric-decisions', model: 'judge' }]
    const { questions, findings } = await look({ steps }, rows, { models })
    t.notOk(
      findings.some(({ name }) => name === 'template-placeholder'),
      'braces of a criterion are no placeholder',
    )
    return questions[0]?.text ?? ''
  }
  t.match(
    await shown('choose'),
    /\nCriterion: It is \{kind\}\.\nA: no\nB: so so\nC: yes\nAnswer with the letter/,
  )
  const worded = await shown('vllm')
  t.match(
    worded,
    /\n\[question, worded by the server: decide\.wire vllm\]\n.*\nCriterion: It is \{kind\}\.\n\[answers\]\nno\nso so\nyes$/,
  )
  t.notMatch(worded, 'letter')
})
