import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

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

t.test('scored files give figures by data source, group and term', async (t) => {
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
      { name: 'rule', scored: 5, histogram: { 0: 2, 9: 3 } },
      { name: 'a "judge"', scored: 4, failed: 1, min: 0.1, max: 0.9 },
    ],
    agreements: [{ terms: ['rule', 'a "judge"'], rows: 4 }],
    failures: [{ kind: 'judge_timeout', rows: 1 }],
  })
  const text = await runCommand(['analyze', file, file])
  t.match(text.stdout, /75\.00 %/)
  t.match(text.stdout, /judge_timeout/)
  const output = join(folder, 'high.jsonl')
  t.match(await runCommand(['analyze', file, '--select', 'high-value', '--output', output]), { code: 0 })
  t.match(JSON.parse(readFileSync(output, 'utf8')), { group_id: 'g', reward_var: 0.25, entropy: 1 })
})

t.test("a gateway's records are read as they lie", async (t) => {
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
    sources: [{ source: '', rows: 2, lengthCorrelation: 1, groups: { count: 1 } }],
    terms: [{ name: 'rule', scored: 2 }],
  })
})

t.test('a training log is summed up with its validations', async (t) => {
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

t.test('what cannot be analysed is named', async (t) => {
  const folder = t.testdir()
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const cases: [string[], number, RegExp][] = [
    [[], 2, /a scored file or a --log/],
    [[at('rollouts.jsonl', '{"id":"1","response":"x"}')], 1, /rollouts\.jsonl: 1 rows are neither results/],
    [[join(folder, 'none.parquet')], 1, /none\.parquet/],
    [['--log', at('other.log', 'step: x')], 1, /other\.log: no line/],
    [['--log', at('zero.log', 'step:0 - val/openai/gsm8k/test_score:0')], 1, /from 0/],
    [['--log', 'x', '--solved-at', 'much'], 2, /--solved-at much/],
    [['--log', 'x', '--select', 'high-value'], 2, /--select needs/],
    [['--log', 'x', '--format', 'xml'], 2, /--format xml/],
  ]
  for (const [argv, code, stderr] of cases) t.match(await runCommand(['analyze', ...argv]), { code, stderr })
})
