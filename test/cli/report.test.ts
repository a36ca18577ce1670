import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageVersion } from '../../src/core/package-version.ts'
import { pngOf } from '../../src/workbench/report/write.ts'
import { runCommand } from '../support/command-line.ts'

const hostile = '</text></svg><script>alert(1)</script><img src="http://x/y">\u202e\u001b[31m | `a`'

/** Two answers to each of 30 prompts over three training steps, with hostile names and questions. */
const rows = Array.from({ length: 60 }, (_, at) => ({
  id: `${at}`,
  reward: at % 7 === 3 ? null : at % 2,
  valid: at % 7 !== 3,
  failure: at % 7 === 3 ? { kind: 'judge_timeout' } : null,
  terms: {
    rule: { status: 'scored', score: at % 2 },
    [hostile]: { status: 'scored', score: at / 60 },
  },
  training_step: (at >> 1) % 3,
  sample: { data_source: hostile, group_id: `${hostile}${at >> 1}`, response_length: at, prompt: hostile },
}))

const log = Array.from(
  { length: 40 },
  (_, step) => `step:${step} - critic/score/mean:${step / 40} - val/<b>/test_score:${step / 50}`,
)

const active = /^<(?:script|img|iframe|object|embed|link|use|image|a)\b|\son[a-z]+=|\s(?:src|[a-z:]*href)=/i

t.test('the HTML report has all figures, and text of a row is never executed', async (t) => {
  const folder = t.testdir()
  const files = [join(folder, 'a<b>&.jsonl'), join(folder, 'b.jsonl'), join(folder, 'c.log')]
  for (const file of files.slice(0, 2)) writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  writeFileSync(join(folder, 'c.log'), log.join('\n'))
  const output = join(folder, 'report.html')
  t.match(await runCommand(['report', ...files, '--output', output, '--title', hostile]), {
    code: 0,
    stderr: '',
  })
  const page = readFileSync(output, 'utf8')
  t.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt;'))
  t.ok(page.includes("default-src 'none'; style-src 'unsafe-inline'"))
  const known =
    /^<(?:html|head|meta|title|style|body|main|h[12]|p|code|div|figure|figcaption|table|thead|tbody|tr|th|td|svg|g|path|rect|text|tspan|defs|clipPath|linearGradient|stop|line|circle|polygon|polyline)\b/
  t.strictSame(
    (page.match(/<[a-z][^>]*>/gi) ?? []).filter((tag) => !known.test(tag)),
    [],
    'tags of HTML and SVG',
  )
  t.equal(page.match(/<svg/g)?.length, 10)
  for (const part of [
    'Best answer of each group',
    'Mean reward by training step',
    'Validations',
    'judge_timeout',
  ])
    t.ok(page.includes(part), part)
  const tags = page.match(/<[a-z][^>]*>/gi) ?? []
  const doing = tags.filter((tag) => {
    const names = tag.replace(/"[^"]*"/g, '""')
    const values = tag.replace(/(?:xmlns(?::\w+)?|aria-label)="[^"]*"/g, '')
    return active.test(names) || /https?:|url\((?!#)/.test(values)
  })
  t.strictSame(doing, [])
  t.notMatch(page, /@import|\u202e|(?!\n)\p{Cc}/u)
})

t.test('a report', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'a.jsonl')
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  const report = async (t: Test, ...argv: string[]) => {
    const ran = await runCommand(['report', file, ...argv])
    t.match(ran, { code: 0, stderr: '' })
    return ran.stdout
  }

  t.test('is written as tables, in which text of a row stays text', async (t) => {
    const table = await report(t, '--format', 'md')
    t.match(table, /\| data source \| rows \|/)
    t.notMatch(table, /<script|<img|:\/\/x|\u202e/)
  })

  t.test('is written as JSON', async (t) => {
    t.match(JSON.parse(await report(t, '--format', 'json')), {
      sources: [{ rows: 60, valid: 51 }],
      logs: { length: 0 },
    })
  })

  t.test('is plotted as SVG, in which text of a row stays text', async (t) => {
    await report(t, '--output', join(folder, 'a.svg'))
    const svg = readFileSync(join(folder, 'a.svg'), 'utf8')
    t.match(svg, /^<svg [^>]*width="1400"/)
    t.notMatch(svg, /<script|<img/)
  })

  t.test('is plotted as PNG, half as wide again', async (t) => {
    await report(t, '--output', join(folder, 'a.png'))
    const png = readFileSync(join(folder, 'a.png'))
    t.equal(png.subarray(1, 4).toString(), 'PNG')
    t.equal(png.readUInt32BE(16), 2100)
  })
})

