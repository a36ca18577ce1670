import { type Algebra, evaluate, type Token } from './arithmetic.ts'
import { asciiDigits, maxIntegerDigits, trimSpace } from './characters.ts'

const digits = '[0-9](?:_?[0-9])*'
const float = new RegExp(`^[+-]?(?:${digits}(?:\\.(?:${digits})?)?|\\.${digits})(?:[eE][+-]?${digits})?$`)
const integer = new RegExp(`^[+-]?${digits}$`)
const special = /^([+-]?)(inf|infinity|nan)$/i

/**
 * Reads a text like Python's float(): surrounding white space, digits of any script, `_` between digits, inf
 * and nan. null: invalid.
 *
 * @example
 * ```ts
 * import { readFloat } from 'reward-gateway/grading'
 *
 * readFloat(' 1_000.5 ') // 1000.5
 * ```
 */
export function readFloat(text: string): number | null {
  const ascii = asciiDigits(trimSpace(text))
  if (float.test(ascii)) return Number(ascii.replaceAll('_', ''))
  const named = special.exec(ascii)
  if (!named) return null
  if (named[2]?.toLowerCase() === 'nan') return Number.NaN
  return named[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/**
 * Reads a text like Python's int(). null: invalid, or more than 4300 digits.
 *
 * @example
 * ```ts
 * import { readInteger } from 'reward-gateway/grading'
 *
 * readInteger('-1_000') // -1000n
 * ```
 */
export function readInteger(text: string): bigint | null {
  const ascii = asciiDigits(trimSpace(text))
  if (!integer.test(ascii)) return null
  const plain = ascii.replace(/[+_-]/g, '')
  if (plain.length > maxIntegerDigits) return null
  return ascii.startsWith('-') ? -BigInt(plain) : BigInt(plain)
}

/** All runs of Unicode decimal digits, from left to right. null: one is longer than Python reads. */
export function digitRuns(text: string): bigint[] | null {
  const runs = (text.match(/\p{Nd}+/gu) ?? []).map(asciiDigits)
  return runs.some((run) => run.length > maxIntegerDigits) ? null : runs.map(BigInt)
}

/**
 * The elements of a JSON list, the characters of a text or the keys of an object, converted like Python's
 * int(). null: one is invalid.
 */
export function pythonIntegers(value: unknown): bigint[] | null {
  if ((typeof value !== 'object' && typeof value !== 'string') || value === null) return null
  const items: unknown[] = typeof value === 'string' || Array.isArray(value) ? [...value] : Object.keys(value)
  const integers = items.map(pythonInteger)
  return integers.every((item) => item !== null) ? integers : null
}

function pythonInteger(value: unknown): bigint | null {
  if (typeof value === 'string') return readInteger(value)
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : null
}

/** Whether two lists hold the same integers equally often. */
export function sameIntegers(a: readonly bigint[], b: readonly bigint[]): boolean {
  if (a.length !== b.length) return false
  const [x, y] = [a, b].map((list) => [...list].sort((p, q) => (p < q ? -1 : Number(p > q)))) as [
    bigint[],
    bigint[],
  ]
  return x.every((integer, i) => integer === y[i])
}

/** The value of a Python expression of literals: int, float, str, bool or None. */
type PythonValue = bigint | number | string | boolean | { readonly none: true }

/** Maximum length of a repeated text. Python has no such limit. */
const maxTextLength = 100_000

/** Python's arithmetic on literals. null where Python raises. */
const pythonArithmetic: Algebra<PythonValue> = {
  add(a, b) {
    if (typeof a === 'string' && typeof b === 'string')
      return a.length + b.length > maxTextLength ? null : a + b
    return numeric(
      a,
      b,
      (x, y) => x + y,
      (x, y) => x + y,
    )
  },
  subtract: (a, b) =>
    numeric(
      a,
      b,
      (x, y) => x - y,
      (x, y) => x - y,
    ),
  multiply(a, b) {
    if (typeof a === 'string') return repeated(a, b)
    if (typeof b === 'string') return repeated(b, a)
    return numeric(
      a,
      b,
      (x, y) => x * y,
      (x, y) => x * y,
    )
  },
  divide(a, b) {
    const x = numberOf(a)
    const y = numberOf(b)
    if (x === null || y === null || Number(y) === 0) return null
    if (typeof x === 'bigint' && typeof y === 'bigint') return finite(quotient(x, y))
    return numeric(
      x,
      y,
      () => 0n,
      (n, d) => n / d,
    )
  },
  negate(a) {
    const x = numberOf(a)
    return x === null ? null : -x
  },
}

/** Converts like float(). null: not a number, or an integer that does not fit. */
export function floatOf(value: bigint | number | boolean): number | null {
  return typeof value === 'bigint' ? finite(Number(value)) : Number(value)
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

function numberOf(value: PythonValue): bigint | number | null {
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'bigint' || typeof value === 'number' ? value : null
}

function numeric(
  a: PythonValue,
  b: PythonValue,
  exact: (x: bigint, y: bigint) => bigint,
  double: (x: number, y: number) => number,
): PythonValue | null {
  const x = numberOf(a)
  const y = numberOf(b)
  if (x === null || y === null) return null
  if (typeof x === 'bigint' && typeof y === 'bigint') return exact(x, y)
  const left = floatOf(x)
  const right = floatOf(y)
  return left === null || right === null ? null : double(left, right)
}

function repeated(text: string, times: PythonValue): string | null {
  const count = numberOf(times)
  if (typeof count !== 'bigint') return null
  if (count <= 0n || text === '') return ''
  return BigInt(text.length) * count > BigInt(maxTextLength) ? null : text.repeat(Number(count))
}

/** The double nearest to n / d, ties to even. Infinite if it does not fit. */
function quotient(n: bigint, d: bigint): number {
  if (n === 0n) return 0
  const negative = n < 0n !== d < 0n
  const [a, b] = [n < 0n ? -n : n, d < 0n ? -d : d]
  // 66 bits of the quotient with a sticky last bit, so that the conversion rounds once, like the exact value.
  const shift = 66 - (bits(a) - bits(b))
  const [scaled, unit] = shift >= 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)]
  const whole = scaled / unit
  const sticky = scaled % unit === 0n ? whole : whole | 1n
  const value = scaledDown(Number(sticky), shift)
  return negative ? -value : value
}

const bits = (value: bigint): number => value.toString(16).length * 4

/** value / 2^shift in steps without overflow or underflow in between. */
function scaledDown(value: number, shift: number): number {
  let result = value
  let left = shift
  for (; left > 1000; left -= 1000) result *= 2 ** -1000
  for (; left < -1000; left += 1000) result *= 2 ** 1000
  return result * 2 ** -left
}

const exponent = `[eE][+-]?${digits}`
const double = new RegExp(
  `(?:${digits})?\\.${digits}(?:${exponent})?|${digits}\\.(?:${exponent})?|${digits}${exponent}`,
  'y',
)
const based = /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+/y
const decimalInteger = /0(?:_?0)*|[1-9](?:_?[0-9])*/y
const name = /True|False|None/y
const quoted = /'([^'\\\n]*)'|"([^"\\\n]*)"/y
const blank = /[ \t\f]+|\\\n|#[^\n]*/y
const maxOpen = 200

