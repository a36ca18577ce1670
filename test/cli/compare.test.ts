import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSimulatedServer } from '../../src/simulator/index.ts'
import { runCommand } from '../support/command-line.ts'
import { completion, scriptedServer } from '../support/scripted-server.ts'

const rows = readFileSync('suites/data/arithmetic.jsonl', 'utf8').trim().split('\n')
const answers = Object.fromEntries(
  rows.map((line) => {
    const { prompt, reward_model } = JSON.parse(line)
    return [prompt[0].content, reward_model.ground_truth]
  }),
)

/** A policy with this share of right answers. */
const actor = async (t: Test, successRate: number, seed: string) => {
  const server = await startSimulatedServer({ model: 'actor', policy: 'solver', answers, successRate, seed })
  t.teardown(() => server.close())
  return server.url
}

t.test('two policies that a suite evaluated', async (t) => {
  const folder = t.testdir()
  const [base, trained] = [join(folder, 'base'), join(folder, 'trained')]
  for (const [output, rate] of [
    [base, 0.3],
    [trained, 0.6],
  ] as const) {
    const url = await actor(t, rate, output.slice(-4))
    const ran = await runCommand([
      ...['evaluate', '--suite', 'suites/arithmetic.yaml', '--config', 'rm-configs/gsm8k.yaml'],
      ...['--policy', url, '--output', output, '--runs', '2', '--limit', '24'],
    ])
    t.match(ran, { code: 0, stdout: /sums: arithmetic\/add .*all benchmarks/s, stderr: /sums-greedy/ })
  }
  const compare = (...more: string[]) => runCommand(['compare', base, trained, '--rounds', '400', ...more])
  const { parts, policies } = JSON.parse((await compare('--format', 'json')).stdout)
  const [whole] = parts

  t.test('are compared by benchmark, data source and as a whole', async (t) => {
    t.strictSame(policies, ['base', 'trained'])
    t.strictSame(
      parts.map(({ benchmark, source }: { benchmark: string; source: string }) => `${benchmark} ${source}`),
      [
        ...['sums null', 'sums arithmetic/add', 'sums arithmetic/subtract', 'sums arithmetic/multiply'],
        ...['sums-greedy null', 'sums-greedy arithmetic/add', 'sums-greedy arithmetic/subtract'],
        ...['sums-greedy arithmetic/multiply', 'null null'],
      ],
    )
    t.match(whole, { k: 8, policies: [{ prompts: 24, answers: 384, invalid: 0 }, {}] })
  })

  t.test('differ by an interval that holds the true gain, and not zero', async (t) => {
    const { value, interval } = whole.differences[0].figures.pass1
    t.ok(interval[0] <= 0.3 && 0.3 <= interval[1], `${interval} holds the true gain`)
    t.ok(interval[0] > 0 && value > interval[0] && value < interval[1])
  })

  t.test('have a deviation over their runs', async (t) => {
    t.ok(whole.policies[1].overRuns.pass1.deviation > 0)
  })

  t.test('are compared in a table that marks what is more than chance', async (t) => {
    t.match(await compare(), {
      code: 0,
      stderr: '',
      stdout: /trained - base.*pass@8.*maj@8.* \*.*leaves 0 outside/s,
    })
    t.match((await compare('--format', 'md')).stdout, /\| pass@8 \|.*\| \+\d\.\d+ .* \\\* \|/)
  })

  t.test('are compared in CSV, one figure of one policy a line', async (t) => {
    const csv = (await compare('--format', 'csv')).stdout.trim().split('\n')
    t.equal(csv[0]?.split(',').length, 16)
    t.match(csv[1], /^sums,,mean score,base,24,384,0,0\.\d+/)
  })

  t.test('are compared on a page that plots them and loads nothing', async (t) => {
    const page = join(folder, 'page.html')
    t.match(await compare('--format', 'html', '--output', page), { code: 0, stdout: '' })
    const html = readFileSync(page, 'utf8')
    t.match(html, /<h2>all benchmarks<\/h2>/)
    t.notMatch(html, /What stands out/)
    t.equal(html.match(/<svg /g)?.length, 6, 'three figures and their differences are plotted')
    t.match(html, /mean score: difference from base/)
    t.notMatch(html, /<script|(?:src|href)=|@import|url\(|NaN/)
  })

  t.test('are compared with the --k that is asked for', async (t) => {
    const one = await runCommand(['compare', join(base, 'sums.jsonl'), '--k', '4'])
    t.match(one, { code: 0, stdout: /pass@4/ })
  })
})

t.test('compare', async (t) => {
  const folder = t.testdir()
  const at = (name: string, lines: readonly object[]) => {
    writeFileSync(join(folder, name), lines.map((line) => JSON.stringify(line)).join('\n'))
    return join(folder, name)
  }
  const line = (row: number, source: string, reward: number, prompt = `p${row}`) => ({
    id: `${row}/0`,
    valid: true,
    reward,
    terms: { rule: { details: { extracted: '__proto__' } } },
    sample: { row, run: 0, draw: 0, data_source: source, prompt, response_length: 5 },
  })
  const nasty = '<script>alert(1)</script>|\u001b[31m,"=1'
  const base = at('base.jsonl', [line(0, nasty, 1), line(1, '=cmd', 0), line(2, '__proto__', 1)])

  t.test('writes hostile text of a file as text in every format', async (t) => {
    const other = at('other.jsonl', [line(0, nasty, 0), line(1, '=cmd', 1), line(2, '__proto__', 1)])
    for (const format of ['text', 'md', 'html', 'csv']) {
      const { code, stdout } = await runCommand(['compare', base, other, '--format', format])
      t.equal(code, 0)
      t.notOk(stdout.includes('\u001b['), `${format} sends no control characters`)
      if (format === 'html') t.notMatch(stdout, /<script|NaN/)
      if (format === 'csv') t.match(stdout, /,'=cmd,/)
    }
  })

  t.test('refuses files that cannot be compared', async (t) => {
    const [stranger, empty] = [at('stranger.jsonl', [line(0, 'a', 1, 'another')]), at('empty.jsonl', [])]
    for (const [argv, code, stderr] of [
      [[base, stranger], 2, /row 0 has different prompts/],
      [[base, empty], 2, /empty\.jsonl: has no rows/],
      [[base, at('no.jsonl', [{ a: 1 }])], 2, /line 1 is not a result/],
      [[base, folder], 2, /files only, or folders/],
      [[join(folder, 'none.jsonl')], 2, /none\.jsonl: does not exist/],
      [[], 2, /BASE is needed/],
    ] as const)
      t.match(await runCommand(['compare', ...argv]), { code, stderr }, argv.join(' '))
  })
})

const scored = (rewards: readonly (number | null)[], groupSize: number) =>
  rewards
    .map((reward, i) => ({
      id: `r${i}`,
      reward,
      valid: reward !== null,
      failure: null,
      terms: { judge: { status: 'scored', score: reward } },
      sample: { group_id: `g${Math.floor(i / groupSize)}` },
    }))
    .map((row) => JSON.stringify(row))
    .join('\n')

t.test('diff compares two scored files row by row and within groups', async (t) => {
  const folder = t.testdir({
    'a.jsonl': scored([1, 2, 3, 4, /**/ 1, 2, 3, 3, /**/ 5, 5, 5, null], 4),
    'b.jsonl': scored([1, 2, 4, 3, /**/ 3, 2, 1, 1, /**/ 5, 5, null, 5], 4),
    'c.jsonl': scored([1, 2], 4),
  })
  const [a, b, c] = ['a', 'b', 'c'].map((name) => join(folder, `${name}.jsonl`)) as [string, string, string]
  const ran = await runCommand(['diff', a, b, '--format', 'json'])
  const [found] = JSON.parse(ran.stdout)
  t.match(found, { rows: 12, changed: 7, gained: 1, lost: 1, groups: 3, bestChanged: 2 / 3 })
  // Calculated by hand: tau 2/3 and -1, rho 0.8 and -1. The third group has no ranks.
  t.ok(Math.abs(found.kendall - (2 / 3 - 1) / 2) < 1e-12)
  t.ok(Math.abs(found.spearman - (0.8 - 1) / 2) < 1e-12)
  t.strictSame(found.moved.slice(0, 2), [
    { id: 'r4', a: 1, b: 3, response: null },
    { id: 'r6', a: 3, b: 1, response: null },
  ])
  t.match((await runCommand(['diff', a, b])).stdout, /66\.67 %[\s\S]*moved most.*B - A\n/)
  t.match(await runCommand(['diff', a, c]), { code: 2, stderr: /row 2: .* has the row 'r2', .* has no row/ })
  t.match(await runCommand(['diff', a]), { code: 2, stderr: /two files/ })
})

t.test('diff runs two rewards on the same rows and compares them', async (t) => {
  const folder = t.testdir({
    'strict.yaml': 'steps: [{ name: rule, function: gsm8k-stock }]',
    'kind.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]',
    'rows.jsonl': ['so\n#### 4', 'so\n#### 5', 'none']
      .map((response, i) =>
        JSON.stringify({ id: `${i}`, group_id: 'g', prompt: '2 + 2?', response, ground_truth: '4' }),
      )
      .join('\n'),
  })
  const at = (name: string) => join(folder, name)
  const ran = await runCommand([
    'diff',
    at('strict.yaml'),
    at('kind.yaml'),
    '--input',
    at('rows.jsonl'),
    '--format',
    'json',
  ])
  t.match(JSON.parse(ran.stdout), [
    {
      b: at('kind.yaml'),
      rows: 3,
      changed: 1,
      bestChanged: 0,
      moved: [{ id: '1', a: 0, b: 0.1, response: 'so #### 5' }],
    },
  ])
  t.match(await runCommand(['diff', at('strict.yaml'), at('kind.yaml')]), { code: 2, stderr: /--input/ })
  const input = at('holes.jsonl')
  writeFileSync(input, `${readFileSync(at('rows.jsonl'), 'utf8')}\n{"id":"x"}`)
  const told = await runCommand(['diff', at('strict.yaml'), at('kind.yaml'), '--input', input])
  t.match(told, { code: 0 })
  for (const side of ['strict.yaml', 'kind.yaml']) {
    t.ok(told.stderr.includes(`${at(side)}: 1 of 4 rows has no reward:`), 'which side has none is said (M32)')
    t.match(told.stderr, new RegExp(`${side}: 4 rows, 1 invalid, mean `))
  }
})

t.test('diff shows the beginning of the responses that moved, on one line', async (t) => {
  const row = (reward: number, response: unknown) =>
    JSON.stringify({ id: 'r', reward, valid: true, failure: null, terms: {}, sample: { response } })
  const hidden = { sha256: '00', chars: 3 }
  const long = `\n  First\u001b[2J\u202e line,\n\tthen ${'more '.repeat(20)}`
  const folder = t.testdir({
    'a.jsonl': row(0, hidden),
    'b.jsonl': row(1, hidden),
    'c.jsonl': row(1, long),
  })
  const at = (name: string) => join(folder, name)
  t.notMatch((await runCommand(['diff', at('a.jsonl'), at('b.jsonl')])).stdout, /B - A {2}response/)
  const { stdout } = await runCommand(['diff', at('a.jsonl'), at('b.jsonl'), at('c.jsonl')])
  const [head, , b, c] = stdout.slice(stdout.indexOf('moved most')).split('\n')
  t.match(head, / response$/)
  t.match(b, / {2}-$/)
  const start = 'First [2J line, then more more more more more more more more more'
  t.ok(c?.endsWith(`  ${[...start].slice(0, 60).join('')}…`), stdout)
})

t.test("calibrate compares a judge with people's labels at every threshold", async (t) => {
  const labels = [true, true, false, false, true, null].map((label, i) => ({
    id: `r${i}`,
    extra_info: { label },
  }))
  const folder = t.testdir({
    'scored.jsonl': scored([0.9, 0.4, 0.6, 0.1, null, 0.3], 9),
    'labels.jsonl': labels.map((row) => JSON.stringify(row)).join('\n'),
  })
  const [file, people] = [join(folder, 'scored.jsonl'), join(folder, 'labels.jsonl')]
  const argv = ['calibrate', file, '--labels', people, '--label', 'extra_info.label']
  const { stdout } = await runCommand([...argv, '--format', 'json', '--term', 'judge'])
  t.match(JSON.parse(stdout), {
    rows: 5,
    unscored: 1,
    at: {
      threshold: 0.5,
      confusion: { truePositive: 1, falsePositive: 1, trueNegative: 1, falseNegative: 1 },
      accuracy: 0.5,
      f1: 0.5,
      kappa: 0,
    },
    sweep: { length: 4 },
    best: { threshold: 0.4, accuracy: 0.75, kappa: 0.5 },
  })
  t.match((await runCommand(argv)).stdout, /5 labelled rows, 1 of them without/)
  t.match(await runCommand([...argv.slice(0, -1), 'extra_info.mark']), {
    code: 2,
    stderr: /'extra_info\.mark'/,
  })
  t.match(await runCommand(['calibrate', file]), { code: 2 })
  writeFileSync(people, JSON.stringify({ id: 'other', extra_info: { label: true } }))
  t.match(await runCommand(argv), { code: 2, stderr: /no row has both a score and an id/ })
})

/** Ten labelled rows; the small judge is unsure of the two that it gets wrong, the large one errs once. */
const labelledTen = (t: Test) => {
  const label = (i: number) => i % 2 === 0
  const small = [0.9, 0.1, 0.95, 0.05, 0.4, 0.6, 0.9, 0.1, 0.95, 0.05]
  const large = [1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
  const folder = t.testdir({
    'small.jsonl': scored(small, 10),
    'large.jsonl': scored(large, 10),
    'labels.jsonl': small
      .map((_score, i) =>
        JSON.stringify({
          id: `r${i}`,
          prompt: 'q',
          response: `answer ${i}`,
          extra_info: { label: label(i) },
        }),
      )
      .join('\n'),
  })
  const [smallFile, largeFile, people] = ['small.jsonl', 'large.jsonl', 'labels.jsonl'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  return { folder, smallFile, largeFile, people, argv: ['--labels', people, '--label', 'extra_info.label'] }
}

t.test('calibrate compares judges, and says where a cascade pays', async (t) => {
  const { folder, smallFile, largeFile, argv } = labelledTen(t)
  const ran = await runCommand([
    'calibrate',
    largeFile,
    smallFile,
    ...argv,
    '--prices',
    '10,1',
    '--format',
    'json',
  ])
  const found = JSON.parse(ran.stdout)
  t.match(found, {
    rows: 10,
    common: 10,
    isByTokens: false,
    judges: [
      { name: 'large', accuracy: 0.9, tokens: null, cost: 10, unscored: 0 },
      { name: 'small', accuracy: 0.8, cost: 1 },
    ],
    cascades: [{ first: 'small', second: 'large', advice: 'cascade' }],
  })
  const [agreement] = found.agreements
  const near = (value: number, wanted: number) =>
    t.ok(Math.abs(value - wanted) < 1e-9, `${value} is ${wanted}`)
  for (const [value, wanted] of [
    [agreement.same, 0.7],
    [agreement.onlyFirstRight, 0.2],
    [agreement.onlySecondRight, 0.1],
    [agreement.bothWrong, 0],
  ])
    near(value, wanted)
  const { best, points } = found.cascades[0]
  t.match(best, { below: 0.9, escalated: 0.2, accuracy: 1, cost: 3 }, 'the two doubtful rows are asked again')
  t.strictSame(
    points.map(({ below }: { below: number }) => below),
    [0.9, 0.95],
  )
  near(points[1].escalated, 0.6)
  near(points[1].accuracy, 1)
  const { stdout } = await runCommand(['calibrate', smallFile, largeFile, ...argv, '--prices', '1,10'])
  t.match(stdout, /small, large .* pays: as accurate as large alone at 30\.00 % of its cost; only 10 rows/)
  const page = join(folder, 'judges.html')
  t.match(await runCommand(['calibrate', smallFile, largeFile, ...argv, '--output', page]), { code: 0 })
  t.match(readFileSync(page, 'utf8'), /<svg[\s\S]*Agreement of judges/)
  const whole = ['report', smallFile, largeFile, ...argv, '--prices', '1,10', '--format', 'md']
  t.match((await runCommand(whole)).stdout, /## By data source[\s\S]*## Cascades[\s\S]*pays: as accurate as/)
  t.match(await runCommand(['report', smallFile, ...argv]), { code: 2, stderr: /two or more scored files/ })
})

t.test('calibrate takes a cascade for worthless if it is, and says why', async (t) => {
  const { folder, smallFile, largeFile, argv } = labelledTen(t)
  const advice = async (...given: string[]) => {
    const ran = await runCommand(['calibrate', ...given, ...argv, '--format', 'json'])
    return JSON.parse(ran.stdout).cascades[0].advice
  }
  t.equal(await advice(largeFile, smallFile), 'first', 'the large judge is as cheap')
  t.equal(await advice(smallFile, largeFile, '--prices', '9,10'), 'second', 'the small one is too dear')
  t.equal(await advice(smallFile, largeFile, '--confidence', 'details.none'), 'unsure')
  const lines = readFileSync(smallFile, 'utf8')
  const told = join(folder, 'told.jsonl')
  const withDetails = (line: string, at: number) => {
    const row = JSON.parse(line)
    return JSON.stringify({
      ...row,
      terms: { judge: { ...row.terms.judge, details: { confidence: at / 10 } } },
    })
  }
  writeFileSync(told, lines.split('\n').map(withDetails).join('\n'))
  const ran = await runCommand(['calibrate', told, largeFile, ...argv, '--format', 'json'])
  const bounds = JSON.parse(ran.stdout).cascades[0].points.map(({ below }: { below: number }) => below)
  t.strictSame(
    bounds,
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    'what a judge says of its confidence counts',
  )
  for (const [name, text] of [
    ['list.json', `[${lines.replaceAll('\n', ',')}]`],
    ['lines.json', lines],
  ] as const) {
    writeFileSync(join(folder, name), text)
    t.equal(
      await advice(join(folder, name), largeFile, '--prices', '9,10'),
      'second',
      `${name} holds scored rows`,
    )
  }
  const mistakes: [string[], RegExp][] = [
    [[smallFile, largeFile, '--prices', '1'], /--prices has 1 numbers for 2 judges: small, large/],
    [[smallFile, largeFile, '--prices', '1,x'], /--prices: /],
    [[smallFile, largeFile, '--prices', '0,0'], /are all 0/],
    [[smallFile, '--format', 'html'], /compares several judges/],
    [[smallFile, '--term', 'judge', '--term', 'other'], /other: no row has both a score and an id/],
  ]
  for (const [given, message] of mistakes)
    t.match(await runCommand(['calibrate', ...given, ...argv]), { code: 2, stderr: message }, given.join(' '))
})

t.test('calibrate asks the judges of configs about the labelled rows, and counts their tokens', async (t) => {
  const { folder, argv } = labelledTen(t)
  const judge = await scriptedServer(
    (seen) => {
      const [{ content }] = seen.body.messages
      const at = Number(/answer (\d)/.exec(content)?.[1])
      return completion(seen, String(Number(at % 2 === 0 && (seen.body.model === 'large' || at !== 4))))
    },
    ['small', 'large'],
  )
  t.teardown(() => judge.kill())
  const configs = ['small', 'large'].map((name) => {
    const path = join(folder, `${name}.yaml`)
    const model = { model: name, instances: [judge.url] }
    const steps = [{ name: 's', function: 'yes-no-judge', model: name }]
    writeFileSync(path, JSON.stringify({ models: { [name]: model }, steps }))
    return path
  })
  const { stdout, code } = await runCommand(['calibrate', ...configs, ...argv, '--format', 'json'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    isByTokens: true,
    judges: [
      { name: 'small', accuracy: 0.9, tokens: 9, cost: 9 },
      { name: 'large', accuracy: 1, tokens: 9, cost: 9 },
    ],
    cascades: [{ advice: 'unsure' }],
  })
  const asked = judge.seen.length
  const wrong = join(folder, 'wrong.yaml')
  writeFileSync(wrong, 'steps: [{ name: s, function: yes-no-jugde, model: small }]')
  const given = (field: string) => [...argv.slice(0, argv.indexOf('--label')), '--label', field]
  const mistakes: readonly (readonly [string[], RegExp])[] = [
    [[...configs, ...given('extra_info.labels')], /no row has true, false, 1 or 0 at 'extra_info\.labels'/],
    [[...configs, ...argv, '--term', 'ss'], /has no step 'ss'; did you mean 's'\? \(it has s\)/],
    [[...configs, ...argv, '--prices', '1'], /--prices has 1 numbers for 2 judges/],
    [[configs[0] as string, ...argv, '--format', 'html'], /compares several judges/],
    [[configs[0] as string, wrong, ...argv], /yes-no-jugde/],
  ]
  for (const [arguments_, message] of mistakes)
    t.match(await runCommand(['calibrate', ...arguments_]), { code: 2, stderr: message }, String(message))
  t.equal(judge.seen.length, asked, 'a mistake costs no call')
})

t.test('compare lists the benchmarks of a folder in the order of their suite', async (t) => {
  const line = JSON.stringify({ id: '0/0', reward: 1, valid: true, terms: {}, sample: { row: 0 } })
  const folder = t.testdir({
    'last.jsonl': line,
    'last.jsonl.run.json': JSON.stringify({ benchmark: 'last', place: '1' }),
    'zero.jsonl': line,
    'zero.jsonl.run.json': JSON.stringify({ benchmark: 'zero', place: '0' }),
  })
  const { parts } = JSON.parse((await runCommand(['compare', folder, '--format', 'json'])).stdout)
  t.strictSame(
    parts.map(({ benchmark }: { benchmark: string | null }) => benchmark),
    ['zero', 'last', null],
  )
  t.match(await runCommand(['compare', folder, '--output', join(folder, 'none', 'out.md')]), {
    code: 2,
    stderr: /^RG_INPUT_INVALID: .*out\.md: cannot be written: its folder does not exist/,
  })
})
