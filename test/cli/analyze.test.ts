import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'
import { outcomesOf, sampleOf, testGateway, testModel } from '../support/gateway.ts'

const scored = (id: string, group: string | null, reward: number | null, judge: number, length: number) => ({
  id,
  reward,
  valid: reward !== null,
  failure: reward === null ? { kind: 'judge_timeout' } : null,
  substitute: null,
  terms: {
    rule: { status: 'scored', score: reward ?? 0 },
    'a "judge"': reward === null ? { status: 'failed', score: null } : { status: 'scored', score: judge },
  },
  metrics: {},
  flags: [],
  sample: { data_source: 'sums', group_id: group, response_length: length },
})
const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n')

t.test('analyze shows figures of scored files by data source, group and term', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'a [1].jsonl')
  const rows = [
    scored('1', 'g', 1, 0.9, 10),
    scored('2', 'g', 0, 0.1, 20),
    scored('3', 'h', 1, 0.8, 10),
    scored('4', 'h', 1, 0.8, 10),
    scored('5', null, null, 0, 50),
  ]
  writeFileSync(file, lines(rows))
  const ran = await runCommand(['analyze', file, '--format', 'json'])
  t.match(JSON.parse(ran.stdout), {
    sources: [
      {
        source: 'sums',
        rows: 5,
        valid: 4,
        accuracy: 0.75,
        mean: 0.75,
        variance: /^0\.1875/,
        lengthCorrelation: /^-(?:1|0\.9999)/,
        groups: {
          count: 2,
          variance: 0.125,
          entropy: 0.5,
          saturated: 0.5,
          highValue: 1,
          passAtK: { 1: 0.75, 2: 1 },
        },
      },
    ],
    terms: [
      { name: 'rule', scored: 5, histogram: { 0: 2, 19: 3 }, range: [0, 1] },
      { name: 'a "judge"', scored: 4, failed: 1, min: 0.1, max: 0.9 },
    ],
    agreements: [{ terms: ['rule', 'a "judge"'], rows: 4 }],
    failures: [{ kind: 'judge_timeout', rows: 1 }],
    solved: [{ groups: 2, answers: [2, 2], mean: 0.75, passAtN: 1, zero: 0 }],
    rewards: [{ name: 'reward', scored: 4, failed: 1 }],
    lengths: [{ shortest: 10 }, { rows: 1 }, { rows: 1 }, { longest: 20 }],
    shares: [{ groups: { 0: 0, 6: 1, 11: 1 } }],
    highValue: [{ group_id: 'g', question: null, success_count: 1, total_count: 2 }],
    readings: [{ figure: 'valid', value: '20.00% invalid' }],
  })
  const text = await runCommand(['analyze', file, file])
  t.match(text.stdout, /75\.00 %/)
  t.match(text.stdout, /judge_timeout/)
  const output = join(folder, 'high.jsonl')
  t.match(await runCommand(['analyze', file, '--select', 'high-value', '--output', output]), { code: 0 })
  t.match(JSON.parse(readFileSync(output, 'utf8')), { group_id: 'g', reward_var: 0.25, entropy: 1 })
})

t.test(
  'analyze warns about a constant term, and its variance has the same unit as the monitors (M42, M43)',
  async (t) => {
    const folder = t.testdir()
    const file = join(folder, 'wide.jsonl')
    // A reward from -1 to 2 with both ends in each group, and a judge with a constant verdict.
    const rows = Array.from({ length: 120 }, (_, index) =>
      scored(`${index}`, `g${index >> 1}`, index % 2 ? 2 : -1, 0.7, 10),
    )
    writeFileSync(file, lines(rows))
    const { stdout } = await runCommand(['analyze', file])
    t.match(stdout, /a "judge".*each of 120 scores is 0\.7/)
    t.match(stdout, /group variance/)
    t.notMatch(stdout, /within var/)
    const { sources } = JSON.parse((await runCommand(['analyze', file, '--format', 'json'])).stdout)
    t.equal(sources[0].groups.variance, 0.25)
    t.equal(sources[0].groups.entropy, 1)
    writeFileSync(file, lines(rows.slice(0, 90)))
    t.notMatch((await runCommand(['analyze', file])).stdout, /each of/, 'few scores may be equal by chance')
  },
)

