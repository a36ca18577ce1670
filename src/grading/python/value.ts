import type { Algebra } from '../number/operators.ts'

/** What a Python expression of literals may be worth: int, float, str, bool, None. */
export type PythonValue = bigint | number | string | boolean | { readonly none: true }

/** A repeated text may not be longer. Python has no such limit. */
const maxTextLength = 100_000

/** Python's arithmetic of literals; what Python raises for is null. */
export const pythonArithmetic: Algebra<PythonValue> = {
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

/** As float() takes it; null: no number, or an integer that does not fit. */
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

/** The double nearest to n / d, ties to even; infinite where it does not fit. */
function quotient(n: bigint, d: bigint): number {
  if (n === 0n) return 0
  const negative = n < 0n !== d < 0n
  const [a, b] = [n < 0n ? -n : n, d < 0n ? -d : d]
  // 66 bits of the quotient, the last one sticky: converting them rounds once, as the exact value would.
  const shift = 66 - (bits(a) - bits(b))
  const [scaled, unit] = shift >= 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)]
  const whole = scaled / unit
  const sticky = scaled % unit === 0n ? whole : whole | 1n
  const value = scaledDown(Number(sticky), shift)
  return negative ? -value : value
}

const bits = (value: bigint): number => value.toString(16).length * 4

/** value / 2^shift in steps that neither overflow nor vanish on the way. */
function scaledDown(value: number, shift: number): number {
  let result = value
  let left = shift
  for (; left > 1000; left -= 1000) result *= 2 ** -1000
  for (; left < -1000; left += 1000) result *= 2 ** 1000
  return result * 2 ** -left
}
