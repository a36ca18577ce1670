import { OverBudget } from './budget.ts'
import {
  children,
  type Expression,
  negated,
  number,
  product,
  type RelationOperator,
  type SetOperator,
  sum,
} from './expression.ts'
import { rational } from './rational.ts'
import { AtomReader } from './read-atom.ts'
import { NotMathematics, notMathematics, type Token, tokenize } from './tokens.ts'
import { canonicalUnit, readQuantity } from './units.ts'
import { functionNames } from './vocabulary.ts'

const stops = new Set(['sqrt', 'frac', 'binom'])

/** Reads sums, products, powers, and suffixes of numbers: percent, degrees, units. */
abstract class TermReader extends AtomReader {
  private readonly knows: (word: string) => boolean

  constructor(tokens: Token[], knows: (word: string) => boolean) {
    super(tokens)
    this.knows = knows
  }

  sum(): Expression {
    const terms: Expression[] = [this.signed(() => this.term(), true)]
    for (;;) {
      const sign = this.peek()
      if (sign?.kind !== 'sign' || !/^(?:[+-]|\+-|-\+)$/.test(sign.text)) return sum(terms)
      if (this.endsWithUnit(terms.at(-1))) throw notMathematics
      terms.push(this.signed(() => this.term(), false))
    }
  }

  /** Signs before a term. `+-` is read both ways. */
  private signed(read: () => Expression, first: boolean): Expression {
    const sign = this.peek()
    if (sign?.kind === 'sign' && /^(?:[+-]|\+-|-\+)$/.test(sign.text)) {
      this.next()
      const of = this.nested(() => this.signed(read, false))
      if (sign.text === '+') return of
      if (sign.text === '-') return negated(of)
      return { kind: 'either', of, first: sign.text === '+-' ? 1 : -1 }
    }
    if (first && sign === undefined) throw notMathematics
    return read()
  }

  private endsWithUnit(of: Expression | undefined): boolean {
    return of?.kind === 'measured'
  }

  private term(): Expression {
    let value = this.factor()
    for (;;) {
      if (this.takes('*')) value = product([value, this.signed(() => this.factor(), true)])
      else if (this.takes('/')) {
        const under = this.signed(() => this.factor(), true)
        value = { kind: 'quotient', over: value, under }
      } else if (this.peek()?.kind === 'text') return this.measured(value)
      else if (this.beginsFactor(value)) value = this.follow(value)
      else return value
    }
  }

  private follow(value: Expression): Expression {
    const spaced = this.peek()?.spaced === true
    const isNumber = this.peek()?.kind === 'number'
    const next = this.factor()
    if (!isNumber || isImaginary(value) || isFactorial(value)) return this.mixed(value, next)
    // `1 1/2` is the only case of two adjacent numbers.
    if (value.kind !== 'number' || !spaced || next.kind !== 'number' || !this.takes('/')) throw notMathematics
    return this.mixed(value, { kind: 'quotient', over: next, under: this.factor() })
  }

  /** Whether the next token starts a factor without a sign. */
  private beginsFactor(after: Expression): boolean {
    const token = this.peek()
    if (token === undefined || after.kind === 'percent') return false
    if (token.kind === 'number')
      return after.kind === 'number' || after.kind === 'quotient' || isImaginary(after) || isFactorial(after)
    if (token.kind === 'name')
      return !(token.text === 'U' && (after.kind === 'tuple' || after.kind === 'set'))
    if (token.kind === 'command')
      return functionNames.has(token.text) || stops.has(token.text) || /^begin /.test(token.text)
    if (token.text === '|') return this.bars === 0
    return token.text === '(' || token.text === '{' || token.text === 'floor(' || token.text === 'ceil('
  }

  /** The argument of a function without brackets: `\sin 2x`. */
  juxtaposed(): Expression {
    const factors = [this.signed(() => this.factor(), true)]
    for (;;) {
      const token = this.peek()
      const goesOn =
        token?.kind === 'name' ||
        (token?.kind === 'command' && stops.has(token.text)) ||
        (token?.kind === 'sign' && (token.text === '{' || token.text === '('))
      if (!goesOn) return product(factors)
      factors.push(this.factor())
    }
  }

