import type { Allowance } from './budget.ts'
import { add, isZero, multiply, one, type Rational, rational } from './rational.ts'

/** Generator and power, in the order of the generators' names. */
type Powers = readonly (readonly [generator: string, power: number])[]

interface Term {
  readonly powers: Powers
  readonly factor: Rational
}

/** Terms by the text of their powers; no term is zero. Generators: names, `i`, and `√p` for a prime p. */
export type Polynomial = ReadonlyMap<string, Term>

/** The polynomial without generators. */
export const constant = (factor: Rational): Polynomial =>
  isZero(factor) ? new Map() : new Map([['', { powers: [], factor }]])

/** The polynomial that is one generator. */
export const generator = (name: string): Polynomial =>
  new Map([[`${name}^1`, { powers: [[name, 1]], factor: one }]])

/** The sum; no budget, for it has at most the terms of both. */
export function plus(a: Polynomial, b: Polynomial): Polynomial {
  const sum = new Map(a)
  for (const [key, term] of b) put(sum, key, term)
  return sum
}

/** Spends one unit a pair of terms. */
export function times(a: Polynomial, b: Polynomial, work: Allowance): Polynomial {
  work.spend(a.size * b.size)
  const product = new Map<string, Term>()
  for (const left of a.values()) {
    for (const right of b.values()) {
      const { powers, factor } = merged(left, right)
      put(product, powers.map(([name, power]) => `${name}^${power}`).join(' '), { powers, factor })
    }
  }
  return product
}

/** The number c with a = c b, or null; null too where either is zero. */
export function ratio(a: Polynomial, b: Polynomial): Rational | null {
  if (a.size !== b.size || a.size === 0) return null
  let found: Rational | null = null
  for (const [key, { factor }] of a) {
    const other = b.get(key)?.factor
    if (other === undefined) return null
    const quotient = rational(factor.n * other.d, factor.d * other.n)
    if (found === null) found = quotient
    else if (found.n !== quotient.n || found.d !== quotient.d) return null
  }
  return found
}

function put(into: Map<string, Term>, key: string, term: Term): void {
  const known = into.get(key)
  const factor = known ? add(known.factor, term.factor) : term.factor
  if (isZero(factor)) into.delete(key)
  else into.set(key, { powers: term.powers, factor })
}

/** The product of two terms, with i i = -1 and √p √p = p. */
function merged(a: Term, b: Term): Term {
  const powers: (readonly [string, number])[] = []
  let factor = multiply(a.factor, b.factor)
  let left = 0
  let right = 0
  while (left < a.powers.length || right < b.powers.length) {
    const [p, q] = [a.powers[left], b.powers[right]]
    if (q === undefined || (p !== undefined && p[0] < q[0])) {
      if (p) powers.push(p)
      left++
    } else if (p === undefined || q[0] < p[0]) {
      powers.push(q)
      right++
    } else {
      const [name] = p
      if (name === 'i') factor = { n: -factor.n, d: factor.d }
      else if (name.startsWith('√')) factor = multiply(factor, rational(BigInt(name.slice(1))))
      else powers.push([name, p[1] + q[1]])
      left++
      right++
    }
  }
  return { powers, factor }
}
