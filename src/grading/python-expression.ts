/** Reads one Python expression into a tree that tells its calls, names and operators apart. All input is hostile; the cost is linear. */

import { isName, type Token, tokensOf } from './python-tokens.ts'

interface At {
  readonly from: number
  readonly to: number
}

/** A part of an expression, and where it stands. */
export type Expression = At &
  (
    | { readonly kind: 'constant' }
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'call'; readonly of: Expression; readonly parts: readonly Argument[] }
    | { readonly kind: 'attribute'; readonly of: Expression; readonly name: string }
    | { readonly kind: 'item'; readonly of: Expression; readonly parts: readonly Expression[] }
    /** An expression in parentheses. */
    | { readonly kind: 'group'; readonly parts: readonly Expression[] }
    /** A tuple, list, dict or set. */
    | { readonly kind: 'display'; readonly parts: readonly Expression[] }
    /** Arithmetic, with one operand too. */
    | { readonly kind: 'sum'; readonly parts: readonly Expression[] }
    | {
        readonly kind: 'comparison'
        readonly parts: readonly Expression[]
        readonly operators: readonly string[]
      }
    /** `and`, `or`, `not`. */
    | { readonly kind: 'logic'; readonly parts: readonly Expression[] }
    /** Of a list, set, dict or generator. `parts`: what it gives; `sources`: what it loops over, and its conditions. */
    | {
        readonly kind: 'loop'
        readonly parts: readonly Expression[]
        readonly sources: readonly Expression[]
        readonly bound: readonly string[]
      }
    /** What is not looked into: `lambda`, `x if y else z`, `:=`, texts with expressions, `await`, `yield`. */
    | { readonly kind: 'other'; readonly parts: readonly Expression[] }
  )

/** An argument of a call. `name`: of one that is given by its name. */
export type Argument = Expression & { readonly keyword?: string }

/** The name that stands for a text with expressions in it. */
export const formattedText = 'f""'

/** Each bracket takes two. */
const mostLevels = 120
/** Of `a.b[1](2)`. */
const mostTrailers = 100
const mostTokens = 400_000
const constants: ReadonlySet<string> = new Set(['0', '"', 'f"', '...', 'None', 'True', 'False'])
const arithmetic: ReadonlySet<string> = new Set([
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '@',
  '**',
  '|',
  '&',
  '^',
  '<<',
  '>>',
])
const comparing: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', 'is', 'not'])

class Unread extends Error {}

/** The expression that begins at an offset, and the offset of what follows it. null: there is none that is understood. */
export function readExpression(
  text: string,
  from = 0,
): { readonly expression: Expression; readonly next: number } | null {
  const tokens: Token[] = []
  let depth = 0
  for (const token of tokensOf(text, from)) {
    if (tokens.length === mostTokens) return null
    if (/^[([{]$/.test(token.token)) depth++
    if (/^[)\]}]$/.test(token.token)) depth--
    // Lines end within brackets only, and comments are no part of an expression.
    if (depth > 0 && (token.token === '\n' || token.token === '#')) continue
    tokens.push(token)
    if (depth <= 0 && (token.token === '\n' || token.token === ';')) break
  }
  const reader = new Reader(text, tokens)
  try {
    const expression = reader.expression()
    return { expression, next: reader.place }
  } catch (error) {
    if (error instanceof Unread) return null
    throw error
  }
}