t.test(
  'figures of one name have one unit in all tables, and no mean of rewards is a share above 100 %',
  async (t) => {
    const file = join(t.testdir(), 'above-one.jsonl')
    const rows = [1.5, 0.6, 1.5, 0.6, 1.5, 1.5].map((reward, at) =>
      scored(`${at}`, `g${at >> 1}`, reward, 0.7, 10),
    )
    writeFileSync(file, lines(rows))
    const { stdout } = await runCommand(['analyze', file])
    const tables = stdout.split(/\n(?=[A-Z][^\n]*\n(?:data source|group|term))/)
    const cells = (title: string) => {
      const [head = '', , row = ''] =
        tables
          .find((text) => text.startsWith(title))
          ?.split('\n')
          .slice(1) ?? []
      const split = (line: string) => line.trim().split(/ {2,}/)
      return Object.fromEntries(split(head).map((name, at) => [name, split(row)[at]]))
    }
    t.match(cells('By data source'), {
      mean: '1.2000',
      sd: '0.4243',
      'group variance': '0.0600',
      entropy: '0.5875',
    })
    t.match(cells('Best answer of each group'), {
      mean: '1.2000',
      'pass@n': '100.00 %',
      'all zero': '0',
      others: '3',
    })
    t.match(cells('Worth training on'), { 'group variance': '0.090', entropy: '0.881' })
    for (const [, share] of stdout.matchAll(/([\d.]+) %/g)) t.ok(Number(share) <= 100, `${share} %`)
    for (const name of [/(?<!group )variance {2}/, /mean score/]) t.notMatch(stdout, name)
  },
)

t.test('analyze reads the records of a gateway', async (t) => {
  const folder = t.testdir()
  const record = (id: string, reward: number) => ({
    id: `r:${id}`,
    config: { reward: 'x' },
    run: '',
    training_step: 4,
    sample: { id, data_source: null, group: 'g', response: { sha256: 'x', chars: 7 * reward } },
    reward,
    valid: true,
    failure: null,
    terms: [{ name: 'rule', status: 'scored', score: reward }],
  })
  writeFileSync(join(folder, 'r.jsonl'), lines([record('a', 1), record('b', 0)]))
  const ran = await runCommand(['analyze', join(folder, 'r.jsonl'), '--format', 'json', '--solved-at', '0.5'])
  t.match(JSON.parse(ran.stdout), {
    solvedAt: 0.5,
    steps: [{ step: 4, rows: 2, accuracy: 0.5, within: 0.25 }],
    sources: [{ source: '', rows: 2, lengthCorrelation: 1, groups: { count: 1 } }],
    terms: [{ name: 'rule', scored: 2 }],
  })
})

t.test('analyze and report say below the table what accuracy means', async (t) => {
  const folder = t.testdir({
    'a.jsonl': lines([scored('1', 'g', 11, 0.9, 10), scored('2', 'g', 2, 0.1, 20)]),
  })
  const meant = (least: string) =>
    `accuracy: share of valid rows with a reward of at least ${least} (--solved-at)`
  const file = join(folder, 'a.jsonl')
  t.ok((await runCommand(['analyze', file])).stdout.includes(`\n${meant('1')}\n`))
  t.ok((await runCommand(['analyze', file, '--solved-at', '10.5'])).stdout.includes(`\n${meant('10.5')}\n`))
  for (const output of [join(folder, 'report.md'), join(folder, 'report.html')]) {
    t.match(await runCommand(['report', file, '--solved-at', '11', '--output', output]), { code: 0 })
    t.ok(readFileSync(output, 'utf8').includes(meant('11')), output)
  }
})

t.test('analyze summarizes a training log with its validations', async (t) => {
  const folder = t.testdir()
  const log = join(folder, 'train.log')
  writeFileSync(
    log,
    'step:0 - val/openai/gsm8k/test_score:0.5\nstep:2 - val/openai/gsm8k/test_score:0.6 - actor/grad_norm:11',
  )
  const ran = await runCommand(['analyze', '--log', log])
  for (const part of [/gain_percent +20\.00/, /warn_clip +true/, /Step 0002: 0\.6000/])
    t.match(ran.stdout, part)
})