t.test(
  'the head of a report says when and by what it was written, and which records and rewards it read',
  async (t) => {
    const folder = t.testdir({ 'rows.jsonl': '{"response":"so\\n#### 42","ground_truth":"42"}' })
    const [record, log] = [join(folder, 'record.jsonl'), join(folder, 'run.log')]
    const of = (version: string) => ({ reward: 'math', version, gateway: '0.0.9' })
    const lines = [
      { ...rows[0], time: '2026-01-15T09:41:59.123Z', run: 'a', config: of('0123456789abcdef') },
      { ...rows[1], time: '2026-01-15T09:30:00.000Z', run: 'b', config: of('fedcba9876543210') },
    ]
    writeFileSync(record, lines.map((line) => JSON.stringify(line)).join('\n'))
    writeFileSync(log, 'step:1 - critic/score/mean:0.5')
    const scored: string[] = []
    for (const name of ['scored.jsonl', 'scored.parquet']) {
      const output = join(folder, name)
      scored.push(output)
      const input = ['--function', 'gsm8k-progressive', '--input', join(folder, 'rows.jsonl')]
      t.match(await runCommand(['score', ...input, '--output', output, '--keep', 'facts']), { code: 0 })
    }
    const { stdout } = await runCommand(['report', record, ...scored, log, '--format', 'md'])
    const [title, , written, , ...files] = stdout.split('\n')
    t.equal(title, '# Rewards')
    t.match(
      written,
      new RegExp(`^Written \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC by reward-gateway ${packageVersion}\\.$`),
    )
    const named =
      'math 0123456789abcdef of reward-gateway 0.0.9, math fedcba9876543210 of reward-gateway 0.0.9'
    const span = 'scored 2026-01-15 09:30 UTC to 2026-01-15 09:41 UTC'
    t.equal(files[0], `- ${record}, 2 rows, ${span}, runs a, b, rewards ${named}`.replaceAll('_', '\\_'))
    const version = new RegExp(
      `, 1 row, reward gsm8k-progressive [0-9a-f]{16} of reward-gateway ${packageVersion}$`,
    )
    for (const at of [1, 2]) t.match(files[at], version)
    t.match(files[3], /run\.log$/)
    const { stdout: page } = await runCommand(['report', record])
    t.match(
      page,
      /<p>Written [^<]* by reward-gateway [^<]*<\/p>\n<p>[^<]*record\.jsonl, 2 rows, scored 2026-01-15 09:30 UTC/,
    )
  },
)

t.test('a PNG plot shows its text without system fonts', async (t) => {
  const picture = (text: string) =>
    pngOf(`<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><text y="20">${text}</text></svg>`)
  const [none, latin, cyrillic] = await Promise.all([picture(''), picture('0.5 reward'), picture('и σ')])
  t.ok(latin.length > none.length + 100)
  t.ok(cyrillic.length > none.length + 100)
})

t.test('a report works with one row, one value, or a log without validations', async (t) => {
  const folder = t.testdir()
  const [one, short] = [join(folder, 'one.jsonl'), join(folder, 'short.log')]
  writeFileSync(one, JSON.stringify({ ...rows[1], terms: {}, training_step: null, sample: undefined }))
  writeFileSync(short, 'step:1 - actor/grad_norm:nan - critic/score/mean:1e-05')
  const ran = await runCommand(['report', one, short])
  t.match(ran, { code: 0, stderr: '' })
  t.match(ran.stdout, /Reward: distribution/)
  t.notMatch(ran.stdout, /NaN|undefined|Infinity/)
})

