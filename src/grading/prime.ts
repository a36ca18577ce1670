import { evaluate, type Token } from './arithmetic.ts'
import { trimSpace } from './characters.ts'
import { lastBracedBox, mathNormal, plainTex } from './latex.ts'
import { symbolicallyEqual } from './math/index.ts'
import { insides, isNearOrPercent } from './math-equal.ts'
import { readFloat } from './python.ts'

const lengths = ['cm', 'centimeter', 'meter', 'mile']
const times = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const units = ['degree', ...lengths, ...times, 'foot', 'feet', 'inch', 'yard', 'liter'].map(
  (unit) => [unit, new RegExp(`${unit}(?:es)?s? *(?:\\^[0-9]+)?`, 'g')] as const,
)
const powers = [
  ['million', '*10^6'],
  ['billion', '*10^9'],
  ['trillion', '*10^12'],
] as const

/** Longer numerals do not fit a double. */
const maxNumeral = 5000

/**
 * PRIME's normal form of an answer. `geometry`: geo3k's variant, which keeps liters and drops spaces and
 * braces.
 */
function primeNormal(text: string, geometry: boolean): string {
  let normal = insideText(text)
    .replaceAll('\\%', '%')
    .replaceAll('\\$', '$')
    .replace(/[$%]/g, '')
    .replaceAll(' or ', ' , ')
    .replaceAll(' and ', ' , ')
  for (const [word, power] of powers) normal = normal.replaceAll(word, power)
  for (const [unit, pattern] of units) if (!geometry || unit !== 'liter') normal = normal.replace(pattern, '')
  normal = normal.replace(/\^ *\\circ/g, '')
  if (normal.startsWith('{') && normal.endsWith('}')) normal = normal.slice(1, -1)
  normal = normal.replace(/,\\! */g, '')
  const number = normal.length > maxNumeral ? null : readFloat(normal)
  if (number !== null && isNearInteger(number)) normal = BigInt(Math.round(number)).toString()
  if (normal.includes('\\')) normal = plainTex(normal) ?? normal
  normal = normal.replace(/- */g, '-').replace(/([0-9]) +([0-9])/g, '$1+$2')
  if (geometry) normal = normal.replace(/[ {}]/g, '')
  normal = normal.toLowerCase()
  const integer = integerLike(normal)
  return integer === null ? normal : integer
}

/** The content if the whole text is `\text{...}`, otherwise the text. */
function insideText(text: string): string {
  const whole = text.startsWith('\\text{') && text.endsWith('}') && text.length > '\\text{}'.length
  return whole && !text.includes('\n') ? text.slice('\\text{'.length, -1) : text
}

/**
 * Reads a number through a double, like the original: its integer part if it is within 1e-7 of an integer,
 * else null.
 */
function integerLike(text: string): string | null {
  if (text.length > maxNumeral) return null
  const number = readFloat(withoutThousands(text))
  if (number === null || !isNearInteger(number)) return null
  return BigInt(Math.trunc(readFloat(text.replaceAll(',', '')) ?? number)).toString()
}

const isNearInteger = (number: number): boolean =>
  Number.isFinite(number) && Math.abs(number - Math.round(number)) <= 1e-7

/** Removes commas between well-formed thousands. */
function withoutThousands(text: string): string {
  let plain = text
  for (;;) {
    const next = plain.replace(/([0-9]),([0-9]{3})($|[^0-9])/g, '$1$2$3')
    if (next === plain) return plain
    plain = next
  }
}

/** The elements of `(a, b)`, `[a, b)` and the like. Any other text is one element. */
function tupleElements(text: string): string[] {
  const plain = withoutThousands(text)
  if (plain === '') return []
  const inside = plain.slice(1, -1)
  const tuple = plain.length > 2 && /^[([]/.test(plain) && /[)\]]$/.test(plain) && !/[()[\]]/.test(inside)
  return tuple ? inside.split(',').map((element) => element.trim()) : [plain]
}

