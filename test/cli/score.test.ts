import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { Losses } from '../../src/cli/rewards/score-file.ts'
import { runCommand } from '../support/command-line.ts'
import { completion, scriptedServer } from '../support/scripted-server.ts'

const line = (id: string, response: string, truth = '42') =>
  JSON.stringify({ id, response, ground_truth: truth })

t.test('score writes results in the order of the lines, and unreadable lines keep their place', async (t) => {
  const folder = t.testdir({
    'in.jsonl': [
      line('a', '6 * 7 is\n#### 42'),
      '{broken',
      line('b', 'it is\n#### 41'),
      '',
      line('c', 'none'),
    ].join('\n'),
  })
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  const ran = await runCommand([
    'score',
    '--function',
    'gsm8k-progressive',
    '--input',
    input,
    '--output',
    output,
    '--batch',
    '2',
  ])
  t.match(ran, {
    code: 1,
    stderr:
      /^1 of 4 rows has no reward:\n {2}1 bad_sample, first row '1': .*JSON.*\n4 rows, 1 invalid, mean 0\.3667, .*out\.jsonl\n$/,
  })
  t.match(results(readFileSync(output, 'utf8')), [
    { id: 'a', reward: 1, terms: { 'gsm8k-progressive': { score: 1 } } },
    { id: '1', valid: false, failure: { kind: 'bad_sample', detail: /JSON/ } },
    { id: 'b', reward: 0.1 },
    { id: 'c', reward: 0 },
  ])
})

t.test(
  'on a terminal, score shows the share of rows that are scored, not of those that were read',
  async (t) => {
    const rows = Array.from({ length: 8 }, (_, at) => line(`${at}`, `it is\n#### ${at}`))
    const several = { prompt: [], responses: ['#### 1', '#### 2', '#### 3', '#### 4'], ground_truth: '1' }
    const folder = t.testdir({
      'rows.jsonl': `${rows.join('\n')}\n`,
      'rows.json': `[${rows.join(',')}]`,
      'rows.jsonl.gz': gzipSync(`${rows.join('\n')}\n`),
      'verl.jsonl': [several, several].map((row) => `${JSON.stringify(row)}\n`).join(''),
    })
    for (const name of ['verl.jsonl', 'rows.json', 'rows.jsonl.gz', 'rows.jsonl']) {
      const score = ['score', '--function', 'gsm8k-progressive', '--input', join(folder, name)]
      const argv = [...score, '--output', join(folder, 'out.jsonl'), '--batch', '1']
      const { stderr } = await runCommand(argv, { terminal: true })
      const shown = stderr.split('\r').filter((text) => text.includes('%'))
      t.match(shown[0], name === 'verl.jsonl' ? / 50 %, 4 scored, / : / 12 %, 1 scored, /, name)
      t.match(shown[0], /, \d:\d\d left$/, name)
      t.match(shown.at(-1), / 100 %, 8 scored, /, name)
    }

    // A stopped run left the first six.
    const [input, output] = [join(folder, 'rows.jsonl'), join(folder, 'resumed.jsonl')]
    const score = ['score', '--function', 'gsm8k-progressive', '--input', input, '--output', output]
    await runCommand(score, { signal: AbortSignal.abort() })
    const whole = readFileSync(join(folder, 'out.jsonl'), 'utf8').split('\n')
    writeFileSync(`${output}.partial.jsonl`, `${whole.slice(0, 6).join('\n')}\n`)
    const { code, stderr } = await runCommand([...score, '--resume', '--batch', '1'], { terminal: true })
    t.equal(code, 0, stderr)
    t.match(stderr.split('\r')[1], / 87 %, 7 scored, /)
  },
)

