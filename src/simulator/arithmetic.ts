/** One `a op b = c` in a text. */
interface Statement {
  readonly left: number
  readonly right: number
  readonly holds: boolean
}

type Token = number | '+' | '-' | '*' | '/' | '(' | ')' | '=' | 'break'

const lexer = /\d+(?:,\d{3})*(?:\.\d+)?%?|[-+*/×÷−()=]|[A-Za-z\u0080-\uffff]+|[^\s]/gu
const operators: Readonly<Record<string, Token>> = { '×': '*', '÷': '/', '−': '-', x: '*' }
/** Maximum number of words between a number and the next operator: '5 red apples + 3'. */
const wordsAllowed = 2
const longestText = 100_000

/** Every equation between numbers in a text, in order. A chain `a = b = c` gives one per equals sign. */
export function statementsOf(text: string): Statement[] {
  const statements: Statement[] = []
  for (const run of runs(text.slice(0, longestText))) {
    const sides = splitAtEquals(run)
    const isStatement = sides.length > 1 && sides.some((side) => side.length > 1)
    if (!isStatement) continue
    const values = sides.map(evaluate)
    for (let i = 1; i < values.length; i++) {
      const left = values[i - 1] ?? null
      const right = values[i] ?? null
      if (left !== null && right !== null) statements.push({ left, right, holds: isNear(left, right) })
    }
  }
  return statements
}

/** Two decimals are enough in a worked solution. */
function isNear(left: number, right: number): boolean {
  return Math.abs(left - right) <= Math.max(0.0051, Math.abs(left) * 1e-6)
}

function runs(text: string): Token[][] {
  const found: Token[][] = []
  let run: Token[] = []
  let words = 0
  for (const [lexeme] of text.matchAll(lexer)) {
    const token = tokenOf(lexeme)
    if (token === null) {
      words += 1
      if (words <= wordsAllowed) continue
    }
    const endsHere =
      token === null || token === 'break' || (typeof token === 'number' && typeof run.at(-1) === 'number')
    if (endsHere) {
      found.push(run)
      run = []
    }
    if (token !== null && token !== 'break') run.push(token)
    words = token === null ? words : 0
  }
  found.push(run)
  return found
}

/** null: a word or a currency sign, which may separate tokens. */
function tokenOf(lexeme: string): Token | null {
  const first = lexeme.charCodeAt(0)
  if (first >= 48 && first <= 57) {
    const value = Number(lexeme.replace(/[,%]/gu, ''))
    return lexeme.endsWith('%') ? value / 100 : value
  }
  if (Object.hasOwn(operators, lexeme)) return operators[lexeme] ?? null
  if ('+-*/()='.includes(lexeme)) return lexeme as Token
  return /^[A-Za-z$€£\u0080-\uffff]/u.test(lexeme) ? null : 'break'
}

function splitAtEquals(run: readonly Token[]): Token[][] {
  const sides: Token[][] = [[]]
  for (const token of run) {
    if (token === '=') sides.push([])
    else sides.at(-1)?.push(token)
  }
  return sides
}

const precedence: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2 }

/** Evaluates numbers, operators and brackets with the shunting-yard algorithm. null: not an expression. */
function evaluate(tokens: readonly Token[]): number | null {
  const values: number[] = []
  const pending: Token[] = []
  let previous: Token | undefined
  for (const token of tokens) {
    if (typeof token === 'number') values.push(token)
    else if (token === '(') pending.push(token)
    else if (token === ')') {
      while (pending.length > 0 && pending.at(-1) !== '(') apply(values, pending.pop())
      if (pending.pop() !== '(') return null
    } else {
      const isSign = previous === undefined || (typeof previous !== 'number' && previous !== ')')
      if (isSign && token !== '-' && token !== '+') return null
      if (isSign) values.push(0)
      else while (rank(pending.at(-1)) >= rank(token)) apply(values, pending.pop())
      pending.push(token)
    }
    previous = token
  }
  while (pending.length > 0) apply(values, pending.pop())
  const [value] = values
  return values.length === 1 && value !== undefined && Number.isFinite(value) ? value : null
}

function rank(token: Token | undefined): number {
  return typeof token === 'string' ? (precedence[token] ?? 0) : 0
}

function apply(values: number[], operator: Token | undefined): void {
  const right = values.pop() ?? Number.NaN
  const left = values.pop() ?? Number.NaN
  if (operator === '+') values.push(left + right)
  else if (operator === '-') values.push(left - right)
  else if (operator === '*') values.push(left * right)
  else values.push(operator === '/' ? left / right : Number.NaN)
}