  /** An atom with its powers and suffixes. */
  factor(): Expression {
    let value = this.atom()
    for (;;) {
      if (this.isSign('^')) value = this.raised(value)
      else if (this.takes('!')) value = { kind: 'call', name: 'factorial', args: [value] }
      else if (this.takes('%')) value = { kind: 'percent', of: value }
      else if (this.takes('degree')) value = { kind: 'degrees', of: value }
      else if (this.isSign('_') && value.kind === 'number') value = this.based(value)
      else return value
    }
  }

  private raised(base: Expression): Expression {
    this.next()
    if (this.takes('degree')) return { kind: 'degrees', of: base }
    if (this.isSign('{') && this.isSign('degree', 1)) {
      this.next()
      this.next()
      this.needs('}')
      return { kind: 'degrees', of: base }
    }
    if (this.takes("'") || this.takes('*')) throw notMathematics
    return { kind: 'power', base, exponent: this.nested(() => this.signed(() => this.exponent(), true)) }
  }

  /** Powers are right-associative. */
  private exponent(): Expression {
    const of = this.atom()
    return this.isSign('^') ? this.nested(() => this.raised(of)) : of
  }

  private based(of: Expression): Expression {
    const subscript = this.subscript()
    if (subscript === '_') return of
    const word = subscript.slice(1)
    const base = Number(bases.get(word) ?? word)
    const whole = of.kind === 'number' && of.decimals === null && of.value.d === 1n && of.value.n >= 0n
    if (!whole || !(base >= 2 && base <= 36)) throw notMathematics
    return { kind: 'numeral', digits: `${of.value.n}`, base }
  }

  private measured(of: Expression): Expression {
    let unit = this.next().text
    for (;;) {
      if (this.peek()?.kind === 'text') unit += ` ${this.next().text}`
      else if (this.isSign('/') && (this.peek(1)?.kind === 'text' || this.peek(1)?.kind === 'name')) {
        this.next()
        unit += `/${this.next().text}`
      } else if (this.isSign('^')) {
        this.next()
        const braced = this.takes('{')
        unit += `^${this.next().text}`
        if (braced) this.needs('}')
      } else if (this.takes('.')) continue
      else return this.quantity(of, unit)
    }
  }

  private quantity(of: Expression, written: string): Expression {
    if (isRemark(written) || (canonicalUnit(written) === null && hasSymbols(of))) throw notMathematics
    const read = readQuantity(written, this.knows)
    if (read === null) throw notMathematics
    const { size, unit } = read
    return { kind: 'measured', of: size === 1n ? of : product([of, number(rational(size))]), unit }
  }
}

const isImaginary = (of: Expression): boolean => of.kind === 'constant' && of.name === 'i'

const isFactorial = (of: Expression): boolean => of.kind === 'call' && of.name === 'factorial'

/** Bases in words: `204_{\text{five}}`. */
const bases: ReadonlyMap<string, number> = new Map(
  'two three four five six seven eight nine ten eleven twelve'.split(' ').map((word, k) => [word, k + 2]),
)

const hasSymbols = (of: Expression): boolean => of.kind === 'symbol' || children(of).some(hasSymbols)