t.test('score waits for a missing judge and reports it (M54)', async (t) => {
  const judge = await scriptedServer((seen) => completion(seen, '1'))
  t.teardown(() => judge.kill())
  await judge.kill()
  const folder = t.testdir({
    'gateway.json': JSON.stringify({ models: { judge: { model: 'm', instances: [judge.url] } } }),
    'judged.yaml': 'deadline_s: 90\nsteps: [{ name: q, function: yes-no-judge, model: judge }]',
    'in.jsonl': ['a', 'b', 'c']
      .map((id) => JSON.stringify({ id, prompt: '6 * 7?', response: `${id}: 42`, ground_truth: '42' }))
      .join('\n'),
  })
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  let stderr = ''
  let ran: ReturnType<typeof runCommand> | undefined
  await new Promise<void>((resolve) => {
    ran = runCommand(
      ['score', '--config', folder, '--reward', 'judged', '--input', input, '--output', output],
      {
        onStderr: (text) => {
          stderr += text
          if (stderr.includes('waiting')) resolve()
        },
      },
    )
  })
  t.match(stderr, /^waiting for the model 'judge': no server responds \(http:\/\/127\.0\.0\.1:\d+\)\. /)
  t.match(
    stderr,
    / A question waits for 90 s \(deadline_s of judged\), the first until \d\d:\d\d:\d\d, and then /,
  )
  t.match(stderr, / To wait for less, set 'wait_for_instance: 5' \(seconds\) for the model; /)
  t.equal(stderr.split('\n').length, 2, 'one line')
  await judge.revive()
  t.match(await ran, { code: 0, stderr: /\nthe model 'judge' responds again\n3 rows, 0 invalid/ })
  t.strictSame(
    results(readFileSync(output, 'utf8')).map(({ id, reward }) => [id, reward]),
    [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ],
  )
  t.equal(judge.seen.length, 3)
})

t.test('score works with any limits.max_samples, batch size and group size (M2)', async (t) => {
  for (const most of [1, 3, 10]) {
    const folder = t.testdir({
      'gateway.yaml': `limits: { max_samples: ${most} }`,
      'one.yaml': 'steps: [{ name: rule, function: exact-match }]',
      'in.jsonl': Array.from({ length: 50 }, (_, row) => line(`${row}`, '42')).join('\n'),
    })
    const output = join(folder, 'out.jsonl')
    const argv = [
      'score',
      '--config',
      folder,
      '--input',
      join(folder, 'in.jsonl'),
      '--output',
      output,
      '--batch',
      '1000',
    ]
    t.match(await runCommand(argv), { code: 0 }, `max_samples: ${most}`)
    const rewards = results(readFileSync(output, 'utf8')).map((row) => (row as { reward: number }).reward)
    t.strictSame(
      rewards,
      Array.from({ length: 50 }, () => 1),
    )
  }
})

