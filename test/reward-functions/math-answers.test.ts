import t from 'tap'
import geo3k from '../../reward-functions/geo3k.ts'
import mathBoxed from '../../reward-functions/math-boxed.ts'
import mathDapo from '../../reward-functions/math-dapo.ts'
import npgMuseMath from '../../reward-functions/npg-muse-math.ts'
import primeMath from '../../reward-functions/prime-math.ts'
import type { Json } from '../../src/contract/index.ts'
import { type RowParts, row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'

const prime = (answer: string, truth: Json, mode = 'strict') =>
  valueBy(primeMath)(`So the answer is ${answer}`, truth, { mode })
const geo = (answer: string, truth: Json, mode = 'strict') =>
  valueBy(geo3k)(`<think>By Thales.</think>\\boxed{${answer}}`, truth, { mode })
const boxed = valueBy(mathBoxed)
const dapo = valueBy(mathDapo)
const published = { mode: 'published' }

t.test('prime-math pays for the stated answer, exactly', async (t) => {
  ruleContract(t, primeMath, {
    full: { response: 'So the answer is \\boxed{\\frac{3}{4}}.', groundTruth: '0.75' },
    zero: { response: 'I do not know', groundTruth: '0.75' },
    malformed: { response: 'The answer is', groundTruth: '0.75' },
    hacks: {
      'a hundredfold': { response: 'The answer is 75', groundTruth: '0.75' },
      nearly: { response: 'The answer is 0.75001', groundTruth: '0.75' },
      'program text': { response: 'The answer is max(len("x"),42)', groundTruth: '42' },
      'thinking without an end': { response: '<think>The answer is 0.75', groundTruth: '0.75' },
      'brackets forgotten': { response: 'The answer is \\frac{x+1}{2}', groundTruth: 'x+1/2' },
      'a second guess as a unit': { response: 'The answer is 7\\text{ or 8}', groundTruth: '7' },
      'a word of the same letters': { response: 'The answer is evif', groundTruth: 'five' },
    },
  })
  const same: [string, Json][] = [
    ['\\frac{3}{4}', '3/4'],
    ['$-\\frac12$', '-0.5'],
    ['{5}', 5],
    ['1,000', '1000'],
    ['.5', '\\frac{1}{2}'],
    ['5 \\text{ cm}', '5'],
    ['\\frac{x+1}{2}', '(x+1)/2'],
    ['(x+1)^2', 'x^2+2x+1'],
    ['2\\sqrt{2}', '\\sqrt{8}'],
    ['2\\pi r', 'r*2\\pi'],
    ['(\\frac{1}{2}, 3)', '(0.5,3)'],
    ['\\text{yes}', '\\text{yes}'],
    ['1.414213562373', '\\sqrt{2}'],
    ['1e2', '100'],
  ]
  for (const [answer, truth] of same) t.equal(prime(answer, truth), 1, `${answer} is ${truth}`)
  const different: [string, Json][] = [
    ['1/0', '0'],
    ['(1,2)', '[1,2]'],
    ['(1,2,3)', '(1,2)'],
    ['1.4142', '\\sqrt{2}'],
    ['x+', 'x'],
    ['x', 'y'],
    ['\\frac{1}{2}{', '0.5'],
  ]
  for (const [answer, truth] of different) t.equal(prime(answer, truth), 0, `${answer} is not ${truth}`)
  for (const truth of [null, ' ', {}]) t.throws(() => row(primeMath, { groundTruth: truth }))
})

t.test('prime-math in published mode keeps the faults of the original', async (t) => {
  const same: [string, Json][] = [
    ['500', '5'],
    ['0.0500004', '5'],
    ['max(42,0)+0*\\pi', '42'],
    ['abs(-2)*\\pi', '6.28'],
    ['\\frac{x+1}{2}', 'x+1/2'],
    ['4\\pi', '12.56'],
    ['90 degrees', '90'],
    ['50\\%', '50'],
    ['$50', '50'],
    ['101_2', '101'],
    ['3\\frac12', '7/2'],
    ['2 million', '2*10^6'],
    ['[1,2]', '[1, 2]'],
    ['(1.00001,2)', '(1,2)'],
    ['1.00001,x', '1,x'],
    ['{x}', 'x'],
    ['None', null],
    ['1{,}000', '1000'],
    ['x', '(x)'],
    ['[x]', 'x'],
  ]
  for (const [answer, truth] of same) t.equal(prime(answer, truth, 'published'), 1, `${answer} is ${truth}`)
  const different: [string, Json][] = [
    ['', '5'],
    ['5.1', '5'],
    ['a+b+c', 'c+b+a'],
    ['2^{10}', '1024'],
    ['x^2y^', 'x'],
    ['2/4', '1/2'],
    ['(1,2)', '[1,2]'],
    ['a,b', 'a,c'],
    ['a,b', 'a,b,c'],
    ['x_2', 'x'],
    ['max(a)\\pi', '3'],
    [`${'max('.repeat(30)}1${')'.repeat(30)}\\pi`, '3.1'],
    ['1/0\\pi', '3'],
    [`${'\\frac{'.repeat(200)}1${'}'.repeat(200)}`, '1'],
    ['\\unknown{5', '5'],
  ]
  for (const [answer, truth] of different)
    t.equal(prime(answer, truth, 'published'), 0, `${answer} is not ${truth}`)
  const score = scored(primeMath, {
    response: 'Step 2: \\boxed{500}',
    groundTruth: '5',
    options: { mode: 'published' },
  })
  t.strictSame(score?.parts, { correctness: 1, format: 1 })
})

t.test('geo3k wants thinking and a box', async (t) => {
  ruleContract(t, geo3k, {
    full: { response: '<think>By Thales.</think>So \\boxed{2\\sqrt{2}}.', groundTruth: '\\sqrt{8}' },
    zero: { response: '\\boxed{5}', groundTruth: '5' },
    malformed: { response: '<think>By Thales.</think>\\boxed{5', groundTruth: '5' },
    hacks: {
      'blank thinking': { response: '<think> </think>\\boxed{5}', groundTruth: '5' },
      'an empty box': { response: '<think>x</think>\\boxed{}', groundTruth: '5' },
      'a box in the thinking': { response: '<think>\\boxed{5}</think>I pass', groundTruth: '5' },
      'thinking again': { response: '<think>x</think>\\boxed{5}<think>', groundTruth: '5' },
    },
  })
  t.equal(geo('6', '5'), 0.1)
  t.equal(geo('5\\text{ cm}', 5), 1)
  t.equal(geo('0.05', '5', 'published'), 0.1)
  t.equal(geo('5 liters', '5 liter', 'published'), 0.1, 'liters are no unit there')
  t.equal(geo('- 5', '-5', 'published'), 1)
  const none = { response: 'no box', groundTruth: null, options: { mode: 'published' } }
  t.equal(scored(geo3k, none)?.value, 0.9, 'the original compares None')
  t.throws(() => row(geo3k, { groundTruth: '' }))
})

t.test('math-boxed pays for what the last box holds, by value', async (t) => {
  ruleContract(t, mathBoxed, {
    full: { response: 'So \\boxed{\\frac12}.', groundTruth: '\\frac{1}{2}' },
    zero: { response: 'So 1/2.', groundTruth: '\\frac{1}{2}' },
    malformed: { response: '\\boxed{\\frac{1}{2}', groundTruth: '\\frac{1}{2}' },
    hacks: {
      'right only while thinking': { response: '<think>\\boxed{7}</think>I pass', groundTruth: '7' },
      'thinking without an end': { response: '<think>\\boxed{7}', groundTruth: '7' },
      'two guesses': { response: '\\boxed{7} or \\boxed{8}', groundTruth: '7' },
      'a second guess as a unit': { response: '\\boxed{7\\text{ or 8}}', groundTruth: '7' },
      'a frame that is no box': { response: '\\fbox{7}', groundTruth: '7' },
      'texts that cannot be normalised': { response: '\\boxed{\\sqrt}', groundTruth: '7' },
    },
  })
  t.equal(boxed('\\boxed{\\$5}', 5), 1)
  t.equal(boxed('\\boxed{0.5}', '1/2'), 1)
  t.equal(boxed('\\boxed{x=5}', '5'), 1)
  t.equal(boxed('\\boxed 5$', '5'), 1)
})

t.test('math-boxed: published mode keeps the faults of the original', async (t) => {
  t.equal(boxed('\\boxed{\\sqrt}', '\\sqrt', published), 1)
  t.equal(boxed('\\boxed{}', '', published), 1)
  t.equal(boxed('\\boxed{5}', 5, published), 0)
  t.equal(boxed('\\boxed{5 \\boxed{6}}', '5', published), 0)
})

t.test('math-boxed: a row without an answer is rejected, not scored', async (t) => {
  for (const truth of ['', null, '\\sqrt']) t.throws(() => row(mathBoxed, { groundTruth: truth }), `${truth}`)
})

t.test('math-dapo pays for the answer after its mark, or in a box', async (t) => {
  ruleContract(t, mathDapo, {
    full: { response: 'So it is.\nAnswer: $42$', groundTruth: '42' },
    zero: { response: 'So 42.', groundTruth: '42' },
    malformed: { response: 'Answer:', groundTruth: '42' },
    hacks: {
      'right only while thinking': { response: '<think>Answer: 42</think>I pass', groundTruth: '42' },
      'thinking without an end': { response: '<think>Answer: 42', groundTruth: '42' },
      'an answer that is not there': { response: '', groundTruth: '[INVALID]' },
      'a list for a number': { response: 'Answer: 4,2', groundTruth: '42' },
      'nothing but a unit': { response: 'Answer: points', groundTruth: '42 points' },
    },
  })
  t.equal(dapo('Answer: 1,042 dollars', 1042), 1)
  t.equal(dapo('Answer: 2, 3', '2,3'), 1)
  t.equal(dapo('Answer: 41 is too small.\nanswer : x = 42', '42'), 1)
  t.equal(dapo(`Answer: 42${'.'.repeat(400)}`, '42'), -1, 'too early')
})

t.test('math-dapo: strict_box_verify wants the answer in the last box', async (t) => {
  const strict = { strict_box_verify: true }
  t.equal(dapo('\\boxed{41} or \\boxed{42}', '42', strict), -1, 'two answers')
  t.equal(dapo('\\boxed{41} \\boxed{42}', '42', strict), -1, 'two answers side by side')
  t.equal(dapo('\\boxed{41} is too small.\n\n\\boxed{42}', '42', strict), 1)
  t.equal(dapo('\\boxed{42', '42', strict), -1)
  t.equal(dapo('Answer: 42', '42', strict), -1)
})

t.test('math-dapo: published mode keeps the faults of the original', async (t) => {
  const box = { ...published, strict_box_verify: true }
  t.equal(dapo('\\boxed{ 42}', '42', box), -1, 'the original wants the very text')
  t.equal(dapo('\\boxed{42}', '42', { ...box, pause_tokens_index: [0, 0, 0, 100] }), 1)
  t.equal(dapo('\\boxed{42}', '42', { ...box, pause_tokens_index: [0, 0, 0, 101] }), -1)
  t.equal(dapo('', '[INVALID]', published), 1)
  t.equal(dapo('Answer: 4,2', '42', published), 1)
})

t.test('math-dapo: a row without an answer is rejected, not scored', async (t) => {
  for (const truth of ['', null, 'points']) t.throws(() => row(mathDapo, { groundTruth: truth }), `${truth}`)
})

const thought = '<think>\nHalf of it.\n</think>\n'
const loop = 'Wait, let me recheck once more. '.repeat(6)
const answer = (response: string, groundTruth = '\\frac{1}{2}', options = {}): RowParts => ({
  response,
  groundTruth,
  options,
})

t.test('npg-muse-math keeps its contract', async (t) => {
  ruleContract(t, npgMuseMath, {
    full: answer(`${thought}So $\\boxed{\\dfrac12}$.`),
    zero: answer(`${loop}So $\\boxed{2}$.`),
    malformed: answer(`${thought}So $\\boxed{\\frac12$.`),
    hacks: {
      'right only while thinking': answer('<think>\n\\boxed{\\frac12}</think> I pass'),
      'an opening tag for a thought': answer('<think>\n</think>\\boxed{\\frac12}'),
      'a loop': answer(`${thought}${loop}\\boxed{\\frac12}`),
      'no answer to an empty one': answer(`${thought}\\boxed{}`),
    },
  })
})

t.test('geo3k: line ends of either kind and white space before the thinking cost nothing', async (t) => {
  const response = '<think>\r\nBy Thales.\r\n</think>\r\n\\boxed{5}'
  t.equal(scored(geo3k, { response, groundTruth: '5' })?.value, 1)
  t.equal(scored(geo3k, { response: `\n${response}`, groundTruth: '5' })?.value, 1)
})

t.test('npg-muse-math: parts are reported apart', async (t) => {
  t.match(scored(npgMuseMath, answer(`${thought}${loop}\\boxed{0.5}`)), {
    value: 2,
    parts: { outcome_score: 1, format_score: 1, repeat_score: 1 },
    details: { extracted: '0.5' },
  })
  t.match(scored(npgMuseMath, answer('none')), { value: 0, details: { extracted: null, reason: 'no_box' } })
  t.match(scored(npgMuseMath, answer('<think>\n\\boxed{0.5}')), { value: 0 })
  t.throws(() => row(npgMuseMath, answer('', '')), 'an empty truth is refused')
})

t.test('npg-muse-math: published mode keeps the faults of the original', async (t) => {
  const published = (response: string, truth: string) =>
    scored(npgMuseMath, answer(response, truth, { mode: 'published' }))?.value
  t.equal(published('<think>\n\\boxed{}', ''), 3, 'nothing equals nothing')
  t.equal(published('\\boxed{\\sqrt}', '\\sqrt'), 2, 'texts without a spelling are compared as they stand')
  t.equal(published('<think>\n\\boxed{0.5}', '\\frac12'), 3, 'thinking is searched')
})

t.test('a formula beside a box that says otherwise leaves no answer', async (t) => {
  const cases: readonly (readonly [response: string, truth: string])[] = [
    ['I cannot decide between $20$ and $\\boxed{1024}$.', '1024'],
    ['$\\boxed{\\ln 2}$\n\nEDIT: I made an error above. The answer should be $\\ln 3$.', '\\ln 2'],
    ['$\\boxed{25\\%}$ is an intermediate value. The final answer is $52\\%$.', '25\\%'],
    ['$\\boxed{(2,5]}$ should be replaced by $[2,5]$.', '(2,5]'],
    ['For another problem the answer was $\\boxed{42}$.', '42'],
    ['It depends: $\\boxed{3i}$ for some readers, $-3$ for others.', '3i'],
    ['\\boxed{41}<|im_end|>\n<|im_start|>assistant\n\\boxed{42}', '42'],
    ['The answer is $41$.\n```python\nprint("\\\\boxed{42}")\n```', '42'],
    ['答えは $\\boxed{42}$ ではありません。', '42'],
    ['정답은 $\\boxed{42}$ 이 아닙니다.', '42'],
    ['$\\boxed{42}$\n\nCheck: this does not satisfy the equation.', '42'],
  ]
  for (const [response, truth] of cases) t.equal(boxed(response, truth), 0, response)
  for (const [response, truth] of [
    ['The answer is $\\boxed{(1,-2,4)}$, not $(1,2,4)$.', '(1,-2,4)'],
    ['And there it is: $\\boxed{263}$!', '263'],
    ['$\\boxed{\\frac{3}{4}}$\n\nCheck: $1-\\frac14=\\frac34$, as it must be.', '\\frac{3}{4}'],
    ['$\\boxed{42}$ or, in words, forty-two.', '42'],
  ] as const)
    t.equal(boxed(response, truth), 1, response)
})

t.test('hostile text is scored in linear time', async (t) => {
  const box = (text: string): string => `\\boxed{${text}}`
  for (const mode of modes) {
    const both = {
      [`prime-math, ${mode}`]: (text: string) => prime(`\\frac{${text}}{2}`, 'x^2', mode),
      [`geo3k, ${mode}`]: (text: string) => valueBy(geo3k)(text, '5', { mode }),
    }
    eachNearLinear(t, both, 10_000)
    eachNearLinear(t, {
      [`math-boxed, ${mode}`]: (text) => boxed(text, '5', { mode }),
      [`math-boxed in its box, ${mode}`]: (text) => boxed(box(text.replaceAll(/[{}]/g, '')), '5', { mode }),
      [`math-dapo, ${mode}`]: (text) => dapo(`Answer: ${text}`, '42', { mode }),
      [`math-dapo in its box, ${mode}`]: (text) => dapo(text, '42', { mode, strict_box_verify: true }),
    })
  }
  eachNearLinear(t, { 'npg-muse-math': (text) => scored(npgMuseMath, answer(box(text))) })
})
