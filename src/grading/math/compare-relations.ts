import { proportion } from './algebra.ts'
import type { Decision } from './decision.ts'
import { weaker } from './decision.ts'
import { constantRatio } from './evaluate.ts'
import { children, type Expression, negated, type Of, type RelationOperator, sum } from './expression.ts'

interface Constraint {
  /** The relation as `difference op 0`. */
  readonly difference: Expression
  readonly op: '=' | '!=' | '<' | '<='
  /**
   * One side is a bare name. A multiple of the relation would only restate the question, so it does not
   * count.
   */
  readonly solved: boolean
}

/**
 * Compares equations up to a factor and inequalities up to a positive factor. A solved truth requires a
 * solved answer.
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
  if (gold.solved && Math.abs(Math.abs(factor) - 1) > 1e-12) return null
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
    const solved =
      (left.kind === 'symbol' && !mentions(right, left.name)) ||
      (right.kind === 'symbol' && !mentions(left, right.name))
    found.push({ difference, op: kind, solved })
  }
  return found
}

const mentions = (of: Expression, name: string): boolean =>
  (of.kind === 'symbol' && of.name === name) || children(of).some((inner) => mentions(inner, name))

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
