/**
 * Reads assert statements of Python, so that a program is only called, and its value is compared where its objects decide nothing. What is
 * not understood stays a statement.
 */

import { openText, outline, type Piece, tokensOf } from './python-tokens.ts'

/** Operators between the value of a call and a constant, in the order of the program's value on the left. */
type Operator = '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in' | 'is' | 'is not'

/** What an assert asks of a program. */
export interface Assertion {
  /** The Python expression whose value is tested. */
  readonly value: string
  /** What passes. `python`: an expression that needs no program. `within`: of numbers; with `relative`, as math.isclose. */
  readonly expected:
    | { readonly python: string }
    | { readonly python: string; readonly operator: Operator }
    | { readonly python: string; readonly within: Within }
    | { readonly truthy: boolean }
  /** The objects of the program decide a part of it, which they may do falsely. */
  readonly isWeak: boolean
}

interface Within {
  readonly absolute: number
  readonly relative?: number
  readonly exclusive?: boolean
}

/** An expression in a text, outside of its brackets. */
interface Expression {
  readonly text: string
  readonly pieces: readonly Piece[]
}

/**
 * Reads an assert statement that is an equality, or that compares one plain call (`f(1, [2])`, `Solution().f(1)`) with a constant: by
 * `!= < <= > >= in not in`, `is None`, `abs(f(1) - 0.5) < 1e-6`, `math.isclose`, or by being true, or not. null: another statement. Linear in the text.
 *
 * @example
 * ```ts
 * import { readAssert } from 'reward-gateway/grading'
 *
 * readAssert('assert f(1) in (2, 3)') // { value: 'f(1)', expected: { python: '(2, 3)', operator: 'in' }, isWeak: false }
 * ```
 */
export function readAssert(statement: string): Assertion | null {
  const tested = testedBy(statement)
  if (tested === null) return null
  const { pieces } = tested
  const [first, ...rest] = pieces
  if (first?.token === 'not') return truthOf(unwrapped({ ...tested, pieces: rest }), false)
  const place = comparisonIn(pieces)
  if (place === null) return null
  if (place === 'none') return readIsClose(tested) ?? truthOf(tested, true)
  const { from, to, operator } = place
  const [left, right] = [part(tested, 0, from), part(tested, to)]
  if (left.pieces.length === 0 || right.pieces.length === 0) return null
  if (operator === '==') return readEquality(left, right)
  return readNearness(left, operator, right) ?? readComparison(left, operator, right)
}

/**
 * Splits `assert L == R` into both sides. null: another statement, or more than this comparison. Linear in the text.
 *
 * @example
 * ```ts
 * import { equalityOf } from 'reward-gateway/grading'
 *
 * equalityOf('assert f(1) == [2]') // ['f(1)', '[2]']
 * ```
 */
export function equalityOf(statement: string): readonly [string, string] | null {
  const tested = testedBy(statement)
  const place = tested && comparisonIn(tested.pieces)
  if (!tested || !place || place === 'none' || place.operator !== '==') return null
  const [left, right] = [textOf(part(tested, 0, place.from)), textOf(part(tested, place.to))]
  return left === '' || right === '' ? null : [left, right]
}

/**
 * Whether a Python expression compares something, as `(f(1) == 2)` does: the objects of a program decide such a comparison where it runs. What
 * stands in its texts does not count.
 *
 * @example
 * ```ts
 * import { hasComparison } from 'reward-gateway/grading'
 *
 * hasComparison('all(f(x) == x for x in [1, 2])') // true
 * ```
 */
