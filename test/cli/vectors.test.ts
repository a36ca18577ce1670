import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { agrees } from '../vectors/equal.ts'
import { runFile } from '../vectors/run.ts'

const vectors = join('test/fixtures/vectors')

t.test('a file of vectors is recognised by its folder and name', async (t) => {
  t.strictSame(await runFile(join(vectors, 'gsm8k-progressive/compute_score.jsonl')), {
    passed: 4,
    total: 4,
    elsewhere: [],
    differing: [],
  })
  const folder = t.testdir({ other: { 'compute_score.jsonl': '' }, 'gsm8k-progressive': { 'x.jsonl': '{}' } })
  await t.rejects(runFile(join(folder, 'other/compute_score.jsonl')), /no adapter for the folder 'other'/)
  t.match(await runFile(join(folder, 'gsm8k-progressive/x.jsonl')), {
    passed: 0,
    differing: [/no adapter for 'x'/],
  })
})

t.test('a file of hacks runs in both modes', async (t) => {
  t.match(await runFile(join(vectors, 'gsm8k-progressive/hacks.jsonl')), { passed: 2, total: 2 })
})

t.test('all files of our own cases agree', async (t) => {
  const files = readdirSync(vectors, { recursive: true, encoding: 'utf8' })
  const cases = files.filter((file) => file.endsWith('.jsonl'))
  t.ok(cases.length > 5, `${cases.length} files`)
  for (const file of cases) t.strictSame((await runFile(join(vectors, file))).differing, [], file)
})

t.test('each difference is reported with both answers', async (t) => {
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
      'hacks.jsonl': score('c', { published_score: 1, strict_score: 0 }),
    },
  })
  t.strictSame((await runFile(join(folder, 'gsm8k-progressive/compute_score.jsonl'))).differing, [
    'a: found 1, wanted 0.5',
    'b: found 1, wanted an error',
  ])
  t.strictSame(await runFile(join(folder, 'gsm8k-progressive/hacks.jsonl')), {
    passed: 0,
    total: 1,
    elsewhere: [],
    differing: ['c (strict): found 1, wanted 0'],
  })
})

t.test('cases of a function that the gateway does not have are counted apart', async (t) => {
  const median = (value: number) =>
    JSON.stringify({
      id: 'a',
      function: 'rewardkit_median',
      input: { runs: [0, 0.25, 1, 0.5].map((one) => [{ name: 'c0', value: one }]) },
      expected: [{ name: 'c0', value, error: null }],
    })
  const mean = JSON.stringify({
    id: 'b',
    function: 'healthbench_mean',
    input: { scores: [1] },
    expected: 1,
  })
  const folder = t.testdir({ rubric: { 'cases.jsonl': `${median(0.25)}\n${median(0.375)}\n${mean}\n` } })
  t.match(await runFile(join(folder, 'rubric/cases.jsonl')), {
    passed: 1,
    total: 2,
    elsewhere: [/^1 cases of healthbench_mean are not compared: /],
    differing: [/^a: found .*0\.25/],
  })
})

