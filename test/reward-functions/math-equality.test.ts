import t from 'tap'
import mathBenchmark from '../../reward-functions/math-benchmark.ts'
import mathVerify from '../../reward-functions/math-verify.ts'
import { RuleTimeout } from '../../src/contract/define.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { benchmarks } from '../../src/grading/benchmark/index.ts'
import { valueBy } from '../support/rules.ts'

t.test('math-verify keeps its contract', async (t) => {
  ruleContract(t, mathVerify, {
    full: { response: '<think>6 * 7</think> It is $\\boxed{\\frac{84}{2}}$.', groundTruth: '42' },
    zero: { response: '\\boxed{43}', groundTruth: '42' },
    malformed: { response: '\\boxed{', groundTruth: '42' },
    hacks: {
      'a list of guesses': { response: 'The answer could be 40, 41, 42, 43, or 44.', groundTruth: '42' },
      'several boxes': { response: '\\boxed{41} \\boxed{42} \\boxed{43}', groundTruth: '42' },
      'all letters': { response: 'The answer is A, B, C, or D.', groundTruth: 'B' },
      'an answer in an answer': { response: '<answer><answer>42</answer>43</answer>', groundTruth: '42' },
      'a box in an answer in an answer': {
        response: '<answer>41<answer>\\boxed{42}</answer></answer>',
        groundTruth: '42',
      },
      'an empty box': { response: 'maybe 42? \\boxed{}', groundTruth: '42' },
      'right only while thinking': { response: '<think>\\boxed{42}</think> I pass.', groundTruth: '42' },
      'the answer denied': { response: 'The answer is definitely not 42.', groundTruth: '42' },
      'the equation of the question': { response: '\\boxed{2x = 6}', groundTruth: 'x = 3' },
      'true of all numbers': { response: '\\boxed{0 = 0}', groundTruth: 'x = 3' },
      'a number undefined on both sides': { response: '\\boxed{1/0}', groundTruth: '2/0' },
      'a factor of a hundred': { response: '\\boxed{4200}', groundTruth: '42' },
      'a tower of powers': { response: '\\boxed{9^{9^{9^{9}}}}', groundTruth: '42' },
      'not a number': { response: '\\boxed{NaN}', groundTruth: '42' },
    },
  })
})

t.test('math-verify: a score says how it was decided and what was taken for the answer', async (t) => {
  const found = (response: string, groundTruth: string) => scored(mathVerify, { response, groundTruth })
  t.match(found('\\boxed{42}', '42'), {
    parts: { string: 1 },
    details: { extracted: '42', decided_by: 'string' },
  })
  t.match(found('\\boxed{1+x}', 'x+1'), { parts: { algebra: 1 } })
  t.match(found('\\boxed{\\frac{\\tan x}{\\sin x}}', '\\sec x'), { parts: { numeric: 1 } })
  t.match(found('\\boxed{1/2}', '0.5'), { value: 1, parts: { exact: 1 } })
  t.strictSame(found('no idea', '0.5'), {
    value: 0,
    parts: {},
    details: { extracted: 'no idea', decided_by: null, reason: 'no_answer' },
  })
  t.strictSame(found('', '0.5'), {
    value: 0,
    parts: {},
    details: { extracted: null, decided_by: null, reason: 'no_answer' },
  })
})

t.test('math-verify: a truth is a number, a text, or a list of which any one will do', async (t) => {
  t.equal(scored(mathVerify, { response: '\\boxed{42}', groundTruth: 42 })?.value, 1)
  t.equal(scored(mathVerify, { response: '\\boxed{0.5}', groundTruth: ['1/3', '1/2'] })?.value, 1)
  t.equal(scored(mathVerify, { response: '\\boxed{1/4}', groundTruth: ['1/3', '1/2'] })?.value, 0)
  for (const groundTruth of [null, '', '  ', [], ['1', ''], { answer: 1 }, true]) {
    t.throws(() => row(mathVerify, { groundTruth }), `${JSON.stringify(groundTruth)} is refused, not scored`)
  }
})