export function hasComparison(expression: string): boolean {
  let isLoop = false
  for (const { token } of tokensOf(expression)) {
    if (token === openText || comparisons.has(token) || booleans.has(token) || (token === 'in' && !isLoop))
      return true
    if (token === 'for' || token === 'in') isLoop = token === 'for'
  }
  return false
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const booleans: ReadonlySet<string> = new Set(['not', 'is', 'and', 'or'])

// --- Statements ----------------------------------------------------------------------------------------------

/** The expression that an assert tests, without the parentheses around it. null: a statement of another kind, or more than one. */
function testedBy(statement: string): Expression | null {
  const text = statement.trimEnd()
  const [head] = /^\s*assert\b/.exec(text) ?? []
  const pieces = head === undefined ? null : outline(text, head.length, text.length)
  if (pieces === null) return null
  const comma = pieces.findIndex(({ token }) => token === ',')
  return unwrapped({ text, pieces: comma < 0 ? pieces : pieces.slice(0, comma) })
}

/** Parentheses that are taken off an expression. */
const mostWrappings = 3

/** `((a))` as `a`, but `(a, b)` as it is. */
function unwrapped(expression: Expression): Expression {
  let { text, pieces } = expression
  for (let level = 0; level < mostWrappings; level++) {
    const [only] = pieces
    if (pieces.length !== 1 || only?.token !== '(') break
    const inner = outline(text, only.at + 1, only.end - 1)
    if (inner === null || inner.length === 0 || inner.some(({ token }) => token === ',')) break
    pieces = inner
  }
  return { text, pieces }
}

const part = ({ text, pieces }: Expression, from: number, to?: number): Expression => ({
  text,
  pieces: pieces.slice(from, to),
})

const textOf = ({ text, pieces }: Expression): string =>
  text.slice(pieces[0]?.at ?? 0, pieces.at(-1)?.end ?? 0)

interface Comparison {
  /** Places of its first piece, and of the one behind it. */
  readonly from: number
  readonly to: number
  readonly operator: Operator | '=='
}

/** `none`: nothing is compared. null: more than one comparison, or another word of Python, such as `and`. */
function comparisonIn(pieces: readonly Piece[]): Comparison | 'none' | null {
  let found: Comparison | null = null
  for (let from = 0; from < pieces.length; from++) {
    const token = pieces[from]?.token ?? ''
    const pair = `${token} ${pieces[from + 1]?.token}`
    const isPair = pair === 'not in' || pair === 'is not'
    if (!isPair && otherWords.test(token)) return null
    if (!isPair && !operators.test(token)) continue
    if (found) return null
    const to = from + (isPair ? 2 : 1)
    found = { from, to, operator: (isPair ? pair : token) as Comparison['operator'] }
    from = to - 1
  }
  return found ?? 'none'
}

const operators = /^(?:[=!]=|[<>]=?|in|is)$/
const otherWords = /^(?:and|or|not|if|else|lambda|for|await|yield|=|:=|->)$/

// --- What passes ---------------------------------------------------------------------------------------------

function truthOf(tested: Expression, truthy: boolean): Assertion | null {
  return isPlainCall(tested) ? { value: textOf(tested), expected: { truthy }, isWeak: false } : null
}

function readEquality(left: Expression, right: Expression): Assertion {
  const isMirrored = isPlainCall(right) && isConstant(left)
  const [value, python] = isMirrored ? [textOf(right), textOf(left)] : [textOf(left), textOf(right)]
  const isGuessed = /^(?:True|False)$/.test(python) && !isMirrored && !isOwnCall(left)
  return { value, expected: { python }, isWeak: isGuessed || hasComparison(value) }
}

const mirrored: Readonly<Record<string, Operator>> = {
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

function readComparison(left: Expression, operator: Operator, right: Expression): Assertion | null {
  const other = mirrored[operator]
  if (other && isPlainCall(right)) return isConstant(left) ? readComparison(right, other, left) : null
  if (!isPlainCall(left)) return null
  const python = textOf(right)
  const isFitting =
    operator === 'is' || operator === 'is not'
      ? /^(?:None|True|False)$/.test(python)
      : operator === 'in' || operator === 'not in'
        ? right.pieces.length === 1 && /^[[({"]$/.test(right.pieces[0]?.token ?? '') && isConstant(right)
        : operator === '!='
          ? isConstant(right)
          : isNumeric(right)
  return isFitting ? { value: textOf(left), expected: { python, operator }, isWeak: false } : null
}

/** `abs(f(1) - 0.5) < 1e-6`, from either side. */
function readNearness(left: Expression, operator: Operator, right: Expression): Assertion | null {
  if (operator === '>' || operator === '>=') return readNearness(right, operator === '>' ? '<' : '<=', left)
  if (operator !== '<' && operator !== '<=') return null
  const [name, group] = left.pieces
  const absolute = numeralIn(right)
  if (left.pieces.length !== 2 || name?.token !== 'abs' || group?.token !== '(' || absolute === null)
    return null
  const inner = inside(left, group)
  if (inner === null) return null
  const { pieces } = inner
  const call = lengthOfCall(pieces)
  const minus =
    pieces[call]?.token === '-' && call > 0 ? call : pieces.findLastIndex(({ token }) => token === '-')
  const [one, other] = [part(inner, 0, minus), part(inner, minus + 1)]
  if (minus < 1) return null
  const sides = minus === call ? ([one, other] as const) : ([other, one] as const)
  // A sum behind the minus is no part of what is subtracted.
  if (minus === call && part(other, 1).pieces.some(({ token }) => token === '+' || token === '-')) return null
  return near(...sides, { absolute, ...(operator === '<' && { exclusive: true }) })
}

/** `math.isclose(f(1), 0.5, abs_tol=1e-6)`. */
function readIsClose(tested: Expression): Assertion | null {
  const group = tested.pieces[3]
  const names = tested.pieces.map(({ token }) => token).join(' ')
  const inner = names === 'math . isclose (' && group ? inside(tested, group) : null
  if (inner === null) return null
  const sides: Expression[] = []
  const limits = new Map<string, number>()
  for (const argument of argumentsOf(inner)) {
    const [name, sign] = argument.pieces
    if (sign?.token !== '=') {
      sides.push(argument)
      continue
    }
    const limit = numeralIn(part(argument, 2))
    if (limit === null || !/^(?:rel|abs)_tol$/.test(name?.token ?? '')) return null
    limits.set(name?.token ?? '', limit)
  }
  const [a, b] = sides
  if (!a || !b || sides.length > 2) return null
  const within = { absolute: limits.get('abs_tol') ?? 0, relative: limits.get('rel_tol') ?? 1e-9 }
  return near(a, b, within) ?? near(b, a, within)
}

const near = (called: Expression, wanted: Expression, within: Within): Assertion | null =>
  isPlainCall(called) && isNumeric(wanted)
    ? { value: textOf(called), expected: { python: textOf(wanted), within }, isWeak: false }
    : null

const inside = ({ text }: Expression, { at, end }: Piece): Expression | null => {
  const pieces = outline(text, at + 1, end - 1)
  return pieces && { text, pieces }
}

function argumentsOf(inner: Expression): Expression[] {
  const found: Expression[] = []
  let from = 0
  for (let at = 0; at <= inner.pieces.length; at++) {
    if (at < inner.pieces.length && inner.pieces[at]?.token !== ',') continue
    if (at > from) found.push(part(inner, from, at))
    from = at + 1
  }
  return found
}

const numeral = /^(?:0|[1-9]\d*|\d+\.\d*|\.\d+|\d+(?:\.\d*)?[eE][-+]?\d+|\.\d+[eE][-+]?\d+)$/

/** The number that an expression is. */
function numeralIn(expression: Expression): number | null {
  const text = textOf(expression)
  return numeral.test(text) && Number.isFinite(Number(text)) ? Number(text) : null
}

// --- Calls and constants -------------------------------------------------------------------------------------

/** Pieces that the call of a name, or of a method of `Solution()`, takes at the beginning; 0 if there is none. */
function lengthOfCall(pieces: readonly Piece[]): number {
  const [first, second, ...rest] = pieces
  if (!first || second?.token !== '(' || !/^[A-Za-z_]\w*$/.test(first.token) || otherWords.test(first.token))
    return 0
  const [dot, method, group] = rest
  if (first.token !== 'Solution' || dot?.token !== '.') return 2
  return second.end - second.at === 2 && /^[A-Za-z_]\w*$/.test(method?.token ?? '') && group?.token === '('
    ? 5
    : 0
}

/** `f(1, key=[2])` or `Solution().f(1)`: all that the program can do about it shows in the value. */
function isPlainCall({ text, pieces }: Expression): boolean {
  const group = pieces.at(-1)
  if (group === undefined || lengthOfCall(pieces) !== pieces.length || pieces[0]?.token === 'float')
    return false
  return areConstants(text, group.at + 1, group.end - 1, 'arguments')
}

const predicates = /^(?:all|any|bool|callable|hasattr|isinstance|issubclass)$/

/** The call of a function that is probably the program's own, whatever its arguments are. */
const isOwnCall = ({ pieces }: Expression): boolean =>
  lengthOfCall(pieces) === pieces.length && !predicates.test(pieces[0]?.token ?? '')

const isConstant = ({ text, pieces }: Expression): boolean =>
  pieces.length > 0 && areConstants(text, pieces[0]?.at ?? 0, pieces.at(-1)?.end ?? 0, 'constant')

/** A number, or arithmetic of numbers. */
const isNumeric = ({ text, pieces }: Expression): boolean =>
  /^[0(\w]/.test(pieces.at(-1)?.token ?? '') &&
  areConstants(text, pieces[0]?.at ?? 0, pieces.at(-1)?.end ?? 0, 'number')

const inNumbers = new Set([
  '0',
  'True',
  'False',
  'None',
  '+',
  '-',
  '*',
  '/',
  '%',
  '(',
  ')',
  '\n',
  '\r',
  '**',
  '//',
])
const inConstants = new Set([...inNumbers, '"', ',', ':', '[', ']', '{', '}'])
const inArguments = new Set([...inConstants, '='])
const infinity = /\(\s*(['"])[+-]?inf(?:inity)?\1\s*\)/iy
const textAhead = /['"]/y
const nameSign = /\s*=(?!=)/y

/** Whether a part of a text holds only literals, their arithmetic, and names of `math` but NaN. */
function areConstants(
  text: string,
  from: number,
  to: number,
  kind: 'arguments' | 'constant' | 'number',
): boolean {
  const follows = (pattern: RegExp, at: number): boolean => {
    pattern.lastIndex = at
    return pattern.test(text)
  }
  const plain = kind === 'number' ? inNumbers : kind === 'constant' ? inConstants : inArguments
  let [before, previous] = ['', '']
  for (const { token, end } of tokensOf(text, from, to)) {
    const isFine =
      plain.has(token) ||
      (token === '"' && before === 'float' && previous === '(') ||
      (token === '.' && previous === 'math') ||
      (before === 'math' && previous === '.' && isWord(token) && token !== 'nan') ||
      (token === 'math' && previous !== '.') ||
      (token === 'float' && follows(infinity, end)) ||
      (/^[ru]$/i.test(token) && follows(textAhead, end)) ||
      (isWord(token) && kind === 'arguments' && follows(nameSign, end))
    if (!isFine) return false
    ;[before, previous] = [previous, token]
  }
  return previous !== 'math'
}

const isWord = (token: string): boolean => /^[A-Za-z_]/.test(token)
