/** One piece of an arithmetic text: an operand of some algebra, or a sign. */
export type Token<V> = { readonly value: V } | '+' | '-' | '*' | '/' | '(' | ')' | '[' | ']'

/** What the signs mean; null: no result (a division by zero, a wrong type). */
export interface Algebra<V> {
  add(a: V, b: V): V | null
  subtract(a: V, b: V): V | null
  multiply(a: V, b: V): V | null
  divide(a: V, b: V): V | null
  negate(a: V): V | null
}

type Operator = '+' | '-' | '*' | '/' | 'negate'

const strength: Record<Operator, number> = { '+': 1, '-': 1, '*': 2, '/': 2, negate: 3 }
const partner = { ')': '(', ']': '[' } as const

/** The value of an infix expression with unary minus; null: not one expression, or no result. Any depth, no recursion. */
export function evaluate<V>(tokens: Iterable<Token<V>>, algebra: Algebra<V>): V | null {
  const values: V[] = []
  const waiting: (Operator | '(' | '[')[] = []
  let wantsOperand = true
  for (const token of tokens) {
    if (typeof token === 'object') {
      if (!wantsOperand) return null
      values.push(token.value)
      wantsOperand = false
    } else if (token === '(' || token === '[') {
      if (!wantsOperand) return null
      waiting.push(token)
    } else if (token === ')' || token === ']') {
      if (wantsOperand || !settle(values, waiting, 0, algebra)) return null
      if (waiting.pop() !== partner[token]) return null
    } else if (wantsOperand) {
      if (token !== '-') return null
      waiting.push('negate')
    } else {
      if (!settle(values, waiting, strength[token], algebra)) return null
      waiting.push(token)
      wantsOperand = true
    }
  }
  if (wantsOperand || !settle(values, waiting, 0, algebra) || waiting.length > 0) return null
  return values[0] ?? null
}

/** Applies the waiting operators that bind at least as strongly, back to the innermost open bracket. */
function settle<V>(
  values: V[],
  waiting: (Operator | '(' | '[')[],
  atLeast: number,
  algebra: Algebra<V>,
): boolean {
  for (let top = waiting.at(-1); top !== undefined; top = waiting.at(-1)) {
    if (top === '(' || top === '[' || strength[top] < atLeast) return true
    waiting.pop()
    const b = values.pop() as V
    const result = top === 'negate' ? algebra.negate(b) : applied(top, values.pop() as V, b, algebra)
    if (result === null) return false
    values.push(result)
  }
  return true
}

function applied<V>(operator: '+' | '-' | '*' | '/', a: V, b: V, algebra: Algebra<V>): V | null {
  if (operator === '+') return algebra.add(a, b)
  if (operator === '-') return algebra.subtract(a, b)
  return operator === '*' ? algebra.multiply(a, b) : algebra.divide(a, b)
}