t.test('numbers are compared within the tolerance, and non-JSON numbers by name', async (t) => {
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

t.test('the command prints a line per file and exits with 1 if an answer differs', async (t) => {
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

const graph = {
  nodes: ['Ann', 'Bob', 'Cid'].map((name, id) => ({ id, name })),
  links: [
    { source: 0, target: 1 },
    { source: 1, target: 2 },
  ],
}
const lines = (rows: readonly object[]): string =>
  rows.map((row, at) => JSON.stringify({ id: `row-${at}`, ...row })).join('\n')

const clique = {
  data_source: 'MCP_easy_binary_format_repeat',
  extra_info: { graph, exact_answer: 2 },
  ground_truth: '',
}
const right = { score: 1.5, answer_accuracy: 1, format_accuracy: 1, repeat_proportion: 0 }
const parts = { answer_accuracy: 1, format_accuracy: 0, repeat_proportion: 0 }

t.test('training vectors agree with npg-muse and its default config', async (t) => {
  const folder = t.testdir({
    'npg-muse': {
      'MCP.jsonl': lines([
        { ...clique, response: '<think>\n[Ann, Bob]', expected: right },
        {
          ...clique,
          response: '[Ann, Bob]',
          extra_info: { graph, exact_answer: 'x' },
          expected: {},
          reference_raises: true,
        },
      ]),
      'hacks.jsonl': lines([
        {
          ...clique,
          response_parts: [
            ['<think>\n[Ann', 1],
            [', Zoe', 3],
            [', Bob]', 1],
          ],
          reference_expected: right,
          sound_expected: { score: 0, answer_accuracy: 0, format_accuracy: 0, repeat_proportion: 0 },
          sound_flags: [],
        },
        {
          ...clique,
          extra_info: { graph, exact_answer: 1 },
          response: '[Ann, Bob]',
          published_expected: { score: 0, ...parts, answer_accuracy: 0 },
          strict_expected: { score: 1, ...parts },
          strict_flags: ['better_than_exact'],
        },
      ]),
      'repetition.jsonl': lines([
        { parts: [['unit of twenty two....', 5]], expected: { has_repetition: true }, true_repetition: true },
        { parts: [['a', 99]], expected: { has_repetition: false } },
      ]),
      'dispatch.jsonl': lines([
        { ...clique, response: '<think>\n[Ann, Bob]', expected: right },
        {
          data_source: 'openai/gsm8k',
          response: '#### 1 #### 7',
          ground_truth: '7',
          extra_info: null,
          expected: { score: 1 },
        },
        {
          data_source: 'Prealgebra',
          response: '\\boxed{.5}',
          ground_truth: '0.5',
          expected: { score: 2, outcome_score: 1, format_score: 0, repeat_score: 0 },
        },
        {
          data_source: 'aime24',
          response: 'Answer: 8',
          ground_truth: '7',
          expected: { score: -1, acc: false, pred: '8' },
        },
        {
          data_source: 'unheard-of',
          response: '',
          ground_truth: '',
          expected: { error: 'x' },
          reference_raises: true,
        },
      ]),
    },
  })
  for (const [file, total] of Object.entries({ MCP: 2, hacks: 2, repetition: 2, dispatch: 5 })) {
    t.strictSame(await runFile(join(folder, 'npg-muse', `${file}.jsonl`)), {
      passed: total,
      total,
      elsewhere: [],
      differing: [],
    })
  }
})

t.test('evaluation vectors agree with the functions of the same names', async (t) => {
  const problem = { graph, ends: [0, 2] }
  const boxed = { accurate: true, feasible: true, hallucination: false }
  const solution = { header: ['House', 'Name'], rows: [['1', 'Ann']] }
  const output = '{"reasoning":"so","solution":{"House 1":{"Name":"Ann"}}}'
  const solved = { parsed: true, solved: true, correct_cells: 1, total_cells: 1, reasoning_length: 2 }
  const folder = t.testdir({
    'npg-muse-eval': {
      'grapharena.jsonl': lines([
        {
          task: 'Distance',
          response: '[Ann, Bob, Cid]',
          problem,
          exact_answer: 2,
          expected: { value: 2 },
        },
      ]),
      'grapharena-boxed.jsonl': lines([
        {
          task: 'MIS',
          prompt: 'as [A]',
          response: '\\boxed{Ann, Cid}',
          problem,
          exact_answer: 2,
          expected: { ...boxed, generated_answer: '[Ann, Cid]', value: 2 },
        },
      ]),
      'graphwiz.jsonl': lines([
        { task: 'cycle', truth: '### No', response: '### no', expected: { value: true } },
        { task: 'cycle', truth: '### No', response: 'yes', expected: { value: null } },
      ]),
      'graphwiz-revised.jsonl': lines([
        {
          task: 'flow',
          prompt: '',
          truth: '### 3',
          response: '### 3.',
          model: 'GraphWiz-7B',
          expected: { correct: true, generated_answer: 3 },
        },
        {
          task: 'cycle',
          prompt: '',
          truth: '### Yes',
          response: 'yes',
          model: 'other',
          expected: { correct: false, generated_answer: null },
        },
        {
          task: 'triplet',
          prompt: '',
          truth: '3',
          response: '\\boxed{3}',
          model: '',
          expected: { error: 'ValueError' },
        },
      ]),
      'node-link.jsonl': lines([
        { answer: 'Yes', response: '\\boxed{yes}', expected: { correct: true, generated_answer: 'yes' } },
      ]),
      'zebralogic.jsonl': lines([
        { mode: 'single', solution, outputs: [output], expected: solved },
        { mode: 'best_of_n', solution, outputs: ['none', output], expected: solved },
      ]),
    },
  })
  const totals = {
    grapharena: 1,
    'grapharena-boxed': 1,
    graphwiz: 2,
    'graphwiz-revised': 3,
    'node-link': 1,
    zebralogic: 2,
  }
  for (const [file, total] of Object.entries(totals)) {
    t.strictSame(await runFile(join(folder, 'npg-muse-eval', `${file}.jsonl`)), {
      passed: total,
      total,
      elsewhere: [],
      differing: [],
    })
  }
})
