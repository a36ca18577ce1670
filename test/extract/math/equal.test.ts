import t from 'tap'
import { type Comparison, type Decision, equalMath, readMathTruth } from '../../../src/extract/math/index.ts'

const usual: Comparison = { precision: 6, strict: true, relationAsSet: false }

const compared = (truth: string, answer: string, how: Partial<Comparison> = {}): Decision | null => {
  const read = readMathTruth(truth)
  if (read === null) throw new Error(`no truth: ${truth}`)
  return equalMath(read, answer, { ...usual, ...how })
}

/** `truth == answer` or `truth != answer`, one a line; ` == ` and ` != ` occur once in each. */
const holds = (
  t: { equal(found: boolean, wanted: boolean, title: string): unknown },
  lines: string,
  how: Partial<Comparison> = {},
): void => {
  for (const line of lines.trim().split('\n')) {
    const [truth = '', sign, answer = ''] = line.trim().split(/\s+(==|!=)\s+/)
    t.equal(compared(truth, answer, how) !== null, sign === '==', line.trim())
  }
}

t.test('numbers are equal by value, however they are written', async (t) => {
  holds(
    t,
    String.raw`
    42 == 42.0
    42 == 84/2
    42 == 4.2e1
    42 == $42
    42 == ４２
    0 == -0
    1000 == 1,000
    1000 == 1 000
    14916 == 14{,}916
    11100 == 11,\!100
    0.5 == \frac12
    0.5 == .5
    -\frac{7}{4} == -1.75
    \frac{23}{5} == 4\frac{3}{5}
    3/2 == 1 1/2
    1/3 == 0.\overline{3}
    4.2 == 4,2
    \frac{1}{3} == \cfrac13
    1024 == 2^{10}
    120 == 5!
    10 == \binom{5}{2}
    3 == \lfloor 3.7 \rfloor
    6 == \gcd(12, 18)
    36 == \text{lcm}(12, 18)
    7 == |-7|
    4 == \sqrt{16}
    2 == \sqrt[3]{8}
    1/8 == 2^{-3}
    42 != 42.0000001
    42 != 43
    42 != -42
    42 != 420
    42 != 0x2A
    42 != 42,000
    42 != 3/0
    42 != NaN
    42 != \infty
    42 != 1e309
    42 != 44.1
    4.2 != 42
    3/0 != 5/0
    1/3 != 33.33
    1000 != 100
    `,
  )
})

t.test('a decimal stands for what it rounds to, when it has the digits', async (t) => {
  holds(
    t,
    String.raw`
    \frac{1}{3} == 0.333333
    \sqrt{17} == 4.123105625617661
    4.123105625617661 == \sqrt{17}
    \pi == 3.141593
    1.5 \times 10^{3} == 1500
    6.02 \times 10^{23} == 6.02e23
    \frac{1}{3} != 0.33
    \frac{1}{3} != 0.333334
    \pi != 3.14
    0.0000012 != 0.0000014
    `,
  )
  t.equal(compared('\\frac13', '0.33', { precision: 2 }), 'numeric')
  t.equal(compared('\\frac13', '0.34', { precision: 2 }), null)
})

t.test('percent signs, units and money may be left out, and other units are other answers', async (t) => {
  holds(
    t,
    String.raw`
    28\% == 28 percent
    28\% == 28
    28\% == 0.28
    28 == 28\%
    125 == 125 \text{ miles}
    125 \text{ miles} == 125\textnormal{ mile}
    15\mbox{ cm}^2 == 15
    15 \text{ cm} == 15 \text{ centimeters}
    90^\circ == 90
    90° == 90^{\circ}
    12 \text{ m/s}^2 == 12
    0.06 \text{ yuan} == \$0.06
    15 \text{ cm} != 15 \text{ m}
    15 \text{ cm}^2 != 15 \text{ cm}^3
    28\% != 2800
    28\% != 29\%
    90^\circ != 90 \text{ cm}
    28 != 0.28
    `,
  )
})

t.test('expressions with symbols are equal where algebra or values at many points say so', async (t) => {
  holds(
    t,
    String.raw`
    \frac{x+2}{7} == \frac{x}{7}+\frac{2}{7}
    (x+1)^2 == x^2+2x+1
    (a+b)(a-b) == a^2-b^2
    \frac{x^2-1}{x-1} == x+1
    \frac{1}{\sqrt2} == \frac{\sqrt{2}}{2}
    \sqrt{12} == 2\sqrt3
    \sqrt{6} == \sqrt2\sqrt3
    \sqrt{3+2\sqrt2} == 1+\sqrt2
    \tan^2(y)+1 == \sec^2(y)
    2\sin b\cos a == \sin(a+b)-\sin(a-b)
    \ln(x^2) == 2\ln x
    \log_2 8 == 3
    x^{3/2} == x\sqrt{x}
    e^{i\pi} == -1
    (1+i)^2 == 2i
    \binom{n}{2} == \frac{n(n-1)}{2}
    \sinh x == \frac{e^x-e^{-x}}{2}
    \cos^{-1} x == \arccos x
    \sin 30^\circ == \frac12
    \frac94\pi == \frac{9\pi}{4}
    f(x+1) == f(1+x)
    \lg 1000 == 3
    (a+5)(b+2) != (+5)(b+2)
    5 != 5x
    x != y
    |x| != x
    \sqrt{x^2} != x
    f(x) != f(y)
    f(x) != g(x)
    1-\frac1e != 1+\frac1e
    \frac{x}{y} != \frac{y}{x}
    4 != \frac{34}{16}+\frac{\sqrt{1358}}{16}
    \sqrt2 != \sqrt3
    x_1 != x_2
    `,
  )
})

