import { maxIntegerDigits } from '../digits.ts'
import { evaluate, type Token } from '../number/operators.ts'
import { type PythonValue, pythonArithmetic } from './value.ts'

const digits = '[0-9](?:_?[0-9])*'
const exponent = `[eE][+-]?${digits}`
const double = new RegExp(
  `(?:${digits})?\\.${digits}(?:${exponent})?|${digits}\\.(?:${exponent})?|${digits}${exponent}`,
  'y',
)
const based = /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+/y
const integer = /0(?:_?0)*|[1-9](?:_?[0-9])*/y
const name = /True|False|None/y
const quoted = /'([^'\\\n]*)'|"([^"\\\n]*)"/y
const blank = /[ \t\f]+|\\\n|#[^\n]*/y
const maxOpen = 200

const named: Readonly<Record<string, PythonValue>> = { True: true, False: false, None: { none: true } }

/** The value of a Python expression of literals and `+ - * / ( )`, `[` counting as `(`; null: anything else, or an error. */
export function evaluatePython(expression: string): Exclude<PythonValue, { none: true }> | null {
  const source = expression.replaceAll('[', '(').replaceAll(']', ')').replace(/\r\n?/g, '\n')
  if (/^[ \t]/.test(source)) return null
  const tokens = tokensOf(source)
  const value = tokens && evaluate(tokens, pythonArithmetic)
  return typeof value === 'object' ? null : value
}

/** null: some character belongs to no token, or an expression is followed by another line. */
function tokensOf(source: string): Token<PythonValue>[] | null {
  const tokens: Token<PythonValue>[] = []
  let open = 0
  let ended = false
  for (let at = 0; at < source.length; ) {
    const mark = source.charAt(at)
    if (mark === '\n') {
      ended ||= open === 0 && tokens.length > 0
      at++
      continue
    }
    const skipped = match(blank, source, at)
    if (skipped !== null) {
      if (skipped.startsWith('\\') && at + 2 >= source.length) return null
      at += skipped.length
      continue
    }
    if (ended) return null
    if ('+-*/()'.includes(mark)) {
      open += mark === '(' ? 1 : mark === ')' ? -1 : 0
      if (open > maxOpen) return null
      tokens.push(mark as Token<PythonValue>)
      at++
      continue
    }
    const literal = literalAt(source, at)
    if (literal === null) return null
    push(tokens, literal.value)
    at += literal.length
  }
  return tokens
}

/** Neighbouring texts are one text. */
function push(tokens: Token<PythonValue>[], value: PythonValue): void {
  const last = tokens.at(-1)
  if (typeof value === 'string' && typeof last === 'object' && typeof last.value === 'string') {
    tokens[tokens.length - 1] = { value: last.value + value }
  } else tokens.push({ value })
}

function literalAt(source: string, at: number): { value: PythonValue; length: number } | null {
  const text = match(quoted, source, at)
  if (text !== null) return { value: text.slice(1, -1), length: text.length }
  const word = match(name, source, at)
  const numeral = word ?? match(double, source, at) ?? match(based, source, at) ?? match(integer, source, at)
  if (numeral === null || /[\p{L}\p{N}_.]/u.test(source.charAt(at + numeral.length))) return null
  const value = word === null ? numberOf(numeral.replaceAll('_', '')) : named[word]
  return value === undefined ? null : { value, length: numeral.length }
}

function numberOf(numeral: string): PythonValue | undefined {
  if (/^0[xob]/i.test(numeral)) return BigInt(numeral)
  if (/[.eE]/.test(numeral)) return Number(numeral)
  return numeral.length > maxIntegerDigits ? undefined : BigInt(numeral)
}

function match(pattern: RegExp, source: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? null
}