/** Text that says more than a unit and may take the number back, whatever the truth says. */
const isRemark = (unit: string): boolean =>
  /\b(?:not?|n?or|and|but|maybe|perhaps|wrong|false|is|isn't|if|never)\b|[?!]/i.test(unit)

/** Words that make of a value another one. */
const changing =
  /\b(?:twice|thrice|half|double|triple|quadruple|squared?|cubed?|root|minus|negative|without|except|opposite|inverse|reciprocal|more|less|fewer|least|most|guess|times|per|incorrect|than|about|approximate\w*|bound|estimate|previous|old|initial|draft|trap|decoy|distractor|fake|dummy|example|placeholder|excluded|rejected|error|mistake\w*|doubt\w*|possible|possibly|candidate\w*|unlikely|negation|complement|anything|everything|all|wrongly|avoid)\b/i

/** Whether words name the quantity that an answer gives, and say nothing else of it. */
export const isLabel = (words: string): boolean =>
  /^[\p{L}' -]{2,40}$/u.test(words) && !isRemark(words) && !changing.test(words)

const relations: ReadonlySet<string> = new Set(['=', '<', '>', '<=', '>=', '!=', '~', 'in', 'to'])
const combinations: ReadonlySet<string> = new Set(['union', 'intersection', 'difference'])

class AnswerReader extends TermReader {
  whole(): Expression {
    this.takes('=')
    const value = this.fraction()
    this.takes('.')
    while (this.takes(',') || this.takes(';'));
    if (this.peek() !== undefined) throw notMathematics
    return value
  }

  list(): Expression {
    const parts = this.separated(';', () => this.commas())
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'list', items: parts }
  }

  private commas(): Expression {
    const items = this.separated(',', () => this.relation())
    return items.length === 1 && items[0] ? items[0] : { kind: 'list', items }
  }

  private separated(sign: string, read: () => Expression): Expression[] {
    const items = [read()]
    while (this.isSign(sign) || (sign === ',' && this.isSign('and'))) {
      let worded = false
      while (this.takes(sign) || (sign === ',' && this.isSign('and'))) if (this.takes('and')) worded = true
      if (this.peek() === undefined || this.isSign('.')) {
        if (worded) throw notMathematics
        break
      }
      items.push(read())
    }
    return items
  }

  relation(): Expression {
    const sides = [this.label() ?? this.combination()]
    const ops: RelationOperator[] = []
    for (;;) {
      const token = this.peek()
      if (token?.kind !== 'sign' || !relations.has(token.text)) break
      this.next()
      this.takes('&')
      ops.push(token.text as RelationOperator)
      sides.push(this.combination())
    }
    return ops.length === 0 && sides[0] ? sides[0] : { kind: 'relation', sides, ops }
  }

  /** What an answer is called in words: `\text{Area} = 42`. null: no such name. */
  private label(): Expression | null {
    let words = 0
    while (this.peek(words)?.kind === 'text') words++
    if (words === 0 || !this.isSign('=', words)) return null
    const name = this.tokens
      .slice(this.at, this.at + words)
      .map(({ text }) => text)
      .join(' ')
    if (!isLabel(name)) return null
    this.at += words
    return { kind: 'symbol', name: `text ${name}` }
  }

  private combination(): Expression {
    let value = this.ratio()
    for (;;) {
      const token = this.peek()
      const op = token?.text === 'U' ? 'union' : token?.kind === 'sign' ? token.text : ''
      if (!combinations.has(op)) return value
      this.next()
      const next = this.ratio()
      const parts = value.kind === 'combination' && value.op === op ? [...value.parts, next] : [value, next]
      value = { kind: 'combination', op: op as SetOperator, parts }
    }
  }

  private ratio(): Expression {
    const parts = [this.sum()]
    if (this.bars > 0) return parts[0] as Expression
    while (this.takes(':')) parts.push(this.sum())
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'ratio', parts }
  }
}

/** How an answer is read. */
export interface Reading {
  /** `1,234` is two numbers. */
  readonly commasSeparate?: boolean
  /** Words after a number that are allowed beside units and what is counted. Default: none. */
  readonly knows?: (word: string) => boolean
}

/** Parses one answer. null: not in the grammar, or over a limit of `budget`. Pure, never throws. */
export function readAnswer(
  answer: string,
  { commasSeparate = false, knows = () => false }: Reading = {},
): Expression | null {
  try {
    const tokens: Token[] = tokenize(answer, commasSeparate)
    return tokens.length === 0 ? null : new AnswerReader(tokens, knows).whole()
  } catch (error) {
    if (error instanceof NotMathematics || error instanceof OverBudget) return null
    throw error
  }
}
