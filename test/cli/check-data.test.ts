import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'
import { simulated } from '../support/simulated.ts'
import { sources } from '../support/training-sources.ts'

const judgeA = { model: 'judge-a' }

t.test('data that is prepared passes check, and a fault in it ends with exit code 1', async (t) => {
  const folder = t.testdir()
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('source.json'), JSON.stringify(sources.rider?.(200)))
  const made = await runCommand([
    'prepare',
    'rider',
    at('source.json'),
    '--output',
    at('data'),
    '--files',
    'both',
  ])
  t.equal(made.code, 0)
  const [a, b] = [await simulated(t, judgeA), await simulated(t, { model: 'judge-b' })]
  const env = { JUDGE_A_0: a.url, JUDGE_A_1: a.url, JUDGE_B_0: b.url }
  const configs = ['rm-configs/rider.yaml', 'rm-configs/gateway.yaml']
  const check = (...argv: string[]) => runCommand(['check', ...configs, '--data', ...argv], { env })

  const clean = await check(at('data/train.parquet'), '--strict')
  t.equal(clean.code, 0, clean.stdout)
  t.match(clean.stdout, /row 3, step consistency: what judge-b would be asked\n\[user\]\n请比较/)
  t.match(clean.stdout, /rider +1 +200\n/)
  t.match(clean.stdout, /200 rows of .* for rider: 0 errors, 0 warnings, 0 notes\n$/)

  const row = { prompt: 'Hi?', data_source: 'rider', reward_model: { ground_truth: 'no JSON' } }
  writeFileSync(at('bad.jsonl'), `${JSON.stringify(row)}\n${JSON.stringify(row)}\n`)
  const bad = await check(at('bad.jsonl'), '--format', 'json')
  t.equal(bad.code, 1)
  t.match(JSON.parse(bad.stdout), {
    reward: 'rider',
    rows: 2,
    findings: [
      { name: 'refused-truth', severity: 'error', rows: ['1', '2'], count: 2 },
      { name: 'repeated-row', severity: 'warning', rows: ['2'] },
    ],
  })

  const twice = await check(at('data/train.parquet'), '--data', at('data/train.jsonl'), '--rows', '3')
  t.equal(twice.code, 0, 'a warning is no error')
  t.match(twice.stdout, /warning repeated-row: .* \(3 rows: train.jsonl:1, train.jsonl:2, train.jsonl:3\)/)
  t.equal(
    (await check(at('data/train.jsonl'), '--data', at('data/train.jsonl'), '--rows', '3', '--strict')).code,
    1,
  )
})

t.test('check asks the policy, and tells of arguments that it cannot use', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'rows.jsonl')
  const prompt = 'What is 6 * 7?'
  const row = { prompt: [{ role: 'user', content: prompt }], data_source: 'x', ground_truth: '42' }
  writeFileSync(file, JSON.stringify(row))
  const policy = await simulated(t, {
    policy: 'solver',
    answers: { [prompt]: '42' },
    model: 'small',
    successRate: 0.5,
  })
  const argv = ['check', 'rm-configs/gsm8k.yaml', '--data', file]
  const probed = await runCommand([
    ...argv,
    '--policy',
    `${policy.url}/v1`,
    '--answers',
    '64',
    '--format',
    'json',
  ])
  t.equal(probed.code, 0, probed.stderr)
  t.match(JSON.parse(probed.stdout), { probe: { verdict: 'good', prompts: 1, answers: 64 } })
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['check', 'rm-configs/gsm8k.yaml', '--policy', policy.url], 2, /--policy needs --data/],
    [['check', 'rm-configs', '--data', file], 2, /choose one with --reward/],
    [['check', 'rm-configs', '--data', file, '--reward', 'gsm8'], 1, /did you mean 'gsm8k'/],
    [[...argv, '--format', 'xml'], 2, /text, json/],
    [[...argv, '--policy', 'here'], 1, /'here' is not the http/],
    [['check', 'rm-configs/gsm8k.yaml', '--data', join(folder, 'none.jsonl')], 1, /none.jsonl/],
  ]
  for (const [argv, code, message] of cases) {
    const ran = await runCommand(argv)
    t.equal(ran.code, code, argv.join(' '))
    t.match(ran.stderr, message)
  }
})
