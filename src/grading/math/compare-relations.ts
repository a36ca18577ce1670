import { proportion } from './algebra.ts'
import type { Decision } from './decision.ts'
import { weaker } from './decision.ts'
import { constantRatio } from './evaluate.ts'
import {
  children,
  type Expression,
  mentions,
  namesIn,
  negated,
  type Of,
  type RelationOperator,
  sum,
} from './expression.ts'
import { isName } from './plain-form.ts'

interface Constraint {
  /** The relation as `difference op 0`. */
  readonly difference: Expression
  readonly op: '=' | '!=' | '<' | '<='
  /** The names of which it is the solution: alone on one side, and not on the other. */
  readonly solves: readonly string[]
  /** Solved for y, r or z, with another coordinate on the other side: the equation of a curve. */
  readonly isCurve: boolean
}

/**
 * Compares equations up to a factor and inequalities up to a positive factor. A truth that is solved for a
 * name wants an answer solved for it: any other form would only restate the question. A curve in coordinates
 * may be rearranged, but not multiplied.
 */
export function equalRelations(gold: Of<'relation'>, answer: Of<'relation'>): Decision | null {
  const [want, have] = [constraints(gold), constraints(answer)]
  if (!want || !have || want.length !== have.length) return null
  let decision: Decision | null = 'exact'
  const left = [...have]
  for (const constraint of want) {
    const found = left.findIndex((other) => equalConstraints(constraint, other) !== null)
    if (found < 0) return null
    const [other] = left.splice(found, 1)
    decision = weaker(decision, other ? equalConstraints(constraint, other) : null)
  }
  return decision
}

function equalConstraints(gold: Constraint, answer: Constraint): Decision | null {
  if (gold.op !== answer.op) return null
  const symmetric = gold.op === '=' || gold.op === '!='
  const ratio = proportion(gold.difference, answer.difference)
  if (ratio === 'different') return null
  const factor =
    ratio === null ? constantRatio(gold.difference, answer.difference) : Number(ratio.n) / Number(ratio.d)
  if (factor === null || (factor < 0 && !symmetric)) return null
  if (gold.solves.length > 0) {
    if (Math.abs(Math.abs(factor) - 1) > 1e-12) return null
    if (!gold.isCurve && !gold.solves.some((name) => answer.solves.includes(name))) return null
  }
  return ratio === null ? 'numeric' : 'algebra'
}

function constraints({ sides, ops }: Of<'relation'>): Constraint[] | null {
  const found: Constraint[] = []
  for (const [k, op] of ops.entries()) {
    const [left, right] = [sides[k], sides[k + 1]]
    if (!left || !right || !isAlgebraic(left) || !isAlgebraic(right)) return null
    const turned = op === '>' || op === '>='
    const kind: RelationOperator = op === '>' ? '<' : op === '>=' ? '<=' : op
    if (kind !== '=' && kind !== '!=' && kind !== '<' && kind !== '<=') return null
    const difference = turned ? sum([right, negated(left)]) : sum([left, negated(right)])
    const solves = [solvedName(left, right), solvedName(right, left)].filter((name) => name !== null)
    const isCurve = kind === '=' && (isCurveOf(left, right) || isCurveOf(right, left))
    found.push({ difference, op: kind, solves, isCurve })
  }
  return found
}

/** The text of a name that stands alone on its side. null: not a name, or the other side mentions it. */
function solvedName(side: Expression, other: Expression): string | null {
  return isName(side) && !namesIn(side).some((name) => mentions(other, name)) ? written(side) : null
}

/** The same for equal expressions. */
const written = (of: Expression): string =>
  of.kind === 'symbol'
    ? of.name
    : JSON.stringify(of, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))

const isCurveOf = (side: Expression, other: Expression): boolean =>
  side.kind === 'symbol' &&
  /^[yrz]$/.test(side.name) &&
  ['x', 'y', 'theta'].some((name) => name !== side.name && mentions(other, name))

const algebraic = new Set([
  'number',
  'symbol',
  'constant',
  'sum',
  'product',
  'quotient',
  'power',
  'call',
  'percent',
  'degrees',
])

const isAlgebraic = (of: Expression): boolean => algebraic.has(of.kind) && children(of).every(isAlgebraic)

/** The interval of one name between bounds: `1 < x <= 2` becomes (1, 2]. null for other forms. */
export function intervalOf({ sides, ops }: Of<'relation'>): Expression | null {
  const infinite: Expression = { kind: 'constant', name: 'infinity' }
  const [a, b, c] = sides
  const [first, second] = ops
  if (!a || !b || !first || !isOrder(first)) return null
  if (sides.length === 2) {
    if (a.kind === 'symbol')
      return first.startsWith('<')
        ? between(negated(infinite), '<', first, b)
        : between(b, turn(first), '<', infinite)
    if (b.kind === 'symbol')
      return first.startsWith('<')
        ? between(a, first, '<', infinite)
        : between(negated(infinite), '<', turn(first), a)
    return null
  }
  if (
    sides.length !== 3 ||
    !c ||
    b.kind !== 'symbol' ||
    !second ||
    !isOrder(second) ||
    second[0] !== first[0]
  )
    return null
  return first.startsWith('<') ? between(a, first, second, c) : between(c, turn(second), turn(first), a)
}

/** `x < 1 or x > 3` as a union of intervals. null if an item is not one. */
export function unionOf({ items }: Of<'list'>): Expression | null {
  const parts: Expression[] = []
  for (const item of items) {
    const interval = item.kind === 'relation' ? intervalOf(item) : null
    if (interval === null) return null
    parts.push(interval)
  }
  return { kind: 'combination', op: 'union', parts }
}

const isOrder = (op: RelationOperator): boolean => op === '<' || op === '<=' || op === '>' || op === '>='

const turn = (op: RelationOperator): string => (op.endsWith('=') ? '<=' : '<')

function between(low: Expression, from: string, to: string, high: Expression): Expression {
  return {
    kind: 'tuple',
    items: [low, high],
    open: from === '<=' ? '[' : '(',
    close: to === '<=' ? ']' : ')',
  }
}
