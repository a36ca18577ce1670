import { exactValue } from './algebra.ts'
import { OverBudget } from './budget.ts'
import { constantValue } from './evaluate.ts'
import { children, type Expression, type Of } from './expression.ts'
import { equal, type Rational, toNumber } from './rational.ts'

/** A chain of equalities: sides between `=`, in groups between signs of approximation. */
type Groups = readonly (readonly Expression[])[]

/** null: it has other signs than `=` and `\approx`. */
export function equalityGroups({ sides, ops }: Of<'relation'>): Groups | null {
  const groups: Expression[][] = []
  for (const [k, side] of sides.entries()) {
    const op = ops[k - 1]
    if (op === '=') groups.at(-1)?.push(side)
    else if (op === undefined || op === '~') groups.push([side])
    else return null
  }
  return groups
}

/**
 * Whether no two numbers of a chain contradict each other: `41 + 0 = 42` is false. A last decimal may be
 * rounded.
 */
export function isConsistent(sides: readonly Expression[]): boolean {
  const values = sides.map(readings)
  const known = values.filter((value) => value.length > 0)
  const last = known.at(-1)
  return last === undefined || known.every((value) => sameNumber(value, last))
}

/** Whether `approximation` is a number's value, correctly rounded to the places that it shows. */
export function isRounded(exact: Expression, approximation: Expression): boolean {
  if (exact.kind === 'either' && approximation.kind === 'either') return isRounded(exact.of, approximation.of)
  const [value, rounded] = [readings(exact), readings(approximation)]
  return value.some((one) => rounded.some((other) => isNear(one, other, 0)))
}

/** A number in one of its readings. */
interface Value {
  readonly exact: Rational | null
  readonly near: number
  /** Places after the point, or null if it is not written as a decimal. */
  readonly places: number | null
}

/** Degrees are read as radians and as a mere number. Empty: it is no real number. */
function readings(of: Expression): readonly Value[] {
  const bare = withoutUnits(of, false)
  const plain = hasDegrees(bare) ? [bare, withoutUnits(of, true)] : [bare]
  return plain.map(numberOf).filter((value) => value !== null)
}

function numberOf(of: Expression): Value | null {
  try {
    const exact = exactValue(of)
    const near = exact === null ? constantValue(of) : null
    if (exact === null && (near === null || near.im !== 0)) return null
    const places = of.kind === 'number' ? (of.decimals ?? (of.value.d === 1n ? 0 : null)) : percentPlaces(of)
    return { exact, near: exact === null ? (near?.re ?? 0) : toNumber(exact), places }
  } catch (error) {
    if (error instanceof OverBudget) return null
    throw error
  }
}

/** `25\%` has two places. */
const percentPlaces = (of: Expression): number | null =>
  of.kind === 'percent' && of.of.kind === 'number' ? (of.of.decimals ?? 0) + 2 : null

const sameNumber = (a: readonly Value[], b: readonly Value[]): boolean =>
  a.some((one) => b.some((other) => isSame(one, other) || isNear(one, other, 1)))

function isSame(a: Value, b: Value): boolean {
  if (a.exact && b.exact) return equal(a.exact, b.exact)
  return Math.abs(a.near - b.near) <= 1e-9 * Math.max(Math.abs(a.near), Math.abs(b.near), 1e-4)
}

/** A whole number approximates only where `fewest` is 0. */
function isNear(a: Value, b: Value, fewest: number): boolean {
  const { places } = b
  return places !== null && places >= fewest && Math.abs(a.near - b.near) <= 0.5 * 10 ** -places * (1 + 1e-9)
}

function withoutUnits(of: Expression, degrees: boolean): Expression {
  if (of.kind === 'measured' || (degrees && of.kind === 'degrees')) return withoutUnits(of.of, degrees)
  if (of.kind === 'sum') return { ...of, terms: of.terms.map((term) => withoutUnits(term, degrees)) }
  if (of.kind === 'product') return { ...of, factors: of.factors.map((one) => withoutUnits(one, degrees)) }
  return of
}

const hasDegrees = (of: Expression): boolean => of.kind === 'degrees' || children(of).some(hasDegrees)
