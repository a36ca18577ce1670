import t from 'tap'
import {
  type Comparison,
  type Decision,
  equalMath,
  finalStatement,
  readMathTruth,
  verifyMath,
} from '../../src/grading/math/index.ts'
import { mathPairs } from '../support/math-pairs.ts'

const usual: Comparison = { precision: 6, strict: true, relationAsSet: false }

const right = (truth: string, response: string): boolean => {
  const read = readMathTruth(truth)
  return read !== null && verifyMath(read, response, usual).decision !== null
}

const each = (
  t: { equal(a: unknown, b: unknown, m: string): unknown },
  truth: string,
  wanted: boolean,
  responses: string[],
) => {
  for (const response of responses)
    t.equal(right(truth, response), wanted, `${truth} | ${response.slice(0, 80)}`)
}

t.test('the last mark of an answer counts: a box, an announcement, else the last expression', async (t) => {
  each(t, '42', true, [
    '\\boxed{42}',
    'Six sevens: $6 \\cdot 7 = \\boxed{42}$. I am sure.',
    'First \\boxed{41}. No, that was wrong. It is \\boxed{42}.',
    'We get \\boxed{20} for the one side of it and then, after a long way, the final answer is 42.',
    'Final Answer: The final answer is $42$. I hope it is correct.',
    'The answer is: 42',
    'Answer:\n42',
    '**Final Answer**\n\n$42$',
    '答案是 42。',
    '#### 42',
    '<answer>42</answer>',
    '<think>It may be 41.</think> \\boxed{42}',
    'The number is not 41 but 42.',
    'So there are 42 apples.',
    'The largest $n$ is 42.',
    'It costs $10 more than the other one, which makes $42 in all.',
    '$x = 42$',
    '42',
    '\\boxed{42\\%}',
    '\\boxed{42}$ percent',
    'The answer is \\(\\boxed{\\boxed{42}}\\)',
  ])
  each(t, '\\begin{pmatrix}1\\\\2\\end{pmatrix}', true, ['It is \\begin{pmatrix}1\\\\2\\end{pmatrix}.'])
})

t.test('an answer of several items may stand in several boxes', async (t) => {
  each(t, '1,2', true, ['\\boxed{1} and \\boxed{2}', '\\boxed{1} papers and \\boxed{2} bins', '$1$ or $2$'])
  each(t, '(1,2),(2,1)', true, ['\\[\n\\boxed{(1, 2)}, \\boxed{(2, 1)}\n\\]'])
})

t.test('an answer in words is read from its mark', async (t) => {
  each(t, '\\text{Evelyn}', true, ['\\boxed{\\text{Evelyn}}', 'The answer is Evelyn.', 'Evelyn'])
  each(t, 'B', true, [
    'The answer is (B).',
    '\\boxed{\\textbf{(B)}}',
    'The correct option is B',
    'Answer: B. 42',
  ])
})

t.test('a hedge is an answer of several items, so it is not the answer', async (t) => {
  each(t, '42', false, [
    'The answer could be 40, 41, 42, 43, or 44.',
    'The answer could be 40, 41 or 42',
    Array.from({ length: 42 }, (_, k) => k + 1).join(' '),
    Array.from({ length: 42 }, (_, k) => k + 1).join(', '),
    Array.from({ length: 42 }, (_, k) => k + 1).join('\n'),
    Array.from({ length: 42 }, (_, k) => `- ${k + 1}`).join('\n'),
    '\\boxed{41} \\boxed{42} \\boxed{43}',
    '\\boxed{43} or \\boxed{42}',
    '\\boxed{41\\text{ or }42}',
    '\\boxed{\\{41, 42\\}}',
    '\\boxed{\\pm 42}',
    '\\boxed{[41, 43]}',
    '<answer>41 or 42</answer>',
    'The answer is 42 or 43.',
    '\\boxed{42} ... it may also be \\boxed{43}',
    'First \\boxed{42}. No, that was wrong. It is \\boxed{43}.',
  ])
  each(t, 'B', false, [
    'The answer is A, B, C, or D.',
    'A B C D E',
    '<answer>A or B or C</answer>',
    '\\boxed{A, B}',
    'The answer is (A) or (B).',
    'A) 41 B) 42',
  ])
})

