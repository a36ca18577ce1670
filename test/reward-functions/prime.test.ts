import t from 'tap'
import geo3k from '../../reward-functions/geo3k.ts'
import primeMath from '../../reward-functions/prime-math.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const prime = (answer: string, truth: Json, mode = 'sound'): number | undefined =>
  scored(primeMath, { response: `So the answer is ${answer}`, groundTruth: truth, options: { mode } })?.value
const geo = (answer: string, truth: Json, mode = 'sound'): number | undefined =>
  scored(geo3k, {
    response: `<think>By Thales.</think>\\boxed{${answer}}`,
    groundTruth: truth,
    options: { mode },
  })?.value

t.test('prime-math pays for the stated answer, exactly', async (t) => {
  ruleContract(t, primeMath, {
    full: { response: 'So the answer is \\boxed{\\frac{3}{4}}.', groundTruth: '0.75' },
    zero: { response: 'I do not know', groundTruth: '0.75' },
    malformed: { response: 'The answer is', groundTruth: '0.75' },
    hacks: {
      'a hundredfold': { response: 'The answer is 75', groundTruth: '0.75' },
      nearly: { response: 'The answer is 0.75001', groundTruth: '0.75' },
      'program text': { response: 'The answer is max(42,0)+0*\\pi', groundTruth: '42' },
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
  ]
  for (const [answer, truth] of same) t.equal(prime(answer, truth), 1, `${answer} is ${truth}`)
  const different: [string, Json][] = [
    ['1/0', '0'],
    ['(1,2)', '[1,2]'],
    ['(1,2,3)', '(1,2)'],
    ['1.414213562373', '\\sqrt{2}'],
    ['x+', 'x'],
    ['x', 'y'],
    ['\\frac{1}{2}{', '0.5'],
    ['1e2', '100'],
  ]
  for (const [answer, truth] of different) t.equal(prime(answer, truth), 0, `${answer} is not ${truth}`)
  for (const truth of [null, ' ', {}]) t.throws(() => row(primeMath, { groundTruth: truth }))
})

t.test('prime-math in reference mode keeps the faults of the original', async (t) => {
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
  for (const [answer, truth] of same) t.equal(prime(answer, truth, 'reference'), 1, `${answer} is ${truth}`)
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
    t.equal(prime(answer, truth, 'reference'), 0, `${answer} is not ${truth}`)
  const score = scored(primeMath, {
    response: 'Step 2: \\boxed{500}',
    groundTruth: '5',
    options: { mode: 'reference' },
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
  t.equal(geo('0.05', '5', 'reference'), 0.1)
  t.equal(geo('5 liters', '5 liter', 'reference'), 0.1, 'liters are no unit there')
  t.equal(geo('- 5', '-5', 'reference'), 1)
  const none = { response: 'no box', groundTruth: null, options: { mode: 'reference' } }
  t.equal(scored(geo3k, none)?.value, 0.9, 'the original compares None')
  t.throws(() => row(geo3k, { groundTruth: '' }))
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    const both = (text: string): void => {
      prime(`\\frac{${text}}{2}`, 'x^2', mode)
      scored(geo3k, { response: text, groundTruth: '5', options: { mode } })
    }
    nearLinear(t, both, 10_000)
  }
})