t.test(
  '--select writes the groups without a solved answer, and the best answers, with their texts',
  async (t) => {
    const folder = t.testdir()
    const [file, output] = [join(folder, 'a.jsonl'), join(folder, 'out.jsonl')]
    const row = (id: string, group: string, reward: number, response: string) => {
      const whole = scored(id, group, reward, 0, 1)
      return {
        ...whole,
        sample: { ...whole.sample, prompt: `of ${group}`, response, ground_truth: { target: 7 } },
      }
    }
    const rows = [
      row('1', 'g', 0, 'x'.repeat(600)),
      row('2', 'g', 0, 'y'),
      row('3', 'h', 0.5, 'half'),
      row('4', 'h', 1, 'right'),
      row('5', 'h', 1, 'also right'),
    ]
    writeFileSync(file, lines(rows))
    const selected = async (which: string) => {
      t.match(await runCommand(['analyze', file, '--select', which, '--output', output]), { code: 0 })
      return JSON.parse(readFileSync(output, 'utf8'))
    }
    t.match(await selected('zero'), {
      group_id: 'g',
      prompt: 'of g',
      best_score: 0,
      response: 'x'.repeat(500),
    })
    t.match(await selected('best'), {
      group_id: 'h',
      ground_truth: '{"target":7}',
      best_score: 1,
      response: 'right',
    })
  },
)

t.test('without a group_id, answers to the same prompt form a group', async (t) => {
  const folder = t.testdir()
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  const row = (id: number, prompt: string) => ({
    id: `${id}`,
    prompt,
    response: `so\n#### ${id}`,
    ground_truth: '1',
  })
  writeFileSync(input, lines([row(1, 'p'), row(2, 'p'), row(3, 'q')]))
  const argv = ['--function', 'gsm8k-stock', '--input', input, '--output', output, '--keep', 'facts']
  t.match(await runCommand(['score', ...argv]), { code: 0 })
  const ran = await runCommand(['analyze', output, '--format', 'json'])
  t.match(JSON.parse(ran.stdout), { sources: [{ groups: { count: 1, passAtK: { 1: 0.5, 2: 1 } } }] })
  t.equal(ran.stderr, '')

  await t.test('without their groups, it says how to keep them', async (t) => {
    const bare = join(folder, 'bare.jsonl')
    await runCommand(['score', ...argv.slice(0, 4), '--output', bare])
    t.match((await runCommand(['analyze', bare])).stderr, "'score --keep facts' writes the group of each row")
  })
})

t.test('logs are recognised by their first line, plotted together, and printed line by line', async (t) => {
  const folder = t.testdir()
  const log = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const a = log(
    'a.log',
    "{'config': 1}\nstep:0 - val-core/x/acc/mean@1:0\nstep:5 - val-core/x/acc/mean@1:0.25",
  )
  const b = log('b.jsonl', '{"step": 5, "data": {"val-core/x/acc/mean@1": 0.75, "actor/entropy": NaN}}')
  const plot = join(folder, 'sheet.svg')
  const ran = await runCommand(['analyze', a, b, '--plot', plot, '--format', 'lines'])
  t.strictSame(ran, {
    code: 0,
    stdout: 'step:0 test_score:0\nstep:5 test_score:0.25\nstep:5 test_score:0.75\n',
    stderr: '',
  })
  const svg = readFileSync(plot, 'utf8')
  for (const part of ['a.log', 'b.jsonl', 'Validation accuracy', 'Gradient norm', 'not in the log'])
    t.ok(svg.includes(part), part)
  t.match(
    (await runCommand(['analyze', a, '--plot', plot])).stdout,
    /gain_percent +-[\s\S]*\nstep:5 test_score:0\.25\n/,
  )
  t.match(await runCommand(['analyze', a, '--plot', join(folder, 'sheet.gif')]), {
    code: 2,
    stderr: /\.svg or \.png/,
  })
  t.notOk(existsSync(join(folder, 'sheet.gif')))
})

t.test('a reward that is not a number counts as missing', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'a.jsonl')
  const rule = '"terms":{"rule":{"status":"scored","score":1}}'
  writeFileSync(
    file,
    `{"id":"1","reward":NaN,"valid":true,${rule}}\n{"id":"2","reward":1,"valid":true,${rule}}`,
  )
  const ran = await runCommand(['analyze', file, '--format', 'json'])
  t.match(JSON.parse(ran.stdout), {
    sources: [{ rows: 2, valid: 1, mean: 1, accuracy: 1 }],
    failures: [{ kind: 'not_finite', rows: 1 }],
  })
})