t.test('an empty or withdrawn answer does not count', async (t) => {
  for (const truth of ['42', 'x+1', 'B', '(1,2)', '\\emptyset', '0', 'Evelyn']) {
    each(t, truth, false, [
      '',
      ' \n\t ',
      '\\boxed{}',
      '\\boxed{ }',
      'Answer:',
      'The answer is',
      '<think></think><answer></answer>',
      '<think>so it is 42, x+1, 0, (1,2), Evelyn, B</think>',
      '<think>so it is \\boxed{42}',
      'None',
      '[]',
      '()',
      '.',
      '$$',
      '\\boxed{?}',
    ])
  }
  each(t, '42', false, [
    'The answer is definitely not 42.',
    'It is not 42',
    "It isn't 42.",
    'We can rule out 42',
    'We can rule out 42; it must be 43.',
    '42 \\boxed{}',
    '\\boxed{43} 42',
    '\\boxed{42',
  ])
})

t.test('an answer that the words or marks around it take back does not count', async (t) => {
  each(t, '42', false, [
    'Twice the answer is $\\boxed{42}$.',
    'The square of the answer is \\boxed{42}.',
    'Assume for contradiction that the result is \\boxed{42}.',
    'Format: \\boxed{answer}. I have no answer. (E.g. \\boxed{42}.)',
    'The book gives \\boxed{42}, which is a misprint.',
    '\\boxed{42}. On second thought, this cannot be right.',
    'The answer is 42. Wait, no.',
    'You may believe the answer is 42. It is not.',
    'A student wrote: "The answer is 42." He is wrong.',
    'The answer is 43.\nThe answer is 42.\nOne of them is right.',
    '最终答案是42，不对，是43。',
    'We cannot have $42$.',
    '~~\\boxed{42}~~',
    '~~The answer is \\boxed{42}.~~ I do not know.',
    '\\xcancel{\\boxed{42}}',
    '$\\color{white}{\\boxed{42}}$',
    '<s>\\boxed{42}</s>',
    '<span style="display:none">\\boxed{42}</span>',
    '\\iffalse \\boxed{42} \\fi',
    '% \\boxed{42}\nNo answer.',
    'The difference is $5x$ - $\\boxed{42}$.',
    '$\\frac{1}{\\boxed{42}}$',
    '$\\frac{\\boxed{42}}{2}$',
    '$\\log\\boxed{42}$',
    '$f(\\boxed{42})$',
    '$x^{\\boxed{42}}$',
    '$\\boxed{42}\\pi$',
    '$\\boxed{42}i$',
    '$\\boxed{42}{,}000$',
    '$\\boxed{42}.5$',
    'It is $\\boxed{42}$ or maybe $43$.',
    '\\boxed{42}. Actually 43.',
    'Answer: 42. Actually 43.',
    'The answer is on page 42.',
    'The answer is given by equation (42).',
    'The answer is left to the reader (42 lines of algebra).',
    'The answer is the 42nd prime.',
    'The answer is niet 42.',
    'The answer is 42+.',
    'The answer is 43 r 42.',
    'The answer is 43 to 42.',
    'The answer is 43 // 42.',
    'Answer: 43, i.e. 42',
    'Answer: 43 or Answer: 42',
    'Answer: 43\nAnswer: 42',
    'Answer: 43\n<answer>42',
    '\\boxed{42} 43',
    'Answer: 43 \\boxed{42}',
    '\\boxed{~=42}',
    'The answer is 42 or something else.',
    'The answer is 42 as well as 43.',
    'The answer is 42 x 10^3.',
    'The answer is 42ⁿ.',
    'The answer is ÷42.',
    'The answer is 7\u200b42.',
    'So.\n0 = 42',
    'So.\n6 * 8 = 42',
    'So.\n\\sqrt{42}',
    'So.\n-(42)',
    'So.\nn\u200bot 42',
    'So.\nnot x = 42',
    'ｎｏｔ 42',
  ])
  each(t, '42', true, [
    'The largest possible value of $n$ is therefore $\\boxed{42}$.',
    'The only possible value is \\boxed{42}.',
    'The answer is $\\boxed{42}$ (a common mistake is to answer $43$ by counting the ends twice).',
    '<answer>\\boxed{42}</answer>',
    'So:\n\n> $\\boxed{42}$',
    'So:\n\n- $\\boxed{42}$',
    'We ~~guess~~ compute \\boxed{42}.',
    '$\\Large\\boxed{42}$',
    '$\\therefore \\boxed{42}$',
    '$\\boxed{42}\\text{ cm}$',
    '$\\boxed{42}$ or $\\frac{84}{2}$.',
    '\\boxed{42}. Actually 42 is the only one.',
    'The answer is therefore 42.',
    'The answer is 42, since 6 * 7 = 42.',
    'The answer is 42 because 50 - 8 is 42.',
    'The answer is 42 apples.',
    'The largest $n$ is 42.',
    'The answer is $x = 42$, where $x$ counts days.',
    'Answer: 43. That counts one twice.\n\nAnswer: 42',
    'So.\n6 * 7 = 42',
    'So x = 42.',
    'It is step 3.\n$x = 42$',
    '答案：共42个。',
    '<b>So</b> it is <b>\\boxed{42}</b>.',
  ])
})

