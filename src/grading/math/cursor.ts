import { Allowance, budget, OverBudget } from './budget.ts'
import type { Token } from './tokens.ts'

/** Thrown inside this room where an answer is not in the grammar; caught by `readAnswer`. */
export class NotMathematics extends Error {}

/** A place in the tokens of one answer, with what the reader may still spend. */
export abstract class Cursor {
  protected at = 0
  protected readonly nodes = new Allowance(budget.nodes)
  protected readonly tokens: Token[]
  private depth = 0

  constructor(tokens: Token[]) {
    this.tokens = tokens
  }

  protected peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead]
  }

  protected next(): Token {
    const token = this.tokens[this.at++]
    if (token === undefined) throw new NotMathematics()
    this.nodes.spend()
    return token
  }

  protected isSign(text: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token?.kind === 'sign' && token.text === text
  }

  /** Consumes the sign if it is next. */
  protected takes(text: string): boolean {
    if (!this.isSign(text)) return false
    this.at++
    return true
  }

  protected needs(text: string): void {
    if (!this.takes(text)) throw new NotMathematics()
  }

  protected takesCommand(text: string): boolean {
    const token = this.peek()
    if (token?.kind !== 'command' || token.text !== text) return false
    this.at++
    return true
  }

  /** Reads something nested; throws OverBudget below `budget.depth`. */
  protected nested<T>(read: () => T): T {
    this.depth++
    if (this.depth > budget.depth) throw new OverBudget()
    const value = read()
    this.depth--
    return value
  }

  /** LaTeX's argument without braces is one digit: takes it off a longer number. */
  protected digit(): string | null {
    const token = this.peek()
    if (token?.kind !== 'number' || !/^\d+$/.test(token.text)) return null
    const [first = '', rest] = [token.text[0], token.text.slice(1)]
    if (rest === '') this.at++
    else this.tokens[this.at] = { ...token, text: rest, spaced: false }
    return first
  }
}