t.test(
  'math-verify: options say how near a decimal must be, and whether names and forms matter',
  async (t) => {
    const value = valueBy(mathVerify)
    t.equal(value('0.33', '1/3', { precision: 2 }), 1)
    t.equal(value('0.33', '1/3', {}), 0)
    t.equal(value('$y = 3$', 'x = 3', { strict: false }), 1)
    t.equal(value('$1 < x < 2$', '(1,2)', { relation_as_set: true }), 1)
    t.throws(() => row(mathVerify, { groundTruth: '1', options: { precision: 0 } }))
  },
)

const value = (response: string, groundTruth: Json, benchmark: string, mode = 'strict') =>
  valueBy(mathBenchmark)(response, groundTruth, { benchmark, mode })

t.test('math-benchmark keeps its contract', async (t) => {
  ruleContract(t, mathBenchmark, {
    options: { benchmark: 'gsm8k' },
    full: { response: 'So 6 * 7 is 42.\n#### 42', groundTruth: '42' },
    zero: { response: '#### 43', groundTruth: '42' },
    malformed: { response: '\\boxed{', groundTruth: '42' },
    hacks: {
      'a factor of a hundred': { response: '\\boxed{4200}', groundTruth: '42' },
      'near enough': { response: '\\boxed{42.004}', groundTruth: '42' },
      'one number word': { response: '\\boxed{forty two or three}', groundTruth: '42' },
      'all letters': {
        response: 'A, B, C, D or E',
        groundTruth: 'E',
        options: { benchmark: 'aqua' },
      },
      'right only while thinking': { response: '<think>\\boxed{42}</think>', groundTruth: '42' },
    },
  })
})

t.test('math-benchmark keeps its contract in published mode', async (t) => {
  ruleContract(t, mathBenchmark, {
    options: { benchmark: 'math', mode: 'published' },
    full: { response: 'It is $\\boxed{\\frac12}$.', groundTruth: '\\frac{1}{2}' },
    zero: { response: '\\boxed{3}', groundTruth: '\\frac{1}{2}' },
    malformed: { response: '', groundTruth: '\\frac{1}{2}' },
    hacks: { 'a list': { response: '\\boxed{1, 2, 3}', groundTruth: '2' } },
  })
})

t.test('math-benchmark: each benchmark keeps its answer in a place of its own', async (t) => {
  const lines: Record<string, { line: { [key: string]: Json }; right: string; wrong: string }> = {
    math: { line: { solution: 'We get $\\boxed{\\frac12}$.' }, right: '\\boxed{0.5}', wrong: '\\boxed{2}' },
    math500: { line: { solution: 'We get $\\boxed{x+1}$.' }, right: '\\boxed{1+x}', wrong: '\\boxed{x}' },
    minerva_math: {
      line: { solution: '\\boxed{5.4e5} J' },
      right: '\\boxed{5.4 \\times 10^5}',
      wrong: '\\boxed{5}',
    },
    gsm8k: { line: { answer: 'So <<3*4=12>>12.\n#### 12' }, right: '#### 12', wrong: '#### 13' },
    svamp: { line: { Answer: 20.0 }, right: 'The answer is 20.', wrong: 'The answer is 21.' },
    asdiv: { line: { answer: '168 (pens)' }, right: '\\boxed{168}', wrong: '\\boxed{3}' },
    mawps: { line: { target: 0.125 }, right: '\\boxed{1/8}', wrong: '\\boxed{3}' },
    tabmwp: {
      line: { answer: '25%', ans_type: 'decimal_number' },
      right: '\\boxed{25\\%}',
      wrong: '\\boxed{26\\%}',
    },
    mmlu_stem: { line: { answer: 1 }, right: 'The answer is (B).', wrong: 'The answer is (C).' },
    sat_math: { line: { Answer: 'A' }, right: '\\boxed{A}', wrong: '\\boxed{B}' },
    aqua: { line: { correct: 'E' }, right: 'The answer is E.', wrong: 'The answer is D.' },
    gaokao2023en: {
      line: { answer: '$(0,1)\\cup(1,\\infty)$' },
      right: '\\boxed{(1,+\\infty)\\cup(0,1)}',
      wrong: '\\boxed{(0,1)}',
    },
    college_math: { line: { answer: '$-\\frac{1}{4}$' }, right: '\\boxed{-0.25}', wrong: '\\boxed{0.25}' },
    gaokao2024_mix: { line: { answer: '4', choice_answer: 'C' }, right: '答案是 C', wrong: '答案是 D' },
    aime24: { line: { answer: '025' }, right: '\\boxed{25}', wrong: '\\boxed{3}' },
    aime25: { line: { answer: '025' }, right: '\\boxed{025}', wrong: '\\boxed{26}' },
    amc23: { line: { answer: 50.0 }, right: '\\boxed{50}', wrong: '\\boxed{5}' },
    cmath: { line: { answer: '9/2' }, right: '\\boxed{4.5}', wrong: '\\boxed{9}' },
    lmb: { line: { answer: '7' }, right: '\\boxed{7}', wrong: '\\boxed{8}' },
  }
  t.strictSame(Object.keys(lines).sort(), [...benchmarks].sort())
  for (const [benchmark, { line, right, wrong }] of Object.entries(lines)) {
    for (const mode of ['strict', 'published']) {
      t.equal(value(wrong, line, benchmark, mode), 0, `${benchmark}, ${mode}: ${wrong}`)
      if (mode === 'strict') t.equal(value(right, line, benchmark), 1, `${benchmark}: ${right}`)
    }
  }
  t.equal(value('\\boxed{12}', { answer: '7/8', ans_type: 'integer_number' }, 'tabmwp'), 0)
  t.equal(value('\\boxed{1,200}', { answer: '1,200', ans_type: 'integer_number' }, 'tabmwp'), 1)
  t.equal(value('\\boxed{3}', { gt: '3', gt_cot: 'so \\boxed{3}' }, 'math'), 1)
  t.equal(value('\\boxed{3}', { gt: '3', gt_cot: '' }, 'minerva_math', 'published'), 1)
})