t.test('a degree sign after a box belongs to it', async (t) => {
  each(t, '60^\\circ', true, ['$\\boxed{60}^\\circ$', '$\\boxed{60}^{\\circ}$', '\\boxed{60^\\circ}'])
  each(t, '61^\\circ', false, ['$\\boxed{60}^\\circ$'])
})

t.test('a rule that reads only boxes knows a later answer of another kind', async (t) => {
  for (const [response, wanted] of [
    ['So we get $\\boxed{42}$. The final answer is 43.', 'withdrawn'],
    ['\\boxed{42}\n\n#### 43', 'contradiction'],
    ['So we get $\\boxed{42}$. The final answer is 42.', null],
    ['So we get $\\boxed{\\frac12}$. The final answer is 0.5.', null],
    ['So we get $\\boxed{\\sqrt{17}}$. The final answer is 4.12.', null],
    ['So we get $\\boxed{42}$. The answer is in metres.', null],
  ] as const) {
    const found = finalStatement(response, true)
    t.equal('reason' in found ? found.reason : null, wanted, response)
  }
})

t.test('a ground truth may be a whole solution', async (t) => {
  each(t, 'We solve $x=\\frac14(1-x)$ and get $x=1/5$, or $\\boxed{20}$ percent.', true, ['\\boxed{20\\%}'])
  t.equal(readMathTruth('  '), null)
})

t.test('the result reports which text was taken for the answer', async (t) => {
  t.strictSame(finalStatement('The answer is $x=2$.'), { words: '$x=2$', expression: '$x=2$' })
  t.strictSame(finalStatement('<think>2'), { reason: 'thinking_unclosed' })
  t.strictSame(finalStatement('no idea'), { words: 'no idea', expression: null })
})

const compared = (truth: string, answer: string, how: Partial<Comparison> = {}): Decision | null => {
  const read = readMathTruth(truth)
  if (read === null) throw new Error(`no truth: ${truth}`)
  return equalMath(read, answer, { ...usual, ...how })
}

const pairs = mathPairs()

for (const section of new Set(pairs.map((pair) => pair.section))) {
  t.test(section, async (t) => {
    for (const { truth, answer, equal } of pairs.filter((pair) => pair.section === section)) {
      t.equal(compared(truth, answer) !== null, equal, `${truth} ${equal ? '==' : '!='} ${answer}`)
    }
  })
}

t.test('precision is the number of digits that a decimal must give', async (t) => {
  t.equal(compared('\\frac13', '0.33', { precision: 2 }), 'numeric')
  t.equal(compared('\\frac13', '0.34', { precision: 2 }), null)
})

t.test('relations count as sets, and variable names are free, only if the options say so', async (t) => {
  t.equal(compared('(1,2)', '1 < x < 2', { relationAsSet: true }), 'exact')
  t.equal(compared('x = 3', 'y = 3', { strict: false }), 'exact')
})

t.test('a form feed where \\f was eaten is repaired', async (t) => {
  t.equal(compared('\\frac74', '\frac{7}{4}'), 'exact')
})

t.test('the decision names the method that found the equality', async (t) => {
  t.equal(compared('x+1', 'x+1'), 'string')
  t.equal(compared('\\frac12', '0.5'), 'exact')
  t.equal(compared('x+1', '1+x'), 'algebra')
  t.equal(compared('\\sin^2 x+\\cos^2 x', '1'), 'numeric')
  t.equal(compared('(\\frac12, x+1)', '(0.5, 1+x)'), 'algebra', 'the least sure part counts')
})
