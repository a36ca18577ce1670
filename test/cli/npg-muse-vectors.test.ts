import { join } from 'node:path'
import t from 'tap'
import { runFile } from '../vectors/run.ts'

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

t.test('vectors of training answer as npg-muse and its default config do', async (t) => {
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
          reference_expected: { score: 0, ...parts, answer_accuracy: 0 },
          sound_expected: { score: 1, ...parts },
          sound_flags: ['better_than_exact'],
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
    t.strictSame(runFile(join(folder, 'npg-muse', `${file}.jsonl`)), { passed: total, total, differing: [] })
  }
})

t.test('vectors of the evaluation answer as the functions of their names do', async (t) => {
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
    t.strictSame(runFile(join(folder, 'npg-muse-eval', `${file}.jsonl`)), {
      passed: total,
      total,
      differing: [],
    })
  }
})