t.test('math-benchmark: a line without its answer is refused', async (t) => {
  t.throws(() => row(mathBenchmark, { groundTruth: {}, options: { benchmark: 'aqua' } }))
  t.throws(() =>
    row(mathBenchmark, {
      groundTruth: { answer: 'many', ans_type: 'integer_number' },
      options: { benchmark: 'tabmwp' },
    }),
  )
  t.throws(() => row(mathBenchmark, { groundTruth: '5', options: { benchmark: 'gsm9k' } }))
})

t.test('math-benchmark: the published grader is lenient in ways that the strict one is not', async (t) => {
  const lenient: [response: string, truth: string, benchmark: string][] = [
    ['\\boxed{4200}', '42', 'gsm8k'],
    ['\\boxed{0.42}', '42', 'gsm8k'],
    ['\\boxed{42.001}', '42', 'gsm8k'],
    ['<think>\\boxed{42}</think>', '42', 'gsm8k'],
    ['\\boxed{two thirds}', '2', 'math'],
    ['A is wrong, B is wrong, and so C', 'C', 'aqua'],
    ['\\boxed{(1,2]}', '(1,2)', 'math'],
  ]
  for (const [response, truth, benchmark] of lenient) {
    t.equal(value(response, truth, benchmark, 'published'), 1, `published: ${response}`)
    t.equal(value(response, truth, benchmark), 0, `strict: ${response}`)
  }
})

t.test(
  'math-benchmark: an answer too long for the published steps ends as a timeout, others in time',
  async (t) => {
    const long = `The answer is ${'\\text{'.repeat(200_000)}`
    t.throws(() => value(long, '42', 'math', 'published'), RuleTimeout)
    const pieces =
      String.raw`\text{|1|\begin{array}{|=|answer is| a |.|/|\sqrt|{|9/|boxed|答案是|\frac`.split('|')
    for (const piece of pieces) {
      const start = process.cpuUsage()
      for (const benchmark of ['math', 'aqua']) {
        t.equal(
          value(`The answer is ${piece.repeat(20_000 / piece.length - 10)}`, '42', benchmark, 'published'),
          0,
        )
      }
      const ms = process.cpuUsage(start).user / 1000
      t.ok(ms < 2500, `${piece}: ${ms.toFixed(0)} ms`)
    }
  },
)
