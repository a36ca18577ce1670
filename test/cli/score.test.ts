import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
  t.match(ran, { code: 0, stderr: '' })
  const results = readFileSync(output, 'utf8')
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  t.match(results, [
    { id: 'a', reward: 1, terms: { 'gsm8k-progressive': { score: 1 } } },
    { id: '1', valid: false, failure: { kind: 'bad_sample', detail: /JSON/ } },
    { id: 'b', reward: 0.1 },
    { id: 'c', reward: 0 },
  ])
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
