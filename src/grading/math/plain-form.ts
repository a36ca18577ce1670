import { budget, OverBudget } from './budget.ts'
import { children, type Expression, negated, type Of } from './expression.ts'

/**
 * A normal form without redundant wording: a chain of equalities becomes its last value, and +- is expanded.
 */
export function plainForm(of: Expression): Expression {
  if (of.kind === 'list') return plainList(of.items)
  const form = of.kind === 'relation' ? plainRelation(of) : of
  return hasEither(form) ? spelledOut(form) : form
}

function plainList(items: readonly Expression[]): Expression {
  const [first, ...others] = items
  // `n = 1, 2, 3` gives n three values.
  if (
    first?.kind === 'relation' &&
    others.every((item) => item.kind !== 'relation' && item.kind !== 'list')
  ) {
    const value = assigned(first)
    if (value) return plainList([value, ...others])
  }
  const plain = items.flatMap((item) => {
    const form = plainForm(item)
    if (form.kind === 'list') return item.kind === 'list' ? [asTuple(form)] : form.items
    return [form]
  })
  if (plain.length > budget.nodes) throw new OverBudget()
  return { kind: 'list', items: plain }
}

/** One of several answers with several parts each: `p = 5, q = 2; p = 7, q = 2`. */
function asTuple({ items }: Of<'list'>): Expression {
  return { kind: 'tuple', items: items.map((item) => assigned(item) ?? item), open: '(', close: ')' }
}

function plainRelation(of: Of<'relation'>): Expression {
  const [left] = of.sides
  if (left === undefined) return of
  if (of.ops.every((op) => op === '=' || op === '~')) {
    const exact = of.sides.filter((_, k) => of.ops[k - 1] !== '~')
    const last = exact.length > 1 ? exact.at(-1) : of.sides.at(-1)
    if (last === undefined) return of
    if (isName(left)) return { kind: 'relation', sides: [left, last], ops: ['='] }
    if (exact.length !== 2 || of.sides.every(isConstant)) return last
  }
  return of
}

/** The value that `x = 3` or `x \in S` gives a name. null for other forms. */
export function assigned(of: Expression): Expression | null {
  if (of.kind !== 'relation' || of.sides.length !== 2 || (of.ops[0] !== '=' && of.ops[0] !== 'in'))
    return null
  const [name, value] = of.sides
  return name && value && isName(name) ? value : null
}

/**
 * Names of unknowns: x, a_3, f(x), dy/dx, |AB|, A:B, (p, q), AB. A product of lower-case letters is a side of
 * an equation instead.
 */
function isName(of: Expression): boolean {
  if (of.kind === 'symbol') return true
  if (of.kind === 'call') return of.name.startsWith('f ') || (of.name === 'abs' && of.args.every(isName))
  if (of.kind === 'ratio') return of.parts.every(isName)
  if (of.kind === 'tuple') return of.items.every(isName)
  if (of.kind === 'constant') return of.name === 'e' || of.name === 'i'
  if (of.kind === 'quotient') return isDifferential(of.over) && isDifferential(of.under)
  return of.kind === 'product' && of.factors.every(isCapital)
}

/** `dy` and `dx` in a derivative. */
const isDifferential = (of: Expression): boolean =>
  of.kind === 'product' &&
  of.factors.length === 2 &&
  of.factors[0]?.kind === 'symbol' &&
  of.factors[0].name === 'd'

const isCapital = (of: Expression): boolean =>
  of.kind === 'product'
    ? of.factors.every(isCapital)
    : of.kind === 'symbol' &&
      (/^[A-Z](?:_\w+)?'*$/.test(of.name) || of.name === 'angle' || of.name === 'triangle')

const isConstant = (of: Expression): boolean => of.kind !== 'symbol' && children(of).every(isConstant)

const hasEither = (of: Expression): boolean => of.kind === 'either' || children(of).some(hasEither)

/** The expression with every +- read the first way, and with every +- read the second way. */
function spelledOut(of: Expression): Expression {
  return { kind: 'list', items: [chosen(of, 1), chosen(of, -1)] }
}

function chosen(of: Expression, way: 1 | -1): Expression {
  const go = (inner: Expression): Expression => chosen(inner, way)
  switch (of.kind) {
    case 'either':
      return of.first === way ? go(of.of) : negated(go(of.of))
    case 'sum':
      return { ...of, terms: of.terms.map(go) }
    case 'product':
      return { ...of, factors: of.factors.map(go) }
    case 'quotient':
      return { ...of, over: go(of.over), under: go(of.under) }
    case 'power':
      return { ...of, base: go(of.base), exponent: go(of.exponent) }
    case 'call':
      return { ...of, args: of.args.map(go) }
    case 'relation':
      return { ...of, sides: of.sides.map(go) }
    case 'tuple':
      return { ...of, items: of.items.map(go) }
    case 'percent':
    case 'degrees':
    case 'measured':
      return { ...of, of: go(of.of) }
    default:
      return of
  }
}
