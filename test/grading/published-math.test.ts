import t from 'tap'
import {
  gradedAnswer,
  gradedChoice,
  preparedAnswer,
  preparedLine,
  publishedAnswer,
  publishedEqual,
  readChoice,
  stripAnswer,
} from '../../src/grading/benchmark/index.ts'
import { graphWizNormal, lastBox, mathNormal } from '../../src/grading/index.ts'
import { eachNearLinear } from '../support/hostile.ts'

t.test('the last box is read to the brace that closes it', async (t) => {
  t.equal(lastBox('\\boxed{1} and \\boxed{\\frac{a}{b}c}.'), '\\boxed{\\frac{a}{b}c}')
  t.equal(lastBox('\\boxed{1}\\fbox{2}'), '\\boxed{1}', 'a frame counts only where there is no box')
  t.equal(lastBox('\\fbox{2}'), '\\fbox{2}')
  t.equal(lastBox('so $\\boxed 7$ apples, \\boxed{8}'), '\\boxed 7', 'the spaced form goes first')
  t.equal(lastBox('\\boxed{1'), null)
  t.equal(lastBox('\\boxed}{1}'), null)
  t.equal(lastBox('7'), null)
})

t.test('equal answers are spelled alike', async (t) => {
  const spelled: Record<string, string> = {
    '\\dfrac12': '\\frac{1}{2}',
    '\\tfrac1{2}': '\\frac{1}{2}',
    '\\frac{1}2': '\\frac{1}2',
    '3/4': '\\frac{3}{4}',
    '03/4': '03/4',
    '0.5': '\\frac{1}{2}',
    '.25': '0.25',
    'x = 5': '5',
    'xyz=5': 'xyz=5',
    'a=b=5': 'a=b=5',
    '\\sqrt3': '\\sqrt{3}',
    '10\\text{ cm}^2': '10',
    '50\\%': '50',
    '\\left( 1 , 2 \\right)': '(1,2)',
    '90^\\circ': '90',
    '\\frac1': '\\frac1',
    '\\sqrt\u{1d7d9}': '\\sqrt{\u{1d7d9}}',
    '': '',
  }
  for (const [text, normal] of Object.entries(spelled)) t.equal(mathNormal(text), normal, text)
})

t.test('a text at which the original throws has no spelling', async (t) => {
  for (const text of ['\\sqrt', '\\frac', '1\\text{ m}2\\text{ s}']) t.equal(mathNormal(text), null, text)
})

t.test('the spelling of yes and no loses braces and commands', async (t) => {
  t.equal(graphWizNormal('\\text{Yes}'), 'Yes')
  t.equal(graphWizNormal('{{no}}'), '{{no}}')
  t.equal(graphWizNormal('\\mathbf{7}'), 'mathbf{7}')
  t.equal(graphWizNormal('\\sqrt'), null)
})

t.test('an answer is stripped to the spelling by which the harness compares', async (t) => {
  const stripped: Record<string, string> = {
    ' 7. ': '7',
    '\\left( 1, 2 \\right)': '(1,2)',
    '\\tfrac{1}{2}': '\\frac{1}{2}',
    '\\frac34': '\\frac{3}{4}',
    '\\frac3': '\\frac3',
    '3/8': '\\frac{3}{8}',
    '03/8': '03/8',
    '3/8/2': '3/8/2',
    '\\sqrt{5}/3': '\\frac{\\sqrt{5}}{3}',
    '\\sqrt7': '\\sqrt{7}',
    '12\\text{ kg}': '12',
    '\\text{red}': 'red',
    '9 kg': '9',
    '9 miles per hour': '9',
    '$4.00': '4',
    '4.00n': '4n',
    '.25': '0.25',
    'z=9': '9',
    'wxy=9': 'wx9',
    'abc=9': 'abc=9',
    '\\infty': '\\infty',
    infinity: '\\infty',
    '3j': '3i',
    '\\emptyset': '{}',
    '(-\\infty, \\infty)': '(-\\infty,\\infty)',
    '\\begin{array}{ll}1&2\\end{array}': '\\begin{pmatrix}1&2\\end{pmatrix}',
    '30^\\circ': '30',
    '0012': '12',
    '٤٢': '42',
    'minus seven': '7',
    'four hundred twenty one': '421',
    'six thousand two hundred': '6200',
    'one million two thousand three': '1002003',
    'two billion': '2000000000',
    'three billion one million': '3001000000',
    'nine point two five': '9.25',
    'nine point zero': '9',
    'nine point ten': '9',
    'two point': '2',
    'thousand million': 'thousmillion',
    'five hundred': '500',
    million: '1000000',
    'thousand five': 'thousfive',
    'one two three four five': '1',
  }
  for (const [answer, wanted] of Object.entries(stripped)) {
    t.equal(stripAnswer(answer, false), wanted, answer)
  }
  t.equal(stripAnswer('9 kg', true), '9kg', 'minerva keeps units')
})

t.test('the answer is read from the first of several kinds of mark', async (t) => {
  const read: [response: string, benchmark: string, wanted: string][] = [
    ['The final answer is $5$. I hope it is right. The final answer is $6$. I hope', 'math', '5'],
    ['\\boxed{1} and \\boxed{2', 'math', '2'],
    ['\\boxed 8$ dollars', 'math', '8'],
    ['so boxed', 'math', ''],
    ['The answer is 5 kg.', 'gsm8k', '5'],
    ['my final answer is 9/', 'gsm8k', '9'],
    ['答案是：\\frac12 \n\n 因为', 'cmath', '：\\frac{1}{2}'],
    ['答案是 7\n\n因为', 'cmath', '7'],
    ['we get 1,234 and 5,678', 'gsm8k', '5678'],
    ['none', 'gsm8k', ''],
    ['It is (B), so B', 'mmlu_stem', 'B'],
    ['The answer is (d)', 'mmlu_pro', 'D'],
    ['The answer is six.', 'mmlu_pro', '6'],
  ]
  for (const [response, benchmark, wanted] of read) {
    t.equal(publishedAnswer(response, benchmark), wanted, `${benchmark}: ${response}`)
  }
  t.equal(publishedAnswer(`The answer is ${'x'.repeat(30_000)}`, 'math'), null)
})