const named: Readonly<Record<string, PythonValue>> = { True: true, False: false, None: { none: true } }

/**
 * Evaluates a Python expression of literals and `+ - * / ( )`, where `[` counts as `(`. null: anything else,
 * or an error.
 */
export function evaluatePython(expression: string): Exclude<PythonValue, { none: true }> | null {
  const source = expression.replaceAll('[', '(').replaceAll(']', ')').replace(/\r\n?/g, '\n')
  if (/^[ \t]/.test(source)) return null
  const tokens = tokensOf(source)
  const value = tokens && evaluate(tokens, pythonArithmetic)
  return typeof value === 'object' ? null : value
}

/** null: a character belongs to no token, or another line follows. */
function tokensOf(source: string): Token<PythonValue>[] | null {
  const tokens: Token<PythonValue>[] = []
  let open = 0
  let ended = false
  for (let at = 0; at < source.length; ) {
    const mark = source.charAt(at)
    if (mark === '\n') {
      ended ||= open === 0 && tokens.length > 0
      at++
      continue
    }
    const skipped = match(blank, source, at)
    if (skipped !== null) {
      if (skipped.startsWith('\\') && at + 2 >= source.length) return null
      at += skipped.length
      continue
    }
    if (ended) return null
    if ('+-*/()'.includes(mark)) {
      open += mark === '(' ? 1 : mark === ')' ? -1 : 0
      if (open > maxOpen) return null
      tokens.push(mark as Token<PythonValue>)
      at++
      continue
    }
    const literal = literalAt(source, at)
    if (literal === null) return null
    push(tokens, literal.value)
    at += literal.length
  }
  return tokens
}

/** Adjacent texts are concatenated. */
function push(tokens: Token<PythonValue>[], value: PythonValue): void {
  const last = tokens.at(-1)
  if (typeof value === 'string' && typeof last === 'object' && typeof last.value === 'string') {
    tokens[tokens.length - 1] = { value: last.value + value }
  } else tokens.push({ value })
}

function literalAt(source: string, at: number): { value: PythonValue; length: number } | null {
  const text = match(quoted, source, at)
  if (text !== null) return { value: text.slice(1, -1), length: text.length }
  const word = match(name, source, at)
  const numeral =
    word ?? match(double, source, at) ?? match(based, source, at) ?? match(decimalInteger, source, at)
  if (numeral === null || /[\p{L}\p{N}_.]/u.test(source.charAt(at + numeral.length))) return null
  const value = word === null ? numeralValue(numeral.replaceAll('_', '')) : named[word]
  return value === undefined ? null : { value, length: numeral.length }
}

function numeralValue(numeral: string): PythonValue | undefined {
  if (/^0[xob]/i.test(numeral)) return BigInt(numeral)
  if (/[.eE]/.test(numeral)) return Number(numeral)
  return numeral.length > maxIntegerDigits ? undefined : BigInt(numeral)
}

function match(pattern: RegExp, source: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? null
}