t.test('report names each input that it cannot use', async (t) => {
  const folder = t.testdir({ 'empty.jsonl': '', 'one.jsonl': JSON.stringify(rows[1]) })
  const cases: [string[], number, RegExp][] = [
    [[], 2, /a scored file or a training log is needed/],
    [[join(folder, 'empty.jsonl')], 2, /it has no rows/],
    [[join(folder, 'none.jsonl')], 2, /none\.jsonl/],
    [[join(folder, 'one.jsonl'), '--format', 'pdf'], 2, /--format: must be one of html, .*not 'pdf'/],
    [[join(folder, 'one.jsonl'), '--output', join(folder, 'no', 'r.html')], 2, /cannot be written/],
  ]
  for (const [argv, code, stderr] of cases) t.match(await runCommand(['report', ...argv]), { code, stderr })
})

t.test('ECharts is loaded only for plots', async (t) => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const loading = sources.filter((file) =>
    /^import (?!type)[^\n]*'(?:echarts|@resvg)/m.test(readFileSync(join('src', file), 'utf8')),
  )
  t.ok(sources.length > 100, `${sources.length} files`)
  t.strictSame(loading, [])
})

t.test('a report says what the last reward of each step waited for', async (t) => {
  const folder = t.testdir()
  const [row] = rows
  const at = (second: number, ...spent: readonly (readonly [string, number])[]) => ({
    ...row,
    run: 'one',
    arrived: new Date(1_800_000_000_000 + second * 1000).toISOString(),
    spent: spent.map(([cause, s]) => ({ cause, ...(cause === 'line' && { model: 'judge' }), ms: s * 1000 })),
  })
  const file = join(folder, 'records.jsonl')
  const lines = [
    { ...at(0, ['line', 60], ['answer', 5]), training_step: 1 },
    { ...at(50, ['rule', 1]), training_step: 1 },
    { ...at(200, ['gateway', 2], ['line', 8]), training_step: 2 },
    { ...at(201, ['line', 300]), training_step: 2, failure: { kind: 'cancelled' } },
    { ...row, training_step: 3 },
  ]
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
  const { stdout } = await runCommand(['report', file, '--format', 'json'])
  const { stalls } = JSON.parse(stdout)
  t.strictSame(stalls, [
    {
      file: 0,
      run: 'one',
      rows: 2,
      step: 1,
      ms: 15_000,
      shares: [
        { cause: 'line', model: 'judge', ms: 10_000 },
        { cause: 'answer', model: '', ms: 5000 },
      ],
    },
    {
      file: 0,
      run: 'one',
      rows: 1,
      step: 2,
      ms: 10_000,
      shares: [
        { cause: 'line', model: 'judge', ms: 8000 },
        { cause: 'gateway', model: '', ms: 2000 },
      ],
    },
  ])
  const table = await runCommand(['report', file, '--format', 'md'])
  t.match(
    table.stdout,
    /What the last reward of a step waited for\n[\s\S]*\| one \| line \| judge \| 2 \| 18\.0 \| 72\.00 % \| 10\.0 \| 1 \|/,
  )
})

t.test('a judge that says the same of every answer it was asked about stands out (M43)', async (t) => {
  const file = join(t.testdir(), 'scored.jsonl')
  const lineOf = (at: number): string => {
    // The guard answers empty responses in place of the judge.
    const isRefused = at % 10 === 0
    const judge = { status: 'scored', score: isRefused ? 0 : 1, flags: isRefused ? ['refused'] : [] }
    const rule = { status: 'scored', score: at % 2, flags: [] }
    return JSON.stringify({ id: `${at}`, reward: at % 2, valid: true, terms: { rule, judge }, sample: {} })
  }
  const standing = async (rows: number): Promise<string> => {
    writeFileSync(file, Array.from({ length: rows }, (_, at) => lineOf(at)).join('\n'))
    const { stdout } = await runCommand(['report', file, '--format', 'md'])
    return stdout
  }
  t.match(
    await standing(120),
    /: judge \| sd of a term \| 0: each of 108 scores is 1\.0000 \| a constant score/,
  )
  t.notMatch(await standing(105), /sd of a term/, '94 verdicts are too few')
})
