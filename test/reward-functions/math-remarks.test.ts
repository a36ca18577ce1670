import t from 'tap'
import mathVerify from '../../reward-functions/math-verify.ts'
import { scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'

const value = (response: string, groundTruth: string, prompt = '') =>
  scored(mathVerify, { prompt, response, groundTruth, options: {} })?.value

/** A truth, the same in LaTeX and in plain signs, another answer of its kind, and a decimal that rounds it. */
const answers = [
  ['\\frac{19}{12}', '\\frac{19}{12}', '19/12', '\\frac{17}{12}', '1.583'],
  ['6\\sqrt{2}', '6\\sqrt{2}', '6√2', '6\\sqrt{3}', '8.485'],
  ['25\\pi', '25\\pi', '25π', '10\\pi', '78.54'],
  ['[-2,2]', '[-2, 2]', '[-2, 2]', '(-2, 2)', null],
  ['(2,\\infty)', '(2, \\infty)', '(2, ∞)', '[2, \\infty)', null],
  ['\\{2,3\\}', '\\{2, 3\\}', '{2, 3}', '\\{-2, -3\\}', null],
  ['x^3+3x^2+3x+1', 'x^3+3x^2+3x+1', 'x³ + 3x² + 3x + 1', 'x^3+x^2+x+1', null],
  ['y=3x-1', 'y = 3x - 1', 'y = 3x - 1', 'y = 3x + 1', null],
  ['3+4i', '3+4i', '3 + 4i', '5+4i', null],
  ['\\frac{\\ln 5}{2}', '\\frac{\\ln 5}{2}', '(ln 5)/2', '\\frac{\\ln 2}{5}', '0.805'],
] as const

/** L: the right answer in LaTeX, P: in plain signs, W: another one, N: its decimal. */
const filled = (text: string, [, latex, plain, other, decimal]: (typeof answers)[number]): string =>
  text.replace(/\b[LPWN]\b/g, (name) => ({ L: latex, P: plain, W: other, N: decimal ?? '' })[name] ?? name)

const right = [
  'The result is $L$, which cannot be simplified further.',
  '$\\boxed{L}$, which cannot be simplified further.',
  'The result is $L$; no other value works.',
  'The answer is $L$, not $W$.',
  'The answer is $L$ (not $W$, which is a frequent slip).',
  '1. Set up.\n2. Answer: $L$',
  '$$\\text{Final answer: } L$$',
  '$\\boxed{\\text{Result: } L}$',
  '$\\boxed{\\text{The value is } L}$',
  '$$\\boxed{\\begin{aligned} L \\end{aligned}}$$',
  'So it is P.',
  'Therefore, the result is P.',
  '**P**',
  'So we get $L$.\n\nCheck: $1 \\cdot 2 = 2$.',
  'The result is $L$ [1].\n\n[1] Some books have $W$.',
]
const rounded = [
  'The answer is $L$ (about $N$).',
  'So we get $L$ ($\\approx N$).',
  'The value is $L$, which is roughly N.',
  'In exact form $L$; as a decimal, N.',
  'The result is P (about N).',
  'We get P ≈ N.',
]
const wrong = [
  '$\\boxed{L}$ would be right for another sign, but not here.',
  '$\\boxed{L}$ would hold in the other case, but this one diverges.',
  '$\\boxed{L}$ is what one gets with the wrong formula.',
  '$\\boxed{L}$ is a placeholder.',
  '$\\boxed{L}$ but I am not sure.',
  '$\\boxed{L}$ holds in general, but the assumption fails here.',
  'Assume the answer is $L$. Contradiction.',
  'If we forget the second step, we get $L$.',
  'With the wrong formula one gets $L$.',
  '$W$, although some would write $L$.',
  'The answer is $W$, not $L$.',
  'The result is $W$ [1].\n\n[1] Some books have $L$.',
  'So we get $W$.\n\nNote: some get $L$.',
  '$W$ vs. $L$',
  'A) $W$\nB) $L$',
  '$\\boxed{W = L}$',
  'The answer is not P.',
  '$W$ % $L$',
]

t.test('math-verify: a remark behind an answer costs it nothing', async (t) => {
  for (const row of answers) {
    for (const text of right) t.equal(value(filled(text, row), row[0]), 1, filled(text, row))
    if (row[4] !== null)
      for (const text of rounded) t.equal(value(filled(text, row), row[0]), 1, filled(text, row))
  }
})

t.test(
  'math-verify: a remark that takes an answer back, and one that names another, pay nothing',
  async (t) => {
    for (const row of answers)
      for (const text of wrong) t.equal(value(filled(text, row), row[0]), 0, filled(text, row))
    t.equal(value('The area is $25\\pi$ (about 80.2).', '25\\pi'), 0, 'no rounding of it')
  },
)

t.test(
  'math-verify: the expression of the question is no answer where another form is asked for',
  async (t) => {
    for (const [prompt, truth, copy, answer] of [
      ['Factor $x^2-9$ completely.', '(x-3)(x+3)', '-9+x^2', '(x+3)(x-3)'],
      ['Factor $x^3-4x$ completely.', 'x(x-2)(x+2)', 'x(x^2-4)', '(x+2)x(x-2)'],
      ['Expand $(x+2)(x-5)$.', 'x^2-3x-10', '(x-5)(x+2)', 'x^2-5x+2x-10'],
      ['Write the decimal number 13 in base 2.', '1101_2', '13_{10}', '1101'],
      ['Convert $1101_2$ to base 10.', '13', '1101_2', '13_{10}'],
      ['Compute $17 \\cdot 23$.', '391', '23 \\cdot 17', '391'],
      ['What is 17 * 23?', '391', '17 \\cdot 23', '391'],
      ['Write $0.75$ as a fraction.', '\\frac34', '0.75', '\\frac{6}{8}'],
      [
        'Rationalize the denominator of $\\frac{1}{\\sqrt2}$.',
        '\\frac{\\sqrt2}{2}',
        '\\frac{1}{\\sqrt2}',
        '\\frac12\\sqrt2',
      ],
    ] as const) {
      t.equal(value(`$\\boxed{${copy}}$`, truth, prompt), 0, `${prompt} ${copy}`)
      t.equal(value(`$\\boxed{${answer}}$`, truth, prompt), 1, `${prompt} ${answer}`)
    }
    t.equal(value('$\\boxed{x+1}$', 'x+1', 'Simplify $x+1$ if you can.'), 1, 'nothing to do')
    t.equal(value('$\\boxed{17 \\cdot 23}$', '391', 'Multiply the two primes.'), 1, 'no copy')
  },
)

t.test(
  'math-verify: several values, side conditions and worked sides are read in the usual forms',
  async (t) => {
    for (const [truth, ...forms] of [
      [
        '\\{-1,3\\}',
        'Die Lösungen sind $x = -1$ und $x = 3$.',
        'Les solutions sont $x=-1$ et $x=3$.',
        '解为 $x=-1$ 和 $x=3$。',
        '- x = 3\n- x = -1',
        'The roots are $3$ and $-1$, since $(x-3)(x+1)=0$.',
      ],
      [
        '3',
        '$x=3$ ($x=-2$ is extraneous).',
        'x = 3, since x = -2 is extraneous.',
        'The answer is 3, because -2 fails the check.',
      ],
      [
        '\\frac{\\pi}{4}+k\\pi',
        '$\\boxed{x=\\frac{\\pi}{4}+k\\pi,\\ k\\in\\mathbb{Z}}$',
        'x = π/4 + kπ, k ∈ ℤ',
        '$x=\\frac{\\pi}{4}+k\\pi$, where $k$ is an integer.',
      ],
      [
        '8',
        '$\\left[x^3\\right]_0^2 = 8 - 0 = 8$',
        '$$\\begin{aligned}\\int_0^2 3x^2\\,dx &= \\left[x^3\\right]_0^2\\\\ &= 8\\end{aligned}$$',
      ],
      ['120', '$5!=120$', '5! = 120'],
      ['10', 'C(5,2) = 10'],
      ['(3,2)', '$y = 2$, $x = 3$'],
      ['\\text{divergent}', 'The series is divergent.'],
    ] as const)
      for (const form of forms) t.equal(value(form, truth), 1, form)
    for (const [truth, form] of [
      ['3', 'x = -2, since x = 3 is extraneous.'],
      ['3', '$\\boxed{3}$ is extraneous.'],
      ['8', '$\\boxed{[x^3]_0^2 = 8 = 9}$'],
      ['120', '$\\boxed{5!}$, so $125$.'],
      ['10', '$\\boxed{10}$, which is $11$.'],
      ['\\text{divergent}', 'The series is not divergent.'],
      ['\\frac34', '$\\boxed{\\frac34}$ is the sum of the absolute values; here we get $\\frac32$.'],
      ['\\{-1,3\\}', '$x = -1$ oder $x = 5$'],
    ] as const)
      t.equal(value(form, truth), 0, form)
  },
)

t.test('hostile remarks are read in linear time', async (t) => {
  eachNearLinear(t, {
    'a line': (text) => value(text.replaceAll('\n', ' '), '5'),
    'behind a formula': (text) => value(`So it is $5$, ${text}`, '5'),
    'behind a box': (text) => value(`$\\boxed{5}$ ${text}`, '5', text),
    'in a question': (text) => value('$\\boxed{5}$', '5', `Factor $${text}$. Compute ${text}`),
  })
})