class Reader {
  readonly #text: string
  readonly #tokens: readonly Token[]
  #next = 0
  #level = 0

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text
    this.#tokens = tokens
  }

  /** The offset of the next token. */
  get place(): number {
    return this.#tokens[this.#next]?.at ?? this.#text.length
  }

  get #token(): string {
    return this.#tokens[this.#next]?.token ?? ''
  }

  get #end(): number {
    return this.#tokens[this.#next - 1]?.end ?? 0
  }

  #take(wanted?: string): string {
    const token = this.#token
    if (token === '' || (wanted !== undefined && token !== wanted)) throw new Unread()
    this.#next += 1
    return token
  }

  #has(token: string): boolean {
    if (this.#token !== token) return false
    this.#next += 1
    return true
  }

  #starred(): Expression {
    return this.#has('*') || this.#has('**') ? this.#comparison() : this.expression()
  }

  expression(): Expression {
    if (++this.#level > mostLevels) throw new Unread()
    const from = this.place
    let expression: Expression
    if (this.#token === 'lambda') expression = this.#lambda()
    else {
      expression = this.#disjunction()
      if (this.#has(':='))
        expression = { kind: 'other', parts: [expression, this.expression()], from, to: this.#end }
      else if (this.#has('if')) {
        const parts = [expression, this.#disjunction()]
        this.#take('else')
        parts.push(this.expression())
        expression = { kind: 'other', parts, from, to: this.#end }
      }
    }
    this.#level -= 1
    return expression
  }

  #lambda(): Expression {
    const from = this.place
    this.#take('lambda')
    const parts: Expression[] = []
    const bound: string[] = []
    while (!this.#has(':')) {
      if (this.#has('=')) parts.push(this.expression())
      else bound.push(this.#take())
    }
    parts.push(this.expression())
    return {
      kind: 'other',
      parts: [{ kind: 'loop', parts, sources: [], bound, from, to: this.#end }],
      from,
      to: this.#end,
    }
  }

  #disjunction(): Expression {
    return this.#joined('or', () => this.#joined('and', () => this.#inversion()))
  }

  #joined(word: string, read: () => Expression): Expression {
    const from = this.place
    const parts = [read()]
    while (this.#has(word)) parts.push(read())
    return parts.length === 1 ? (parts[0] as Expression) : { kind: 'logic', parts, from, to: this.#end }
  }

  #inversion(): Expression {
    const from = this.place
    let isNegated = false
    while (this.#has('not')) isNegated = true
    const part = this.#comparison()
    return isNegated ? { kind: 'logic', parts: [part], from, to: this.#end } : part
  }

  #comparison(): Expression {
    const from = this.place
    const parts = [this.#sum()]
    const operators: string[] = []
    while (comparing.has(this.#token)) {
      const operator = this.#take()
      if (operator === 'not') this.#take('in')
      const isNot = operator === 'is' && this.#has('not')
      operators.push(operator === 'not' ? 'not in' : isNot ? 'is not' : operator)
      parts.push(this.#sum())
    }
    return operators.length === 0
      ? (parts[0] as Expression)
      : { kind: 'comparison', parts, operators, from, to: this.#end }
  }

  #sum(): Expression {
    const from = this.place
    const parts = [this.#operand()]
    while (arithmetic.has(this.#token)) {
      this.#take()
      parts.push(this.#operand())
    }
    return parts.length === 1 ? (parts[0] as Expression) : { kind: 'sum', parts, from, to: this.#end }
  }

  #operand(): Expression {
    const from = this.place
    let isSigned = false
    while (this.#has('-') || this.#has('+') || this.#has('~')) isSigned = true
    const part = this.#primary()
    return isSigned ? { kind: 'sum', parts: [part], from, to: this.#end } : part
  }

  #primary(): Expression {
    if (++this.#level > mostLevels) throw new Unread()
    const from = this.place
    let of = this.#atom()
    for (let count = 0; ; count++) {
      if (count > mostTrailers) throw new Unread()
      if (this.#has('.')) of = { kind: 'attribute', of, name: this.#name(), from, to: this.#end }
      else if (this.#has('(')) of = { kind: 'call', of, parts: this.#arguments(), from, to: this.#end }
      else if (this.#has('[')) of = { kind: 'item', of, parts: this.#slices(), from, to: this.#end }
      else {
        this.#level -= 1
        return of
      }
    }
  }

  #name(): string {
    const name = this.#take()
    if (!isName(name)) throw new Unread()
    return name
  }

  #atom(): Expression {
    const from = this.place
    const token = this.#token
    if (constants.has(token)) {
      let isFormatted = false
      do if (this.#take() === 'f"') isFormatted = true
      while (token.endsWith('"') && this.#token.endsWith('"'))
      return isFormatted
        ? {
            kind: 'other',
            parts: [{ kind: 'name', name: formattedText, from, to: this.#end }],
            from,
            to: this.#end,
          }
        : { kind: 'constant', from, to: this.#end }
    }
    if (token === '(' || token === '[' || token === '{') return this.#bracketed(token)
    return { kind: 'name', name: this.#name(), from, to: this.#end }
  }

  #bracketed(open: '(' | '[' | '{'): Expression {
    const from = this.place
    const close = { '(': ')', '[': ']', '{': '}' }[open]
    this.#take(open)
    const parts: Expression[] = []
    let hasComma = false
    while (!this.#has(close)) {
      if (hasComma !== parts.length > 0) throw new Unread()
      parts.push(this.#starred())
      const given = parts.slice(-1)
      if (open === '{' && this.#has(':')) given.push(this.expression())
      if (this.#token === 'for' || this.#token === 'async') {
        const loop = this.#loop(given, from)
        this.#take(close)
        return { ...loop, to: this.#end }
      }
      parts.push(...given.slice(1))
      hasComma = this.#has(',')
    }
    const kind = open === '(' && parts.length === 1 && !hasComma ? 'group' : 'display'
    return { kind, parts, from, to: this.#end }
  }

  /** `for x in y if z`, behind what it gives. */
  #loop(parts: readonly Expression[], from: number): Expression {
    const sources: Expression[] = []
    const bound: string[] = []
    for (;;) {
      this.#has('async')
      if (this.#has('for')) {
        while (!this.#has('in')) {
          const token = this.#take()
          if (/^\w/.test(token)) bound.push(token)
        }
        sources.push(this.#disjunction())
      } else if (this.#has('if')) sources.push(this.#disjunction())
      else return { kind: 'loop', parts, sources, bound, from, to: this.#end }
    }
  }

  #arguments(): readonly Argument[] {
    const parts: Argument[] = []
    while (!this.#has(')')) {
      if (parts.length > 0) {
        this.#take(',')
        if (this.#has(')')) break
      }
      const from = this.place
      const keyword = this.#tokens[this.#next + 1]?.token === '=' ? this.#name() : undefined
      if (keyword !== undefined) this.#take('=')
      const part = this.#starred()
      if (this.#token === 'for' || this.#token === 'async') parts.push(this.#loop([part], from))
      else parts.push(keyword === undefined ? part : { ...part, keyword })
    }
    return parts
  }

  #slices(): readonly Expression[] {
    const parts: Expression[] = []
    while (!this.#has(']')) {
      if (this.#has(':') || this.#has(',')) continue
      parts.push(this.#starred())
    }
    return parts
  }
}

/** Shows every part of an expression, itself included, with the names that loops around it bind. */
export function eachPart(
  expression: Expression,
  see: (part: Expression, bound: readonly string[]) => void,
  bound: readonly string[] = [],
): void {
  see(expression, bound)
  const inner = expression.kind === 'loop' ? [...bound, ...expression.bound] : bound
  if ('of' in expression) eachPart(expression.of, see, bound)
  if ('sources' in expression) for (const part of expression.sources) eachPart(part, see, inner)
  if ('parts' in expression) for (const part of expression.parts) eachPart(part, see, inner)
}
