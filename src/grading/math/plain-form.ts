import { budget, OverBudget } from './budget.ts'
import { equalityGroups, isConsistent, isRounded } from './chain.ts'
import { children, type Expression, mentions, namesIn, negated, type Of } from './expression.ts'
import { punctured } from './real-set.ts'

/**
 * A normal form without redundant wording: a chain of equalities becomes its last value, numbers taken out of
 * intervals split them, and +- is expanded. A chain whose numbers contradict each other keeps its form unless
 * `trusted`.
 */
export function plainForm(of: Expression, trusted = false): Expression {
  if (of.kind === 'list') return plainList(of, trusted)
  const form = of.kind === 'relation' ? plainRelation(of, trusted) : (punctured(of) ?? of)
  return hasEither(form) ? spelledOut(form) : form
}

function plainList({ items, braced }: Of<'list'>, trusted: boolean): Expression {
  const [first, ...others] = items
  // `n = 1, 2, 3` gives n three values.
  if (
    first?.kind === 'relation' &&
    others.every((item) => item.kind !== 'relation' && item.kind !== 'list')
  ) {
    const value = assigned(first)
    if (value) return plainList({ kind: 'list', items: [value, ...others] }, trusted)
  }
  const plain = items.flatMap((item) => {
    const form = plainForm(item, trusted)
    if (form.kind === 'list') return item.kind === 'list' ? [asTuple(form)] : form.items
    return [form]
  })
  if (plain.length > budget.nodes) throw new OverBudget()
  return { kind: 'list', items: plain, ...(braced && { braced }) }
}

/** One of several answers with several parts each: `p = 5, q = 2; p = 7, q = 2`. */
function asTuple({ items }: Of<'list'>): Expression {
  return { kind: 'tuple', items: items.map((item) => assigned(item) ?? item), open: '(', close: ')' }
}

function plainRelation(of: Of<'relation'>, trusted: boolean): Expression {
  const groups = equalityGroups(of)
  const [first = [], second] = groups ?? []
  const [left] = first
  if (groups === null || left === undefined) return of
  const last = (first.length === 1 && isName(left) ? second : first)?.at(-1)
  if (last === undefined || !(trusted || isTrue(groups))) return of
  if (isName(left)) return { kind: 'relation', sides: [left, last], ops: ['='] }
  if (of.sides.length > 2 || of.sides.every(isConstant)) return last
  if (first.length === 2 && isName(last) && isConstant(left))
    return { kind: 'relation', sides: [last, left], ops: ['='] }
  return second ? last : of
}

/** No number contradicts another, and an approximation of a number rounds it. */
function isTrue(groups: readonly (readonly Expression[])[]): boolean {
  const [exact, ...approximations] = groups.map((group) => group.at(-1))
  const known = groups.map((group) => group.filter((side) => !isUnknown(side)))
  if (!known.every(isConsistent) || exact === undefined) return false
  const isBare = groups[0]?.every(isConstant) === true
  return !isBare || approximations.every((one) => one && isConstant(one) && isRounded(exact, one))
}

/** What `\sqrt{17} \approx 4.12` says besides its exact value. null: no approximation, or a wrong one. */
export function approximation(of: Expression, trusted: boolean): Expression | null {
  const groups = of.kind === 'relation' ? equalityGroups(of) : null
  const [exact, rounded] = [groups?.at(-2)?.at(-1), groups?.at(-1)?.at(-1)]
  if (!exact || !rounded) return null
  return trusted || isRounded(exact, rounded) ? rounded : null
}

/** The value that `x = 3` or `x \in S` gives a name that it does not mention. null for other forms. */
export function assigned(of: Expression): Expression | null {
  if (of.kind !== 'relation' || of.sides.length !== 2 || (of.ops[0] !== '=' && of.ops[0] !== 'in'))
    return null
  const [name, value] = of.sides
  if (!name || !value || (!isName(name) && !isMade(name, value))) return null
  return name.kind === 'symbol' && mentions(value, name.name) ? null : value
}

/**
 * Names of unknowns: x, a_3, f(x), dy/dx, |AB|, A:B, (p, q), AB. A product of lower-case letters is a side of
 * an equation instead.
 */
export function isName(of: Expression): boolean {
  if (of.kind === 'symbol') return true
  if (of.kind === 'call') return of.name.startsWith('f ') || (of.name === 'abs' && of.args.every(isName))
  if (of.kind === 'ratio') return of.parts.every(isName)
  if (of.kind === 'tuple') return of.items.every(isName)
  if (of.kind === 'constant') return of.name === 'e' || of.name === 'i'
  if (of.kind === 'quotient') return isDifferential(of.over) && isDifferential(of.under)
  return of.kind === 'product' && of.factors.every(isCapital)
}

/** Whether a side is what its value is made of: sets by `A \\cup B`, matrices and vectors by `A^{-1}`, `AB`, `a \\times b`. */
function isMade(of: Expression, value: Expression): boolean {
  if (
    value.kind === 'set' ||
    value.kind === 'combination' ||
    (value.kind === 'list' && value.braced === true)
  )
    return of.kind === 'combination' && of.parts.every(({ kind }) => kind === 'symbol')
  if (value.kind === 'matrix' || value.kind === 'tuple') return isOfNames(of)
  // `\sin\theta = 3/5`
  return of.kind === 'call' && ratios.has(of.name) && of.args.every(isName) && namesIn(value).length === 0
}

const ratios: ReadonlySet<string> = new Set(['sin', 'cos', 'tan', 'cot', 'sec', 'csc'])

const isOfNames = (of: Expression): boolean => {
  if (of.kind === 'sum') return of.terms.every(isOfNames)
  if (of.kind === 'product') return of.factors.every(isOfNames)
  if (of.kind === 'power')
    return isOfNames(of.base) && (of.exponent.kind === 'symbol' || isConstant(of.exponent))
  return of.kind === 'symbol'
}

/** A function of something is worth what the next side says. */
const isUnknown = (of: Expression): boolean => of.kind === 'call' && of.name.startsWith('f ')

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
