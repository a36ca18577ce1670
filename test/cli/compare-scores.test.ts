import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

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

t.test('two scored files are compared row by row and within groups', async (t) => {
  const folder = t.testdir({
    'a.jsonl': scored([1, 2, 3, 4, /**/ 1, 2, 3, 3, /**/ 5, 5, 5, null], 4),
    'b.jsonl': scored([1, 2, 4, 3, /**/ 3, 2, 1, 1, /**/ 5, 5, null, 5], 4),
    'c.jsonl': scored([1, 2], 4),
  })
  const [a, b, c] = ['a', 'b', 'c'].map((name) => join(folder, `${name}.jsonl`)) as [string, string, string]
  const ran = await runCommand(['diff', a, b, '--format', 'json'])
  const [found] = JSON.parse(ran.stdout)
  t.match(found, { rows: 12, changed: 7, gained: 1, lost: 1, groups: 3, bestChanged: 2 / 3 })
  // By hand: tau 2/3 and -1, rho 0.8 and -1; the third group ranks nothing.
  t.ok(Math.abs(found.kendall - (2 / 3 - 1) / 2) < 1e-12)
  t.ok(Math.abs(found.spearman - (0.8 - 1) / 2) < 1e-12)
  t.strictSame(found.moved.slice(0, 2), [
    { id: 'r4', a: 1, b: 3 },
    { id: 'r6', a: 3, b: 1 },
  ])
  t.match((await runCommand(['diff', a, b])).stdout, /66\.67 %[\s\S]*moved most/)
  t.match(await runCommand(['diff', a, c]), { code: 1, stderr: /row 2: .* has the row 'r2', .* has no row/ })
  t.match(await runCommand(['diff', a]), { code: 2, stderr: /two files/ })
})

t.test('two rewards are run on the same rows and compared', async (t) => {
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
    { b: at('kind.yaml'), rows: 3, changed: 1, bestChanged: 0, moved: [{ id: '1', a: 0, b: 0.1 }] },
  ])
  t.match(await runCommand(['diff', at('strict.yaml'), at('kind.yaml')]), { code: 2, stderr: /--input/ })
})

t.test("a judge is measured against people's labels at every threshold", async (t) => {
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
    code: 1,
    stderr: /'extra_info\.mark'/,
  })
  t.match(await runCommand(['calibrate', file]), { code: 2 })
  writeFileSync(people, JSON.stringify({ id: 'other', extra_info: { label: true } }))
  t.match(await runCommand(argv), { code: 1, stderr: /no row has a score/ })
})
