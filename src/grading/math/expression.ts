import type { Rational } from './rational.ts'

/** The meaning of a mathematical answer in LaTeX or plain text. Plain data. */
export type Expression =
  /** `decimals`: places after the point if it was written as a decimal, else null. */
  | { readonly kind: 'number'; readonly value: Rational; readonly decimals: number | null }
  | { readonly kind: 'symbol'; readonly name: string }
  | { readonly kind: 'constant'; readonly name: 'pi' | 'e' | 'i' | 'infinity' }
  | { readonly kind: 'sum'; readonly terms: readonly Expression[] }
  | { readonly kind: 'product'; readonly factors: readonly Expression[] }
  | { readonly kind: 'quotient'; readonly over: Expression; readonly under: Expression }
  | { readonly kind: 'power'; readonly base: Expression; readonly exponent: Expression }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  /** The number with + or - at this place. `first` is the sign of the first reading. */
  | { readonly kind: 'either'; readonly of: Expression; readonly first: 1 | -1 }
  | { readonly kind: 'percent'; readonly of: Expression }
  | { readonly kind: 'degrees'; readonly of: Expression }
  /** `unit` in its canonical spelling; '' for things that are counted. */
  | { readonly kind: 'measured'; readonly of: Expression; readonly unit: string }
  /** Digits in another base: `204_5`. */
  | { readonly kind: 'numeral'; readonly digits: string; readonly base: number }
  | { readonly kind: 'ratio'; readonly parts: readonly Expression[] }
  /** Brackets around several items: a tuple, or possibly an interval if there are two. */
  | {
      readonly kind: 'tuple'
      readonly items: readonly Expression[]
      readonly open: '(' | '['
      readonly close: ')' | ']'
    }
  | { readonly kind: 'set'; readonly items: readonly Expression[] }
  /** Items without brackets: `1, 2 and 3`. `braced`: between plain braces, `{1,2}`. */
  | { readonly kind: 'list'; readonly items: readonly Expression[]; readonly braced?: boolean }
  | { readonly kind: 'combination'; readonly op: SetOperator; readonly parts: readonly Expression[] }
  | { readonly kind: 'matrix'; readonly rows: readonly (readonly Expression[])[] }
  /** `a < b <= c`: one more side than operators. `builder`: it is the condition of a set. */
  | {
      readonly kind: 'relation'
      readonly sides: readonly Expression[]
      readonly ops: readonly RelationOperator[]
      readonly builder?: boolean
    }
  | { readonly kind: 'text'; readonly text: string }

export type SetOperator = 'union' | 'intersection' | 'difference'
/** Relations. `~` means approximately equal, `to` is an arrow. */
export type RelationOperator = '=' | '<' | '>' | '<=' | '>=' | '!=' | '~' | 'in' | 'to'

export type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>

export const number = (value: Rational, decimals: number | null = null): Expression => ({
  kind: 'number',
  value,
  decimals,
})

const minusOne = number({ n: -1n, d: 1n })

/** Negates an expression. A number absorbs the sign. */
export function negated(of: Expression): Expression {
  if (of.kind === 'number') return { ...of, value: { n: -of.value.n, d: of.value.d } }
  if (of.kind === 'percent' || of.kind === 'degrees' || of.kind === 'measured')
    return { ...of, of: negated(of.of) }
  return product([minusOne, of])
}

/** A product. A single factor is returned as is. */
export function product(factors: readonly Expression[]): Expression {
  return factors.length === 1 && factors[0] ? factors[0] : { kind: 'product', factors }
}

/** A sum. A single term is returned as is. */
export function sum(terms: readonly Expression[]): Expression {
  return terms.length === 1 && terms[0] ? terms[0] : { kind: 'sum', terms }
}

/** The direct subexpressions, in order. */
export function children(of: Expression): readonly Expression[] {
  switch (of.kind) {
    case 'sum':
      return of.terms
    case 'product':
      return of.factors
    case 'quotient':
      return [of.over, of.under]
    case 'power':
      return [of.base, of.exponent]
    case 'call':
      return of.args
    case 'either':
    case 'percent':
    case 'degrees':
    case 'measured':
      return [of.of]
    case 'ratio':
    case 'combination':
      return of.parts
    case 'tuple':
    case 'set':
    case 'list':
      return of.items
    case 'matrix':
      return of.rows.flat()
    case 'relation':
      return of.sides
    default:
      return []
  }
}

/** The names of its symbols, once for each place. */
export const namesIn = (of: Expression): readonly string[] =>
  of.kind === 'symbol' ? [of.name] : children(of).flatMap(namesIn)

/** Whether a symbol of this name is part of it. */
export const mentions = (of: Expression, name: string): boolean =>
  (of.kind === 'symbol' && of.name === name) || children(of).some((inner) => mentions(inner, name))
