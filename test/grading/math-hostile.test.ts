import t from 'tap'
import { equalMath, finalStatement, readMathTruth, verifyMath } from '../../src/grading/math/index.ts'
import { cheapestMs } from '../support/cpu.ts'
import { LatexFuzz } from '../support/latex-fuzz.ts'

const how = { precision: 6, strict: true, relationAsSet: false }
const truths = [
  '42',
  'x+1',
  '\\frac{\\sqrt3}{2}',
  '(1,2)',
  '1,2,3',
  'x > 5',
  '\\begin{pmatrix}1\\\\2\\end{pmatrix}',
  'B',
]

const read = truths.map((text) => readMathTruth(text)).filter((truth) => truth !== null)

const cost = (limit: number, run: () => unknown): number => cheapestMs(limit, 3, run)

t.test('an answer over the budget is unequal, and found so quickly', async (t) => {
  const answers: Record<string, string> = {
    'ten thousand digits': '4'.repeat(10_000),
    'a decimal of ten thousand digits': `42.${'0'.repeat(10_000)}1`,
    'a tower of powers': '2**9**9',
    'a tower of braces': '9^{9^{9^{9^{9}}}}',
    'a long tower': '9^'.repeat(1000),
    'nested brackets': `${'('.repeat(5000)}42${')'.repeat(5000)}`,
    'nested braces': `${'{'.repeat(1500)}x^2${'}'.repeat(1500)}`,
    'nested fractions': `${'\\frac{1}{'.repeat(400)}42${'}'.repeat(400)}`,
    'nested roots': `${'\\sqrt{'.repeat(400)}42${'}'.repeat(400)}`,
    'nested minus signs': `${'-'.repeat(3000)}42`,
    'many signs +-': Array.from({ length: 60 }, () => '\\pm 1').join('+'),
    'a great factorial': '100000!',
    'factorials of factorials': '5!!!!!!',
    'a great binomial': '\\binom{1000000}{500000}',
    'a power of a sum': '(x+y+z+w+1)^{60}',
    'powers of sums': '((x+y+1)^{20}+(y+z+1)^{20})^{20}',
    'a root of a great number': '\\sqrt{999999999989}',
    'a product of sums': '(x+1)(y+2)(z+3)'.repeat(40),
    'many terms': Array.from({ length: 900 }, (_, k) => `x_{${k}}`).join('+'),
    'many items': Array.from({ length: 900 }, (_, k) => `${k}`).join(', '),
    'many sets': Array.from({ length: 300 }, (_, k) => `\\{${k}\\}`).join('\\cup'),
    'a great matrix': `\\begin{pmatrix}${'1&'.repeat(900)}1\\end{pmatrix}`,
    'matrices multiplied': `\\begin{pmatrix}${'1&'.repeat(10)}1\\end{pmatrix}`.repeat(20),
    'a great exponent': '42e999',
    'a small exponent': '42e-999',
    'a long period': `0.\\overline{${'3'.repeat(3000)}}`,
    'a great base': '99999_99999999',
    'sines of sines': `${'\\sin('.repeat(50)}x${')'.repeat(50)}`,
    'powers of powers': `x${'^{2}'.repeat(500)}`,
    'prototype names': '__proto__ + constructor_{toString}',
  }
  for (const [name, answer] of Object.entries(answers)) {
    const ms = cost(1000, () => {
      for (const truth of read) t.equal(equalMath(truth, answer, how), null, name)
      const own = readMathTruth(answer)
      if (own) equalMath(own, `${answer}+0`, how)
    })
    t.ok(ms < 1000, `${name}: ${ms.toFixed(1)} ms`)
  }
})

t.test('the same text is equal, however large the numbers', async (t) => {
  for (const text of ['4'.repeat(10_000), '9^{9^{9^{9}}}', `${'('.repeat(500)}x${')'.repeat(500)}`]) {
    const truth = readMathTruth(text)
    t.equal(
      truth && verifyMath(truth, `\\boxed{${text.slice(0, 3000)}}`, how).decision,
      text.length > 3000 ? null : 'string',
    )
  }
})

t.test('a megabyte of any text is searched in linear time', async (t) => {
  const pieces = [
    ...[
      '\\boxed{',
      '\\boxed{{',
      '\\boxed{}',
      '}',
      '$',
      '$$',
      '\\(',
      '\\[',
      '$1',
      '1',
      '1,',
      '1,1',
      '1 ',
      '-',
      '- ',
      '.',
      ' ',
      '\n',
    ],
    ...[
      'answer',
      'the answer is',
      'Answer: ',
      'final answer',
      '####',
      '<answer>',
      '</answer>',
      '**',
      '答案是',
      'not ',
      '\\begin{pmatrix}',
    ],
    ...[
      '<think>',
      '</think>',
      'a ',
      '(',
      '\\',
      '{',
      '\\text{',
      '\\frac',
      '９',
      '\ud800',
      'I hope it is correct',
      'answer is\n',
    ],
  ]
  for (const piece of pieces) {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    const ms = cost(500, () => finalStatement(text))
    t.ok(ms < 500, `${JSON.stringify(piece)}: ${ms.toFixed(0)} ms`)
  }
})

t.test('no text makes the readers throw, and every answer equals itself', async (t) => {
  const seed = 20_240_611
  const fuzz = new LatexFuzz(seed)
  let before = fuzz.next()
  let equal = 0
  for (let k = 0; k < 700; k++) {
    const text = fuzz.next()
    const truth = readMathTruth(text)
    if (truth) {
      verifyMath(truth, before, how)
      const verdict = verifyMath(truth, text, how)
      // A box with signs glued to it is not a whole answer, also as a truth.
      if (equalMath(truth, text, how) ?? verdict.decision ?? verdict.reason === 'extended') equal++
      else t.fail(`seed ${seed}: not itself: ${JSON.stringify(text)}`)
    }
    for (const known of read) verifyMath(known, text, how)
    before = text
  }
  t.ok(equal > 460, `${equal} of 700 texts were truths`)
})