t.test('analyze names each input that it cannot read', async (t) => {
  const folder = t.testdir()
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const cases: [string[], number, RegExp][] = [
    [[], 2, /a scored file or a training log/],
    [[at('rollouts.jsonl', '{"id":"1","response":"x"}')], 2, /rollouts\.jsonl: 1 rows are neither results/],
    [[join(folder, 'none.parquet')], 2, /none\.parquet/],
    [['--log', at('other.log', 'step: x')], 2, /other\.log: no line/],
    [[at('empty.jsonl', '\n')], 2, /empty\.jsonl: it has no rows/],
    [[at('notes.txt', 'what I did')], 2, /notes\.txt: no line/],
    [[join(folder, 'none.log')], 2, /none\.log/],
    [['--log', 'x', '--solved-at', 'much'], 2, /--solved-at: must be a number, not 'much'/],
    [['--log', 'x', '--select', 'high-value'], 2, /--select needs/],
    [['--log', 'x', '--format', 'xml'], 2, /--format: must be one of text, json, lines, not 'xml'/],
  ]
  for (const [argv, code, stderr] of cases) t.match(await runCommand(['analyze', ...argv]), { code, stderr })
})

t.test('explain', async (t) => {
  const folder = join(t.testdir(), 'records')
  const { servers, config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const rule = { name: 'rule', function: 'echo-rule' }
  const judge = { name: 'quality', function: 'digit-judge', model: 'judge', weight: 0.5 }
  const gateway = await testGateway(t, {
    gateway: { models: { judge: config }, record: { folder, text: 'full' } },
    judged: { gate: 'rule >= 0.5', steps: [rule, judge, { ...rule, name: 'again', op: 'mul', weight: 2 }] },
    worked: { steps: [rule], formula: 'rule * 3' },
    summed: {
      steps: [
        { ...rule, name: 'a', weight: 6.6 },
        { ...rule, name: 'b', weight: 0.3 },
        { ...rule, name: 'c', weight: 0.3 },
      ],
    },
  })
  const rows = ['0.5', '0', 'throw'].map((response) => sampleOf(response, { id: `s-${response}` }))
  await outcomesOf(gateway, 'judged', rows, { requestId: 'req.1' })
  await outcomesOf(gateway, 'worked', [sampleOf('1', { id: 'x\u202e\u001b[2J' })], { requestId: 'req.2' })
  const [exact] = await outcomesOf(gateway, 'summed', [sampleOf('1')], { requestId: 'req.4' })
  await gateway.close(0)
  const explain = async (id: string) => (await runCommand(['explain', id, '--records', folder])).stdout

  t.test('shows a record step by step, in arithmetic that ends at the reward', async (t) => {
    const scored = (await explain('req.1:0')).trim().split('\n')
    t.match(scored[0], /^req\.1:0: sample "s-0\.5", scored 20/)
    t.ok(scored.includes('1. rule: score 0.5; begins with 1 x 0.5 = 0.5'), scored.join('\n'))
    t.ok(scored.includes('2. quality: score 1; 0.5 + 0.5 x 1 = 1'))
    t.ok(scored.includes('3. again: score 0.5; 1 x 2 x 0.5 = 1'))
    t.equal(scored.at(-1), 'reward = 1')
  })

  t.test('shows what a judge answered, where, and what was read', async (t) => {
    t.match(
      await explain('req.1:0'),
      new RegExp(`draw 0 of judge at ${servers[0]?.url} \\(call, 1 attempt, .*answer "1": verdict 1`),
    )
  })

  t.test('says why a step is off', async (t) => {
    t.match(await explain('req.1:1'), /2\. quality: off: the gate 'rule >= 0\.5' does not hold/)
  })

  t.test('says why there is no reward', async (t) => {
    t.match(await explain('req.1:2'), /1\. rule: failed: rule_error: .*\nNo reward: rule_error in rule/s)
  })

  t.test('shows the formula, and no text of a sample that could act on the terminal', async (t) => {
    const worked = await explain('req.2:0')
    t.match(worked, /formula: rule \* 3\n.*reward = /s)
    t.notOk(['\u001b', '\u202e'].some((char) => worked.includes(char)))
  })

  t.test('shows no noise of binary fractions, which the reply keeps', async (t) => {
    t.equal(exact?.valid && exact.reward, 7.199999999999999)
    const summed = (await explain('req.4:0')).trim().split('\n')
    t.ok(summed.includes('3. c: score 1; 6.9 + 0.3 x 1 = 7.2'), summed.join('\n'))
    t.equal(summed.at(-1), 'reward = 7.2')
    t.match(await explain('req.4'), /: 7\.2 \(a 1, b 1, c 1\)\n$/)
  })

  t.test('lists the rows of a request', async (t) => {
    t.equal(
      await explain('req.1'),
      'req.1:0  sample "s-0.5": 1 (rule 0.5, quality 1, again 0.5)\nreq.1:1  sample "s-0": 0 (rule 0, quality off: gate, again 0)\nreq.1:2  sample "s-throw": rule_error (rule rule_error, quality off: gate, again rule_error)\n',
    )
  })
})

t.test('explain waits for a record that the gateway is about to write', async (t) => {
  const folder = join(t.testdir(), 'records')
  const gateway = await testGateway(t, {
    gateway: { record: { folder } },
    ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  })
  await outcomesOf(gateway, 'ruled', [sampleOf('1')], { requestId: 'req.3' })
  writeFileSync(join(t.testdirName, 'gateway.yaml'), 'record: { folder: records }')
  t.match(await runCommand(['explain', 'req.3:0', '--config', t.testdirName]), {
    code: 0,
    stdout: /^req\.3:0: .*reward = 1$/ms,
  })
})

t.test('explain says where it looked for a missing record', async (t) => {
  const folder = t.testdir()
  t.match(await runCommand(['explain', 'nowhere:0', '--records', folder]), {
    code: 2,
    stderr: /RG_INPUT_INVALID: .* has no record 'nowhere:0'/,
  })
  writeFileSync(join(folder, 'gateway.yaml'), 'record: { folder: none }')
  t.match(
    await runCommand(['explain', 'nowhere:0', '--config', folder]),
    { code: 2, stderr: /none has no record 'nowhere:0': no request had this id, or the row was not sampled/ },
    'nothing has been scored yet',
  )
  t.match(await runCommand(['explain', 'x:0']), {
    code: 2,
    stderr: /--records DIR or --config PATH is needed/,
  })
  t.match(await runCommand(['explain']), { code: 2 })
})

t.test('rollouts are counted by status, turns and calls, from a file to its figures', async (t) => {
  const folder = t.testdir()
  const call = (given: string) => ({ function: { name: 'look', arguments: given } })
  const rollout = (status: string | null, ...calls: string[]) => ({
    prompt: 'How many?',
    ground_truth: '4',
    response: [
      ...calls.map((given) => ({ role: 'assistant', tool_calls: [call(given)] })),
      { role: 'tool', content: '4' },
      { role: 'assistant', content: '#### 4' },
    ],
    ...(status && { status }),
  })
  const rows = [
    ...Array.from({ length: 18 }, () => rollout('completed', '{"at": 1}')),
    ...Array.from({ length: 4 }, () => rollout('truncated', '{"at": 1}', '{"at": ')),
    rollout('aborted'),
    rollout(null),
    { prompt: 'How many?', ground_truth: '4', response: '#### 4' },
  ]
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  writeFileSync(input, lines(rows))
  const score = ['score', '--function', 'numeric-match', '--input', input, '--output', output]
  const ran = await runCommand([...score, '--keep', 'facts', '--allow-invalid', '1'])
  t.match(ran, { code: 0, stderr: /25 rows, 1 invalid/ })
  const { statuses, rollouts, readings } = JSON.parse(
    (await runCommand(['analyze', output, '--format', 'json'])).stdout,
  )
  t.strictSame(statuses, [
    { file: 0, status: 'completed', rows: 18, share: 18 / 23, valid: 18, mean: 1 },
    { file: 0, status: 'truncated', rows: 4, share: 4 / 23, valid: 4, mean: 1 },
    { file: 0, status: '', rows: 2, share: null, valid: 2, mean: 1 },
    { file: 0, status: 'aborted', rows: 1, share: 1 / 23, valid: 0, mean: null },
  ])
  t.match(rollouts, [
    { file: 0, rows: 24, mostTurns: 4, calls: 26 / 24, withoutCalls: 2 / 24, malformed: 4 / 26 },
  ])
  const told = readings.map(({ figure, value }: { figure: string; value: string }) => `${figure} ${value}`)
  t.ok(told.includes('truncated 17.39%') && told.includes('malformed calls 15.38%'), told.join(', '))
  const text = (await runCommand(['report', output, '--output', join(folder, 'report.md')])).code
  t.equal(text, 0)
  t.match(readFileSync(join(folder, 'report.md'), 'utf8'), /By status.*truncated.*Rollouts with turns/s)
})
