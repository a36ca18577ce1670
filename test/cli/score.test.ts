import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

const line = (id: string, response: string, truth = '42') =>
  JSON.stringify({ id, response, ground_truth: truth })

t.test('a file is scored in the order of its lines, unreadable ones keep their place', async (t) => {
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
    code: 0,
    stderr: /^1 of 4 rows has no reward:\n {2}1 bad_sample, first row '1': .*JSON.*\n$/,
  })
  t.match(results(readFileSync(output, 'utf8')), [
    { id: 'a', reward: 1, terms: { 'gsm8k-progressive': { score: 1 } } },
    { id: '1', valid: false, failure: { kind: 'bad_sample', detail: /JSON/ } },
    { id: 'b', reward: 0.1 },
    { id: 'c', reward: 0 },
  ])
})

t.test("what an author's function threw is told at the end, and nothing that a terminal obeys", async (t) => {
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
  t.equal(ran.code, 0)
  t.match(ran.stderr, /2 x strict threw in score:\n {4}Error: no digits in \ufffd\[2Jbad\n.*strict\.js:9:/)
  t.notMatch(ran.stderr, '\u001b')
})

t.test('standard streams, options and a config of one reward work', async (t) => {
  const args = [
    'score',
    '--function',
    'gsm8k-progressive',
    '--options',
    '{"mode":"reference"}',
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
})

t.test('wrong arguments exit 2 and say what is needed; wrong work exits 1', async (t) => {
  const own = ['score', '--function', 'x', '--input', '-', '--output', '-', '--reward-functions']
  const cases: [string[], number, RegExp][] = [
    [['score'], 2, /--input, --output/],
    [['score', '--inputs', 'x'], 2, /inputs/],
    [['score', '--function', 'x', '--options', '{', '--input', '-', '--output', '-'], 2, /no JSON/],
    [['score', '--function', 'gsm8k-progresive', '--input', '-', '--output', '-'], 1, /gsm8k-progressive/],
    [
      ['score', '--function', 'gsm8k-progressive', '--batch', 'x', '--input', '-', '--output', '-'],
      2,
      /--batch x/,
    ],
    [
      ['score', '--function', 'gsm8k-progressive', '--input', '/nowhere/in.jsonl', '--output', '-'],
      1,
      /ENOENT/,
    ],
    [[...own, 'nowhere'], 1, /nowhere: there is no such folder of reward functions/],
    [[...own, 'package.json'], 1, /package\.json: is a file; name the folder that it lies in/],
    [['scor'], 2, /did you mean 'score'/],
  ]
  for (const [argv, code, stderr] of cases) t.match(await runCommand(argv), { code, stderr }, argv.join(' '))
})

t.test('help lists the commands and explains each', async (t) => {
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

t.test("verl's Parquet is scored, several responses a row, and written as Parquet", async (t) => {
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

t.test("gzip and verl's dumps are read and written; what is broken is named", async (t) => {
  const folder = t.testdir()
  const at = (name: string) => join(folder, name)
  writeFileSync(
    at('dump.jsonl.gz'),
    gzipSync('{"input":"2 + 3?","output":"so\\n#### 5","gts":"5","score":1,"step":3}\nbroken\n'),
  )
  t.match(await score(at('dump.jsonl.gz'), at('out.jsonl.gz')), { code: 0 })
  t.match(results(gunzipSync(readFileSync(at('out.jsonl.gz'))).toString()), [
    { id: '0', reward: 1 },
    { id: '1', valid: false, failure: { kind: 'bad_sample' } },
  ])
  writeFileSync(at('half.jsonl.gz'), gzipSync(`${row(1)}\n`.repeat(99)).subarray(0, 60))
  t.match(await score(at('half.jsonl.gz'), at('half.jsonl')), {
    code: 1,
    stderr: /half\.jsonl\.gz: unexpected end/,
  })
  writeFileSync(at('no.parquet'), 'text')
  t.match(await score(at('no.parquet'), at('no.jsonl')), {
    code: 1,
    stderr: /RG_INPUT_INVALID: .*no\.parquet/,
  })
})

t.test(
  'a run that was stopped goes on where its last whole line ended, under the same config only',
  async (t) => {
    const folder = t.testdir()
    const [input, output, calm] = ['in.jsonl', 'out.jsonl', 'calm.jsonl'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    writeFileSync(input, Array.from({ length: 2000 }, (_, i) => row(i, i % 3)).join('\n'))
    t.match(await score(input, calm), { code: 0 })
    const whole = readFileSync(calm, 'utf8')

    // Ctrl-C leaves whole lines to go on with.
    const argv = ['score', '--function', 'gsm8k-stock', '--input', input, '--output', output]
    t.match(await runCommand(argv, { signal: AbortSignal.abort() }), { code: 1 })
    t.notOk(existsSync(output))
    const run = readFileSync(`${output}.partial.json`, 'utf8')
    writeFileSync(`${output}.partial.jsonl`, whole.slice(0, 30_000))
    t.match(await score(input, output), { code: 1, stderr: /--resume/ })
    t.match(await score(input, output, '--resume'), { code: 0 })
    t.equal(readFileSync(output, 'utf8'), whole)
    writeFileSync(`${output}.partial.jsonl`, '')
    writeFileSync(`${output}.partial.json`, run.replace('gsm8k-stock', 'gsm8k-boxed'))
    t.match(await score(input, output, '--resume'), {
      code: 1,
      stderr: /reward gsm8k-boxed, this one has gsm8k-stock/,
    })
    t.match(await score(input, '-', '--resume'), { code: 2, stderr: /a file/ })

    // Killed again and again, it ends with the file of an undisturbed run.
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
  },
)

t.test('only failed rows are scored again, and only in the file that holds their results', async (t) => {
  const folder = t.testdir()
  const [input, output] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')]
  writeFileSync(input, ['{"id":"a"}', row(1), row(2)].join('\n'))
  t.match(await score(input, output), { code: 0 })
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
  t.match(await score(input, output, '--failed-only'), { code: 1, stderr: /the row 'a' where 'r5' belongs/ })
})

/** Resolves once the file has this many bytes, or its writer has ended. */
async function written(path: string, bytes: number, writer: ChildProcess): Promise<void> {
  while (writer.exitCode === null && (!existsSync(path) || statSync(path).size < bytes)) await setImmediate()
}
