import { OverBudget } from './budget.ts'
import { NotMathematics } from './cursor.ts'
import type { Expression, RelationOperator, SetOperator } from './expression.ts'
import { TermReader } from './read-terms.ts'
import { type Token, tokenize } from './tokens.ts'

const relations: ReadonlySet<string> = new Set(['=', '<', '>', '<=', '>=', '!=', '~', 'in', 'to'])
const combinations: ReadonlySet<string> = new Set(['union', 'intersection', 'difference'])

class AnswerReader extends TermReader {
  whole(): Expression {
    this.takes('=')
    const value = this.list()
    while (this.takes('.') || this.takes(',') || this.takes(';'));
    if (this.peek() !== undefined) throw new NotMathematics()
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
    while (this.isSign(sign)) {
      while (this.takes(sign));
      if (this.peek() === undefined || this.isSign('.')) break
      items.push(read())
    }
    return items
  }

  relation(): Expression {
    const sides = [this.combination()]
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

/** What one answer says; null: not in the grammar, or over a limit of `budget`. Pure, never throws. */
export function readAnswer(answer: string, commasSeparate = false): Expression | null {
  try {
    const tokens: Token[] = tokenize(answer, commasSeparate)
    return tokens.length === 0 ? null : new AnswerReader(tokens).whole()
  } catch (error) {
    if (error instanceof NotMathematics || error instanceof OverBudget) return null
    throw error
  }
}
