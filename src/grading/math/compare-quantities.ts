import { equalValues, isHundredfold } from './compare-numbers.ts'
import type { Comparison, Decision } from './decision.ts'
import { children, type Expression, number, product } from './expression.ts'
import { rational } from './rational.ts'
import { canonicalUnit } from './units.ts'

interface Measure {
  readonly of: Expression
  /** null: none written, or none that is known. */
  readonly unit: string | null
}

/** Compares numbers with what may be left out beside them: units, degrees, a percent sign. */
export function equalQuantities(gold: Expression, answer: Expression, how: Comparison): Decision | null {
  const [want, have] = [measure(gold), measure(answer)]
  if (differ(want.unit, have.unit)) return null
  if (want.of.kind === 'percent' || have.of.kind === 'percent') return equalPercents(want.of, have.of, how)
  if (gold.kind === 'degrees' && mentionsPi(answer)) return equalValues(inRadians(want.of), answer, how)
  if (answer.kind === 'degrees' && mentionsPi(gold)) return equalValues(gold, inRadians(have.of), how)
  return equalValues(withoutUnit(want.of, have.unit), withoutUnit(have.of, want.unit), how)
}

/** 28% is 28 percent and 0.28; 28 beside it is taken as percent with the sign left out. */
function equalPercents(gold: Expression, answer: Expression, how: Comparison): Decision | null {
  const [want, have] = [withoutPercent(gold), withoutPercent(answer)]
  const same = equalValues(want, have, how)
  if (same || gold.kind === answer.kind) return same
  return (gold.kind === 'percent' ? isHundredfold(want, have) : isHundredfold(have, want)) ? 'exact' : null
}

const withoutPercent = (of: Expression): Expression => (of.kind === 'percent' ? of.of : of)

/** A ratio's parts, each over the last; any other expression alone. */
export function ratioQuotients(of: Expression): readonly Expression[] {
  if (of.kind !== 'ratio') return [of]
  const under = lastPart(of).of
  return of.parts.slice(0, -1).map((over) => ({ kind: 'quotient', over, under }))
}

/** False where both ratios end with known units, such as a.m. and p.m., that differ. */
export const sameUnits = (a: Expression, b: Expression): boolean =>
  !differ(lastPart(a).unit, lastPart(b).unit)

const lastPart = (of: Expression): Measure => measure((of.kind === 'ratio' && of.parts.at(-1)) || of)

const differ = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b

function measure(of: Expression): Measure {
  if (of.kind === 'measured') return { of: of.of, unit: canonicalUnit(of.unit) }
  if (of.kind === 'degrees') return { of: of.of, unit: 'degree' }
  return { of, unit: null }
}

/** `17m` beside 17 metres: a last factor spelled like the other side's unit is that unit. */
function withoutUnit(of: Expression, unit: string | null): Expression {
  const last = of.kind === 'product' ? of.factors.at(-1) : undefined
  if (unit === null || of.kind !== 'product' || last?.kind !== 'symbol') return of
  return canonicalUnit(last.name) === unit ? product(of.factors.slice(0, -1)) : of
}

const inRadians = (of: Expression): Expression => ({
  kind: 'quotient',
  over: product([of, { kind: 'constant', name: 'pi' }]),
  under: number(rational(180n)),
})

const mentionsPi = (of: Expression): boolean =>
  (of.kind === 'constant' && of.name === 'pi') || children(of).some(mentionsPi)
