import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { agrees } from '../vectors/equal.ts'
import { runFile } from '../vectors/run.ts'

const vectors = join('test/fixtures/vectors')

t.test('a file of vectors is known by its folder and its name', async (t) => {
  t.strictSame(runFile(join(vectors, 'gsm8k-progressive/compute_score.jsonl')), {
    passed: 4,
    total: 4,
    differing: [],
  })
  const folder = t.testdir({ other: { 'compute_score.jsonl': '' }, 'gsm8k-progressive': { 'x.jsonl': '{}' } })
  t.throws(() => runFile(join(folder, 'other/compute_score.jsonl')), /no adapter for the folder 'other'/)
  t.match(runFile(join(folder, 'gsm8k-progressive/x.jsonl')), {
    passed: 0,
    differing: [/no adapter for 'x'/],
  })
})

t.test('a file of hacks runs in both modes', async (t) => {
  t.match(runFile(join(vectors, 'gsm8k-progressive/hacks.jsonl')), { passed: 2, total: 2 })
})

t.test('every file of our own cases agrees', async (t) => {
  for (const file of readdirSync(vectors, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.jsonl')) t.strictSame(runFile(join(vectors, file)).differing, [], file)
  }
})

t.test('what differs is named with both answers', async (t) => {
  const score = (id: string, rest: object): string =>
    JSON.stringify({
      id,
      function: 'compute_score',
      input: { solution_str: 'I say\n#### 1', ground_truth: '1' },
      ...rest,
    })
  const folder = t.testdir({
    'gsm8k-progressive': {
      'compute_score.jsonl': `${score('a', { expected: 0.5 })}\n${score('b', { error: 'type' })}\n`,
      'hacks.jsonl': score('c', { reference_score: 1, sound_score: 0 }),
    },
  })
  t.strictSame(runFile(join(folder, 'gsm8k-progressive/compute_score.jsonl')).differing, [
    'a: found 1, wanted 0.5',
    'b: found 1, wanted an error',
  ])
  t.strictSame(runFile(join(folder, 'gsm8k-progressive/hacks.jsonl')), {
    passed: 0,
    total: 1,
    differing: ['c (sound): found 1, wanted 0'],
  })
})

t.test('numbers agree within the tolerance, and what JSON cannot spell by its name', async (t) => {
  const same: [unknown, unknown][] = [
    [1, 1 + 1e-12],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [9007199254740993n, { int: '9007199254740993' }],
    [5n, 5],
    [undefined, null],
    [
      [1, { a: 'x', b: undefined }],
      [1, { a: 'x' }],
    ],
  ]
  for (const [found, wanted] of same) t.ok(agrees(found, wanted, 1e-9))
  const different: [unknown, unknown][] = [
    [1, 1.001],
    [1, '1'],
    [1, true],
    [Number.NaN, 0],
    [5n, 5.5],
    [5n, null],
    [null, 0],
    [{}, null],
    [[], {}],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
  ]
  for (const [found, wanted] of different) t.notOk(agrees(found, wanted, 1e-9))
})

t.test('the command prints a line for each file and exits 1 if any answer differs', async (t) => {
  const run = (...paths: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, ['dist/test/vectors/main.js', ...paths], { encoding: 'utf8' })
  const own = join(vectors, 'verl-study/own.jsonl')
  const good = run(own, join(vectors, 'verl-study/hacks.jsonl'))
  t.equal(good.stdout, `${own} 14/14\n${join(vectors, 'verl-study/hacks.jsonl')} 2/2\n`)
  t.equal(good.status, 0, good.stderr)
  const line = JSON.stringify({ id: 'a', input: { expr: '1' }, expected: 2 })
  const folder = t.testdir({ 'verl-study': { 'evaluate_expression.jsonl': line } })
  const bad = join(folder, 'verl-study/evaluate_expression.jsonl')
  const differing = run(bad)
  t.equal(differing.stdout, `${bad} 0/1\n  a: found 1, wanted 2\n`)
  t.equal(differing.status, 1)
  t.equal(run(join(folder, 'none/x.jsonl')).status, 1)
  t.match(run(), { status: 1, stderr: /^usage/ })
})