t.test('the choice is the first letter after a phrase, else the last', async (t) => {
  for (const [text, wanted] of [
    ['A, then the answer is C or D', 'C'],
    ['A or D', 'D'],
    ['answer is A, answer is B\n\nanswer is C', 'B'],
    ['\n none of them./', 'none of them'],
  ] as const)
    t.equal(readChoice(text), wanted, text)
})

t.test(
  'a graded choice is the last letter, and an answer is graded by the letters of its truth',
  async (t) => {
    t.equal(gradedChoice('A or D'), 'D')
    t.equal(gradedChoice(': none.'), 'none')
    t.equal(gradedAnswer('it is 3', 'so B', 'B'), 'B')
    t.equal(gradedAnswer('A and C', '', 'AC'), 'AC')
    t.equal(gradedAnswer('7', '', ''), '')
  },
)

t.test('two answers are equal by text, number, structure or algebra', async (t) => {
  const equal: [string, string][] = [
    ['X', 'x'],
    ['maybe A or B', 'B'],
    ['1,000', '1000'],
    ['50%', '0.5'],
    ['50\\%', '50'],
    ['1_0', '10'],
    ['inf', 'Infinity'],
    ['٤٢', '42'],
    ['1.00009', '1'],
    ['[1,2]', '1,2'],
    ['(1,2]', '[1,2)'],
    ['(0.5, 2)', '(1/2, 2)'],
    ['\\begin{pmatrix}0.5&2\\\\3&4\\end{pmatrix}', '\\begin{pmatrix}1/2&2\\\\3&4\\end{pmatrix}'],
    ['\\begin{pmatrix}1\\2\\end{pmatrix}', '\\{1,2\\}'],
    ['x+y=3', 'y+x=3'],
    ['3-x-y=0', 'x+y=3'],
    ['x=7', '7'],
    ['7', 'x=7'],
    ['\\frac{x^2-1}{x+1}', 'x-1'],
    ['0.33333', '\\frac{1}{3}'],
    ['\\sqrt{8}', '2\\sqrt{2}'],
  ]
  for (const [answer, truth] of equal) t.ok(publishedEqual(answer, truth), `${answer} is ${truth}`)
  const unequal: [string, string][] = [
    ['', '3'],
    ['1.0002', '1'],
    ['nan', 'nan0'],
    ['-inf', 'inf'],
    ['nan', '3'],
    ['%', '3'],
    ['(1,2,3)', '(1,2)'],
    ['\\begin{pmatrix}1&2\\end{pmatrix}', '\\begin{pmatrix}1\\\\2\\end{pmatrix}'],
    ['\\begin{pmatrix}1\\end{pmatrix}', 'none'],
    ['abc=7', '7'],
    ['x=7', 'x=8'],
    ['a=b=c', 'c'],
    ['5\\text{ cm}', '6'],
    ['3.14159', '\\pi'],
    ['9^{9^{9^{9}}}', '3'],
    [`${'(1,'.repeat(60)}2${')'.repeat(60)}`, `${'(1,'.repeat(60)}3${')'.repeat(60)}`],
  ]
  for (const [answer, truth] of unequal) t.notOk(publishedEqual(answer, truth), `${answer} is not ${truth}`)
})

t.test('a ground truth is prepared from a line of its benchmark', async (t) => {
  const cases: [Parameters<typeof preparedLine>[0], Parameters<typeof preparedLine>[1], string][] = [
    [{ solution: 'so \\boxed{\\frac12}' }, 'math', '\\frac{1}{2}'],
    [{ solution: 'so \\boxed{x \\leq 3 kg}' }, 'minerva_math', 'x\\le3kg'],
    [{ gt: '3', gt_cot: 'so \\boxed{4}' }, 'math', '4'],
    [{ gt: 'a \\neq 3', gt_cot: '' }, 'minerva_math', 'a \\ne 3'],
    [{ gt: '3 kg', gt_cot: '' }, 'gsm8k', '3'],
    [{ answer: '3/4', ans_type: 'decimal_number' }, 'tabmwp', '0.75'],
    [{ answer: '5 apples', ans_type: 'extractive_text' }, 'tabmwp', '5'],
    [{ answer: 7 }, 'mmlu_stem', ''],
  ]
  for (const [line, benchmark, wanted] of cases)
    t.equal(preparedLine(line, benchmark), wanted, `${benchmark}: ${JSON.stringify(line)}`)
})

t.test('a ground truth is prepared from an answer alone', async (t) => {
  t.equal(preparedAnswer('\\frac12', 'math'), '\\frac{1}{2}')
  t.equal(preparedAnswer('so \\boxed{\\frac12}', 'gsm8k'), '\\frac{1}{2}')
})

t.test('hostile text is read in linear time', async (t) => {
  eachNearLinear(t, {
    'the last box': (text) => lastBox(`\\boxed${text}`),
    'the spelling': mathNormal,
    'the spelling of many fractions': (text) => mathNormal(`\\frac${text.slice(0, 2)}`.repeat(100_000)),
  })
})