t.test('collections keep their order where it means something', async (t) => {
  holds(
    t,
    String.raw`
    1,2,3 == 3, 2 \text{ and } 1
    \{1,2,3\} == 3,2,1
    \{1,2\} == \{2,1,1\}
    \pm 3 == \{-3, 3\}
    \pm 3 == 3 \text{ or } -3
    (1,3) == 1,3
    (1,2) == \begin{pmatrix}1\\2\end{pmatrix}
    (2,1),(1,2) == (1,2),(2,1)
    (0;1;2) == (0,1,2)
    \emptyset == \{\}
    100,200 == \{200, 100\}
    [0,1) == \left[0,1\right)
    (-\infty,2)\cup(3,\infty) == (3,\infty)\cup(-\infty,2)
    (-\infty,2) \cup (3,\infty) == (-oo,2)U(3,oo)
    \mathbb{R} == (-\infty,\infty)
    \mathbb{R}\setminus\{0\} == \mathbb{R} \setminus \{0\}
    [-1,2]\cap\mathbb{Z} == \mathbb{Z} \cap [-1,2]
    \begin{pmatrix}6&8\\10&12\end{pmatrix} == \begin{bmatrix}1&2\\3&4\end{bmatrix}+\begin{bmatrix}5&6\\7&8\end{bmatrix}
    \begin{pmatrix}1&0\\0&1\end{pmatrix} == \frac12\begin{pmatrix}2&0\\0&2\end{pmatrix}
    \begin{pmatrix}19&22\\43&50\end{pmatrix} == \begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}5&6\\7&8\end{pmatrix}
    \begin{cases} x = 1 \\ y = 2 \end{cases} == x = 1, y = 2
    7:32 == 14:64
    2:3 == \frac23
    204_5 == 204
    (1,3) != (3,1)
    (1,3) != \{1,3\}
    (1,2] != (1,2)
    [1,2] != (1,2)
    1,2,3 != 1,2
    1,2 != 1,2,3
    42 != 41,42,43
    \mathbb{R} != (0,\infty)
    \begin{pmatrix}1&2\end{pmatrix} != \begin{pmatrix}1&3\end{pmatrix}
    \begin{pmatrix}1&2\\3&4\end{pmatrix} != \begin{pmatrix}1&2&3&4\end{pmatrix}
    12:00 != 1:00
    204_5 != 204_6
    \{1,2\} != \{1,3\}
    (0,1)\cup(2,3) != (0,1)\cap(2,3)
    `,
  )
})

t.test('an equation is what it says, and an assignment is its value', async (t) => {
  holds(
    t,
    String.raw`
    3 == x = 3
    x = 3 == 3
    11 == x \approx 11
    1/3 == x = 1/3 \approx 0.33
    (3,2) == (p,q) = (3,2)
    x = 1, y = 2 == y = 2, x = 1
    AB = 4, CD = 5 == 4, 5
    n = 1, 2, 3 == 1, 2, 3
    p=5,q=2;p=7,q=2 == (5,2),(7,2)
    |AB| = 1 == 1
    A:B = 1 == 1
    f(x) = 1 == 1
    D = (0, 1) == (0,1)
    (2,12) == x \in (2,12)
    x \leq 5 == 5 \geq x
    x < 1 == -x > -1
    1 < x \le 2 == (1,2]
    x > 2 == (2, \infty)
    x \geq -1 == [-1, \infty)
    2 \le x == [2, \infty)
    5 > x == (-\infty, 5)
    3 \ge x > 1 == (1, 3]
    \{x \mid x > 2\} == x > 2
    34x+45y=100 == -34x-45y+100=0
    x^2/4+y^2/3=1 == x^2/16+y^2/12=1/4
    a_n = 2^n == 2^n
    7 = 11a+c != 11a+c
    a^2+b=0 != 0
    2x+z=1 != 1
    x > 5 != x < 5
    x > 5 != x \ge 5
    x = 3 != y = 3
    x = 3 != 2x = 6
    x < 1 != x > -1
    (1,2) != 1 < x < 2
    xyz = 3 != 3
    x = 3 != 0 = 0
    x \ne 3 != x = 3
    `,
  )
  t.equal(compared('(1,2)', '1 < x < 2', { relationAsSet: true }), 'exact')
  t.ok(compared('x = 3', 'y = 3', { strict: false }), 'names of variables may be free')
})

t.test('answers in words are equal by their letters', async (t) => {
  holds(
    t,
    String.raw`
    \text{Evelyn} == Evelyn
    \text{Even} == even
    \text{e} == e
    \text{The midpoints form a hexagon} == The midpoints form a hexagon.
    B == (B)
    B == \textbf{(B)}\ 42
    (B) == B. 42
    C == option c
    C == (c)
    E != e
    B != A or B
    B != (A) or (B)
    B != A B C
    B != 8
    Even != Odd
    abc \text{ is right} != cab \text{ is right}
    `,
  )
})

t.test('damage by escaping is repaired', async (t) => {
  holds(
    t,
    String.raw`
    \frac12 == \\frac{1}{2}
    (\frac15,\frac16) == \\left(\\frac{1}{5},\\frac{1}{6}\\right)
    `,
  )
  t.ok(compared('\\frac74', '\frac{7}{4}'), 'a form feed where \\f was')
})

t.test('the decision says how sure the equality is', async (t) => {
  t.equal(compared('x+1', 'x+1'), 'string')
  t.equal(compared('\\frac12', '0.5'), 'exact')
  t.equal(compared('x+1', '1+x'), 'algebra')
  t.equal(compared('\\sin^2 x+\\cos^2 x', '1'), 'numeric')
  t.equal(compared('(\\frac12, x+1)', '(0.5, 1+x)'), 'algebra', 'the least sure part counts')
})
