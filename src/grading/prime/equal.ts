import { insides, isNearOrPercent } from '../math-equal.ts'
import { evaluate, type Token } from '../number/operators.ts'
import { readFloat } from '../python/number.ts'
import { trimSpace } from '../white-space.ts'

/** What PRIME compares: a text, or a number that it read from one. */
type Operand = string | number

const clip = 1000
const maxDepth = 20

/**
 * PRIME's second opinion: equal texts, numbers within 1e-4 of the truth or of a hundredth or hundredfold of it, intervals and
 * lists by element. `pi` is what `\pi` stands for. Throws where the original does.
 */
export function primeEqual(given: string, truth: string, pi: number, depth = 0): boolean {
  if (depth > maxDepth) return false
  const wanted = operand(truth, pi)
  const raw = operand(given, pi)
  const answer = typeof raw === 'string' ? raw.slice(0, clip) : raw
  if (typeof answer === 'string' && typeof wanted === 'string' && sameText(answer, wanted)) return true
  const number = numberOf(answer)
  const wantedNumber = numberOf(wanted)
  if (number !== null && wantedNumber !== null) {
    return isNearOrPercent(number, wantedNumber)
  }
  if (answer === '') return false
  const a = trimSpace(String(answer))
  const b = trimSpace(String(wanted))
  const [inner, wantedInner] = insides(a, b)
  return inner === wantedInner || sameElements(a, b, depth)
}

const sameText = (a: string, b: string): boolean =>
  trimSpace(a).toLowerCase() === trimSpace(b).toLowerCase() || a.replaceAll(' ', '') === b.replaceAll(' ', '')

function operand(text: string, pi: number): Operand {
  if (/^\$\d/.test(text)) return text.slice(1)
  if (/^\d+(?:\.\d+)?\\?%$/.test(text)) return text.replace(/\\?%$/, '')
  const base = text.indexOf('_')
  if (base >= 0) {
    const number = readFloat(text.slice(0, base))
    if (number === null || !Number.isFinite(number)) throw new RangeError('no number before the base')
    return Math.trunc(number)
  }
  if (!text.includes('\\pi')) return text
  const spelled = text.replace(/(\d?)\\pi/g, (_, digit) => (digit === '' ? `1*${pi}` : `${digit}*${pi}`))
  return program(spelled) ?? spelled
}

const calls = { max: Math.max, min: Math.min, abs: (...given: number[]) => Math.abs(given[0] ?? Number.NaN) }

/** The value of a sum with calls of `max`, `min`, `abs`. The original runs any program text; nothing is run here. */
function program(text: string): number | null {
  let plain = text.slice(0, 10 * clip)
  for (let i = 0; i < maxDepth; i++) {
    const call = /\b(max|min|abs)\(([^()]*)\)/.exec(plain)
    if (!call) return arithmetic(plain)
    const [whole, name = 'abs', list = ''] = call
    const given = list.split(',').map(arithmetic)
    if (given.includes(null)) return null
    const value = calls[name as keyof typeof calls](...given.map(Number))
    plain = `${plain.slice(0, call.index)}(${value})${plain.slice(call.index + whole.length)}`
  }
  return null
}

/** The value of a sum of numbers; null: it is none. */
function arithmetic(text: string): number | null {
  const tokens: Token<number>[] = []
  const token = /\s*(?:(\d+\.?\d*|\.\d+)|([-+*/()]))/y
  const plain = text.trimEnd()
  while (token.lastIndex < plain.length) {
    const found = token.exec(plain)
    if (!found) return null
    tokens.push(found[1] === undefined ? (found[2] as Token<number>) : { value: Number(found[1]) })
  }
  return evaluate(tokens, {
    add: (a, b) => a + b,
    subtract: (a, b) => a - b,
    multiply: (a, b) => a * b,
    divide: (a, b) => (b === 0 ? null : a / b),
    negate: (a) => -a,
  })
}

function numberOf(value: Operand): number | null {
  if (typeof value === 'number') return value
  return readFloat(value.includes('{,}') ? value.replaceAll('{,}', '') : value.replaceAll(',', ''))
}

function sameElements(a: string, b: string, depth: number): boolean {
  const bracketed = /^[([]/.test(a) && /[)\]]$/.test(a) && a[0] === b[0] && a.at(-1) === b.at(-1)
  if (bracketed && listsAgree(a.slice(1, -1), b.slice(1, -1), depth)) return true
  return a.includes(',') && b.includes(',') && listsAgree(a, b, depth)
}

function listsAgree(a: string, b: string, depth: number): boolean {
  const given = a.split(',').map(trimSpace)
  const wanted = b.split(',').map(trimSpace)
  if (given.length !== wanted.length) return false
  return given.every((element, i) => primeEqual(element, wanted[i] ?? '', Math.PI, depth + 1))
}
