import t from 'tap'
import mathVerify from '../../reward-functions/math-verify.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'

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

t.test('a score says how it was decided and what was taken for the answer', async (t) => {
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
    details: { extracted: 'no idea', decided_by: null },
  })
  t.strictSame(found('', '0.5'), { value: 0, parts: {}, details: { extracted: null, decided_by: null } })
})

t.test('a truth is a number, a text, or a list of which any one will do', async (t) => {
  t.equal(scored(mathVerify, { response: '\\boxed{42}', groundTruth: 42 })?.value, 1)
  t.equal(scored(mathVerify, { response: '\\boxed{0.5}', groundTruth: ['1/3', '1/2'] })?.value, 1)
  t.equal(scored(mathVerify, { response: '\\boxed{1/4}', groundTruth: ['1/3', '1/2'] })?.value, 0)
  for (const groundTruth of [null, '', '  ', [], ['1', ''], { answer: 1 }, true]) {
    t.throws(() => row(mathVerify, { groundTruth }), `${JSON.stringify(groundTruth)} is refused, not scored`)
  }
})

t.test('options say how near a decimal must be, and whether names and forms matter', async (t) => {
  const value = (response: string, groundTruth: string, options: { [key: string]: number | boolean }) =>
    scored(mathVerify, { response, groundTruth, options })?.value
  t.equal(value('0.33', '1/3', { precision: 2 }), 1)
  t.equal(value('0.33', '1/3', {}), 0)
  t.equal(value('$y = 3$', 'x = 3', { strict: false }), 1)
  t.equal(value('$1 < x < 2$', '(1,2)', { relation_as_set: true }), 1)
  t.throws(() => row(mathVerify, { groundTruth: '1', options: { precision: 0 } }))
})