const before = ['answer:', 'answer is', 'answers are']
const after = ['is answer', 'is the answer', 'are answers', 'are the answers']
const lastWords = ['be ', 'is ', 'are ', '=', ': ', 'get ', 'be\n', 'is\n', 'are\n', ':\n', 'get\n']

/**
 * PRIME's extraction from a whole response: after or before certain phrases, in a box, or after the last
 * `is`, `=`, ...
 */
export function primeAnswer(response: string): string {
  let answer = new Searchable(response)
  for (const phrase of before) answer = answer.after(phrase)
  for (const phrase of after) answer = answer.upTo(phrase)
  const box = lastBracedBox(answer.text)
  answer = new Searchable(box || answer.text)
  const end = answer.text.lastIndexOf('. ')
  if (end >= 0) answer = new Searchable(trimSpace(answer.text.slice(0, end)))
  for (const phrase of lastWords) answer = answer.after(phrase)
  return answer.text
}

/** A text with its lower-case form, computed once. */
class Searchable {
  readonly text: string
  private readonly lower: string

  constructor(text: string) {
    this.text = text
    this.lower = text.toLowerCase()
  }

  after(phrase: string): Searchable {
    const at = this.lower.lastIndexOf(phrase)
    return at < 0 ? this : new Searchable(trimSpace(this.text.slice(at + phrase.length)))
  }

  upTo(phrase: string): Searchable {
    const at = this.lower.lastIndexOf(phrase)
    return at < 0 ? this : new Searchable(trimSpace(this.text.slice(0, at)))
  }
}

/** What PRIME compares: a text, or a number read from it. */
type Operand = string | number

const clip = 1000
const maxDepth = 20

/**
 * PRIME's second attempt: equal texts, numbers within 1e-4 of the truth or of a hundredth or a hundred times
 * it, intervals and lists by element. `pi` is the value of `\pi`. Throws where the original does.
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

/**
 * Evaluates a sum with calls of `max`, `min` and `abs`. The original executes any program text; this never
 * executes code.
 */
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

/** Evaluates a sum of numbers. null for other texts. */
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

/**
 * PRIME's first attempt: equal texts after one of two normalisations, or equal expressions, element by
 * element.
 */
export function primeGrade(given: string, truth: string, geometry: boolean): boolean {
  if (competitionNormal(given) === competitionNormal(truth)) return true
  const answer = primeNormal(given, geometry)
  const wanted = primeNormal(truth, geometry)
  if (answer === wanted) return true
  if (answer === '') return false
  const elements = tupleElements(wanted)
  const others = tupleElements(answer)
  if (elements.length !== others.length) return false
  if (elements.length > 1 && (answer[0] !== wanted[0] || answer.at(-1) !== wanted.at(-1))) return false
  return elements.every((element, i) => equalElements(element, others[i] ?? ''))
}

function competitionNormal(text: string): string {
  const trimmed = trimSpace(text)
  const inside = trimSpace(insideText(trimmed))
  return mathNormal(inside) ?? inside
}

const plainFraction = /^-?[0-9]+[^\n]?\/0*[1-9][0-9]*[^\n]?$/

function equalElements(wanted: string, given: string): boolean {
  if (plainFraction.test(wanted) && plainFraction.test(given)) return wanted === given
  if ((integerLike(wanted) !== null) !== (integerLike(given) !== null)) return false
  return comparable(`(${wanted})-(${given})`) && symbolicallyEqual(wanted, given, 0)
}

/** The original only passes expressions to its algebra system that cannot keep it busy. */
function comparable(difference: string): boolean {
  const letters = difference.replaceAll('sqrt', '').replaceAll('frac', '').match(/\p{L}/gu)
  if (new Set(letters).size > 2) return false
  return (
    !difference.includes('^{') && !difference.includes('^(') && !/\^[0-9]+\^|\^[0-9][0-9]+/.test(difference)
  )
}