t.test('score shows errors of functions at the end, without control characters', async (t) => {
  const folder = t.testdir({
    functions: {
      'strict.js': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  options: z.strictObject({}),
  score({ sample }) {
    if (sample.response === 'good') return 1
    throw new Error('no digits in \\u001b[2J' + sample.response)
  },
})`,
    },
  })
  const args = ['score', '--function', 'strict', '--reward-functions', join(folder, 'functions')]
  const stdin = ['good', 'bad', 'bad'].map((response, at) => line(String(at), response)).join('\n')
  const ran = await runCommand([...args, '--input', '-', '--output', '-'], { stdin })
  t.equal(ran.code, 1)
  t.match(ran.stderr, /2 x strict threw in score:\n {4}Error: no digits in \ufffd\[2Jbad\n.*strict\.js:9:/)
  t.notMatch(ran.stderr, '\u001b')
})

t.test(
  'score reads standard input, writes standard output, and finds the only reward of a config',
  async (t) => {
    const args = [
      'score',
      '--function',
      'gsm8k-progressive',
      '--options',
      '{"mode":"published"}',
      '--input',
      '-',
      '--output',
      '-',
    ]
    const ran = await runCommand(args, { stdin: line('a', '#### 42') })
    t.match(JSON.parse(ran.stdout), { id: 'a', reward: 1 })
    const folder = t.testdir()
    const config = join(folder, 'half.yaml')
    writeFileSync(config, 'steps: [{ name: rule, function: gsm8k-progressive, weight: 0.5 }]')
    const scored = await runCommand(['score', '--config', config, '--input', '-', '--output', '-'], {
      stdin: line('a', 'so\n#### 42'),
    })
    t.match(JSON.parse(scored.stdout), { reward: Number, valid: true })
  },
)

t.test('score exits with 2 and says what is missing', async (t) => {
  const own = ['score', '--function', 'x', '--input', '-', '--output', '-', '--reward-functions']
  const cases: [string[], number, RegExp][] = [
    [['score'], 2, /--input, --output/],
    [['score', '--inputs', 'x'], 2, /inputs/],
    [
      ['score', '--function', 'x', '--options', '{', '--input', '-', '--output', '-'],
      2,
      /--options: must be JSON/,
    ],
    [['score', '--function', 'gsm8k-progresive', '--input', '-', '--output', '-'], 2, /gsm8k-progressive/],
    [
      ['score', '--function', 'gsm8k-progressive', '--batch', 'x', '--input', '-', '--output', '-'],
      2,
      /--batch: must be a whole number from 1 to 100000, not 'x'/,
    ],
    [
      ['score', '--function', 'gsm8k-progressive', '--input', '/nowhere/in.jsonl', '--output', '-'],
      2,
      /in\.jsonl: does not exist/,
    ],
    [[...own, 'nowhere'], 2, /nowhere: there is no such folder of reward functions/],
    [[...own, 'package.json'], 2, /package\.json: is a file; name the folder that it lies in/],
    [
      ['score', '--function', 'gsm8k-progressive', '--reward', 'other', '--input', '-', '--output', '-'],
      2,
      /--function is the only reward/,
    ],
    [['scor'], 2, /did you mean 'score'/],
  ]
  for (const [argv, code, stderr] of cases) t.match(await runCommand(argv), { code, stderr }, argv.join(' '))
})

t.test('help lists the commands, and each command explains itself', async (t) => {
  t.match(await runCommand(['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
  const { stdout } = await runCommand([])
  for (const name of ['serve', 'score', 'demo']) {
    t.match(stdout, new RegExp(`  ${name} `))
    t.match((await runCommand([name, '--help'])).stdout, `reward-gateway ${name}`)
  }
})

const row = (id: number, answer = id) =>
  JSON.stringify({
    id: `r${id}`,
    prompt: `${id} + 0?`,
    response: `so\n#### ${answer}`,
    ground_truth: `${id}`,
  })
const score = (input: string, output: string, ...more: string[]) =>
  runCommand(['score', '--function', 'gsm8k-stock', '--input', input, '--output', output, ...more])
const results = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

async function sql(query: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const rows = (await connection.runAndReadAll(query)).getRowsJson()
  connection.closeSync()
  instance.closeSync()
  return rows
}

t.test("score reads verl's Parquet with several responses per row, and writes Parquet", async (t) => {
  const folder = t.testdir()
  const [input, output] = [join(folder, 'verl [1].parquet'), join(folder, 'out.parquet')]
  await sql(`COPY (SELECT 'openai/gsm8k' AS data_source, [{'role': 'user', 'content': 'a ' || i}] AS prompt,
    {'style': 'rule', 'ground_truth': i::VARCHAR} AS reward_model, {'index': i} AS extra_info, 'x'::BLOB AS image,
    ['so' || chr(10) || '#### ' || i, 'so' || chr(10) || '#### 7'] AS responses FROM range(300) t(i)) TO '${input}' (FORMAT parquet)`)
  t.match(await score(input, output, '--keep', 'facts'), { code: 0 })
  t.notOk(existsSync(`${output}.partial.jsonl`))
  t.strictSame(
    await sql(`SELECT id, reward, valid, metrics['gsm8k-stock'], sample->>'group_id', sample->>'data_source'
      FROM '${output}' LIMIT 4`),
    [
      ['0/0', 1, true, 1, '0', 'openai/gsm8k'],
      ['0/1', 0, true, 0, '0', 'openai/gsm8k'],
      ['1/0', 1, true, 1, '1', 'openai/gsm8k'],
      ['1/1', 0, true, 0, '1', 'openai/gsm8k'],
    ],
  )
  t.strictSame(await sql(`SELECT count(*)::INT, sum(reward)::INT FROM '${output}'`), [[600, 301]])
})

t.test("score reads and writes gzip and verl's dumps, and names broken input", async (t) => {
  const folder = t.testdir()
  const at = (name: string) => join(folder, name)
  writeFileSync(
    at('dump.jsonl.gz'),
    gzipSync('{"input":"2 + 3?","output":"so\\n#### 5","gts":"5","score":1,"step":3}\nbroken\n'),
  )
  t.match(await score(at('dump.jsonl.gz'), at('out.jsonl.gz')), {
    code: 1,
    stderr: /^1 of 2 rows has no reward/,
  })
  t.match(results(gunzipSync(readFileSync(at('out.jsonl.gz'))).toString()), [
    { id: '0', reward: 1 },
    { id: '1', valid: false, failure: { kind: 'bad_sample' } },
  ])
  writeFileSync(at('half.jsonl.gz'), gzipSync(`${row(1)}\n`.repeat(99)).subarray(0, 60))
  t.match(await score(at('half.jsonl.gz'), at('half.jsonl')), {
    code: 2,
    stderr: /half\.jsonl\.gz: is a truncated gzip file/,
  })
  writeFileSync(at('no.parquet'), 'text')
  t.match(await score(at('no.parquet'), at('no.jsonl')), {
    code: 2,
    stderr: /RG_INPUT_INVALID: .*no\.parquet: is not a Parquet file/,
  })
})

t.test('--resume', async (t) => {
  const folder = t.testdir()
  const [input, output, calm] = ['in.jsonl', 'out.jsonl', 'calm.jsonl'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(input, Array.from({ length: 2000 }, (_, i) => row(i, i % 3)).join('\n'))
  t.match(await score(input, calm), { code: 0 })
  const whole = readFileSync(calm, 'utf8')
  const argv = ['score', '--function', 'gsm8k-stock', '--input', input, '--output', output]
  t.match(await runCommand(argv, { signal: AbortSignal.abort() }), { code: 1 })
  t.notOk(existsSync(output), 'Ctrl-C leaves complete lines to resume from')
  const run = readFileSync(`${output}.partial.json`, 'utf8')

  await t.test('continues a stopped run after its last complete line', async (t) => {
    writeFileSync(`${output}.partial.jsonl`, whole.slice(0, 30_000))
    t.match(await score(input, output), { code: 2, stderr: /--resume/ })
    t.match(await score(input, output, '--resume'), { code: 0 })
    t.equal(readFileSync(output, 'utf8'), whole)
  })

  await t.test('continues only a run with the same config', async (t) => {
    writeFileSync(`${output}.partial.jsonl`, '')
    writeFileSync(`${output}.partial.json`, run.replace('gsm8k-stock', 'gsm8k-boxed'))
    t.match(await score(input, output, '--resume'), {
      code: 2,
      stderr: /reward gsm8k-boxed, this one has gsm8k-stock/,
    })
  })

  await t.test('needs a file', async (t) => {
    t.match(await score(input, '-', '--resume'), { code: 2, stderr: /a file/ })
  })

  await t.test('writes the same file after a kill as an undisturbed run', async (t) => {
    const [killed, seed] = [join(folder, 'killed.jsonl'), Number(process.env.SEED ?? Date.now() % 100_000)]
    t.comment(`SEED=${seed}`)
    for (let kill = 0; kill < Number(process.env.KILLS ?? 1); kill++) {
      const resumed = [...argv.slice(0, -1), killed, '--batch', '16', '--resume']
      const child = spawn(process.execPath, ['dist/src/cli/main.js', ...resumed])
      const ended = new Promise((resolve) => child.on('exit', resolve))
      const enough = Math.floor((((seed * (kill + 7)) % 97) / 97) * whole.length)
      await Promise.race([ended, written(`${killed}.partial.jsonl`, enough, child)])
      child.kill('SIGKILL')
      await ended
    }
    if (!existsSync(killed)) t.match(await score(input, killed, '--resume'), { code: 0 })
    t.equal(readFileSync(killed, 'utf8'), whole)
  })
})

t.test('--failed-only scores only failed rows, and only in the file with their results', async (t) => {
  const folder = t.testdir({ 'some.jsonl': row(1) })
  const none = join(folder, 'none.jsonl')
  const missing = await score(join(folder, 'some.jsonl'), none, '--failed-only')
  t.match(missing, { code: 2, stderr: /none\.jsonl: does not exist/ })
  t.notOk(existsSync(`${none}.partial.jsonl`), 'a refusal leaves nothing in the way')
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  writeFileSync(input, ['{"id":"a"}', row(1), row(2)].join('\n'))
  t.match(await score(input, output), { code: 1 })
  const [, kept] = readFileSync(output, 'utf8').split('\n')
  writeFileSync(
    input,
    ['{"id":"a","response":"so\\n#### 1","ground_truth":"1"}', row(1, 9), row(2)].join('\n'),
  )
  t.match(await score(input, output, '--failed-only'), { code: 0 })
  t.match(results(readFileSync(output, 'utf8')), [
    { id: 'a', reward: 1 },
    JSON.parse(kept ?? ''),
    { id: 'r2' },
  ])
  writeFileSync(input, [row(5)].join('\n'))
  t.match(await score(input, output, '--failed-only'), {
    code: 2,
    stderr: /the row 'a' where 'r5' was expected/,
  })
})

t.test('rows without a reward (M32)', async (t) => {
  const bad = ['{"id":"x"}', 'no JSON', '{"id":"y","groundtruth":"1","response":"a"}']
  const folder = t.testdir({
    'some.jsonl': [row(1), row(2), ...bad].join('\n'),
    'none.jsonl': bad.join('\n'),
    'all.jsonl': [row(1), row(2)].join('\n'),
  })
  const scoring = (name: string, ...more: string[]) =>
    score(join(folder, `${name}.jsonl`), join(folder, 'out.jsonl'), ...more)

  await t.test('are told of at the end, one line for each cause of a kind (M41)', async (t) => {
    const { code, stderr } = await scoring('some')
    t.equal(code, 1)
    const [first, ...lines] = stderr.trimEnd().split('\n')
    t.equal(first, '3 of 5 rows have no reward:')
    t.match(lines, [
      /^ {2}1 bad_sample, first row 'x': response: is missing; expected a text, a list of messages, or \{ segments \}$/,
      /^ {2}1 bad_sample, first row '3': row 4 of the file is not JSON$/,
      /^ {2}1 bad_sample, first row 'y': sample: there is no field "groundtruth"; did you mean 'ground_truth'\?$/,
      /^5 rows, 3 invalid, mean \d.*out\.jsonl$/,
    ])
  })

  await t.test('make the exit code 1 if they are more than --allow-invalid', async (t) => {
    t.equal((await scoring('some', '--allow-invalid', '0.59')).code, 1)
    t.equal((await scoring('some', '--allow-invalid', '0.6')).code, 0)
    t.match(await scoring('some', '--allow-invalid', '2'), { code: 2, stderr: /from 0 to 1/ })
  })

  await t.test('have no mean if they are all', async (t) => {
    t.match(await scoring('none'), { code: 1, stderr: /\n3 rows, 3 invalid, no mean, / })
    t.equal((await scoring('none', '--allow-invalid', '1')).code, 0)
  })

  await t.test('are not spoken of if there are none', async (t) => {
    t.match(await scoring('all'), { code: 0, stderr: /^2 rows, 0 invalid, mean / })
  })
})

t.test('the summary covers the whole file, also after --resume and --failed-only (M32)', async (t) => {
  const folder = t.testdir()
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  const rows = Array.from({ length: 1200 }, (_, i) => (i % 100 === 0 ? '{"id":"bad"}' : row(i)))
  writeFileSync(input, rows.join('\n'))
  const calm = await score(input, output)
  t.match(calm, {
    code: 1,
    stderr: /^12 of 1200 rows have no reward:\n.*\n1,200 rows, 12 invalid, mean 1, /s,
  })
  const whole = readFileSync(output, 'utf8')
  // The state after a kill: 700 lines are done, and the rest can be scored.
  const argv = ['score', '--function', 'gsm8k-stock', '--input', input, '--output', output]
  t.equal((await runCommand(argv, { signal: AbortSignal.abort() })).code, 1)
  writeFileSync(`${output}.partial.jsonl`, `${whole.split('\n').slice(0, 1150).join('\n')}\n`)
  const resumed = await score(input, output, '--resume')
  t.strictSame(resumed, calm)
  t.equal(readFileSync(output, 'utf8'), whole)
  t.match(await score(input, output, '--failed-only'), {
    code: 1,
    stderr: /\n1,200 rows, 12 invalid, mean 1, /,
  })
})

t.test('causes that differ only in numbers are counted together, as are too many causes (M32)', async (t) => {
  const failed = (detail: string, id = 'a') =>
    ({
      id,
      reward: null,
      valid: false,
      failure: { kind: 'rule_error', detail, retryable: false, step: 's' },
    }) as const
  const losses = new Losses()
  for (let i = 0; i < 50; i++) losses.add(failed(`position ${i}`))
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  for (let i = 0; i < 10_000; i++)
    losses.add(failed(`cause ${[...String(i)].map((d) => letters[Number(d)]).join('')}`))
  const lines = losses.text().trimEnd().split('\n')
  t.equal(lines.length, 8, 'bounded, whatever rows hold')
  t.match(lines[1], /^ {2}50 rule_error, first row 'a', step s: position 0$/)
  t.match(lines.at(-1), /^ {2}9995 rule_error for other causes, first row/)
})

/** Resolves when the file has this many bytes or its writer has ended. */
async function written(path: string, bytes: number, writer: ChildProcess): Promise<void> {
  while (writer.exitCode === null && (!existsSync(path) || statSync(path).size < bytes)) await setTimeout(2)
}

t.test(
  'rows of data sets say how their rollouts ended, and columns that cannot be read are named',
  async (t) => {
    const folder = t.testdir()
    const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
    const row = (more: object) =>
      JSON.stringify({ reward_model: { ground_truth: '4' }, prompt: '2 + 2?', response: '4', ...more })
    const rollout = [
      { role: 'assistant', tool_calls: [{ name: 'f', arguments: 'no' }] },
      { role: 'assistant', content: '4' },
    ]
    const rows = [
      row({ status: 'truncated' }),
      row({ status: 'verified', tokens: 'many' }),
      row({ status: 'aborted' }),
      row({ response: rollout }),
    ]
    writeFileSync(input, rows.join('\n'))
    const score = (from: string, to: string) =>
      runCommand([
        'score',
        '--function',
        'numeric-match',
        '--input',
        from,
        '--output',
        to,
        '--keep',
        'all',
        '--allow-invalid',
        '1',
      ])
    t.equal((await score(input, output)).code, 0)
    const results = readFileSync(output, 'utf8')
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one))
    t.match(results, [
      { reward: 1, flags: ['truncated'] },
      { reward: 1, flags: { length: 0 } },
      { reward: null, failure: { kind: 'aborted' } },
      {
        reward: 1,
        sample: { counts: { turns: 2, tool_calls: 1, malformed_calls: 1 }, turns: { length: 2 } },
      },
    ])
    const images = join(folder, 'images.parquet')
    const instance = await DuckDBInstance.create(':memory:')
    const connection = await instance.connect()
    await connection.run(
      `COPY (SELECT '2 + 2?' AS prompt, '4' AS response, '4' AS ground_truth, [{'bytes': 'x'::BLOB, 'path': 'a'}] AS images) TO '${images}' (FORMAT parquet)`,
    )
    connection.closeSync()
    t.match(await score(images, join(folder, 'seen.jsonl')), {
      code: 0,
      stderr: /^note: columns of bytes are not read: images\n/,
    })
  },
)
