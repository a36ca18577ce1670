import { readFileSync } from 'node:fs'
import t from 'tap'
import { findingKinds } from '../../src/preflight/finding.ts'
import { familyConfig, namedFindings, openLook, type Row, trainingRows } from '../support/preflight.ts'

t.test('rows are looked at through the rules of their reward', async (t) => {
  const look = await openLook(t)

  for (const name of ['gsm8k', 'countdown', 'tool-call', 'npg-muse']) {
    await t.test(`${name}: nothing is found in 200 clean rows`, async (t) => {
      const report = await look(familyConfig(name), trainingRows(name, 200))
      t.strictSame(report.findings, [])
      t.equal(report.rows, 200)
      for (const levels of Object.values(report.levels)) t.equal(levels.length, 1, JSON.stringify(levels))
    })
  }

  await t.test('every planted fault is named with its row', async (t) => {
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

  await t.test('right answers may stand in another column', async (t) => {
    const rows = trainingRows('gsm8k', 3).map(({ extra_info, ...row }) => ({
      ...row,
      extra_info: { solution: (extra_info as Row).answer },
    }))
    const reward = familyConfig('gsm8k')
    t.strictSame(namedFindings(await look(reward, rows, { goldPath: 'extra_info.solution' })), [])
    t.strictSame(namedFindings(await look(reward, rows)), ['no-gold '])
  })

  await t.test('labels and sources that a rule cannot use are named as the rule says it', async (t) => {
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

  await t.test('a reward that pays any answer with a marker is seen to do so', async (t) => {
    const rows = trainingRows('gsm8k', 3).map(({ extra_info: extra, ...row }) => ({
      ...row,
      extra_info: { ...(extra as Row), near_miss: null },
    }))
    const steps = [{ name: 'rule', function: 'regex-match', options: { pattern: '(?s).*#### .*' } }]
    t.strictSame(namedFindings(await look({ steps }, rows)), ['made-near-miss-paid 1 2 3'])
  })

  await t.test('an empty file, and columns of no use, are no crash', async (t) => {
    t.match(namedFindings(await look(familyConfig('gsm8k'), [])), ['missing-column '])
    t.match(namedFindings(await look(familyConfig('gsm8k'), ['5', '[]', '{"a": 1}'])), [/^unreadable-row/])
  })

  await t.test('every kind of finding is explained', async (t) => {
    const page = readFileSync('docs/prepare.md', 'utf8')
    for (const [name, { severity }] of Object.entries(findingKinds))
      t.match(page, new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\| ${severity} \\|`, 'm'), name)
  })
})
