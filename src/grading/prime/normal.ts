import { plainTex } from '../latex/plain-tex.ts'
import { readFloat } from '../python/number.ts'

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

/** PRIME's spelling of an answer. `geometry`: geo3k's, which keeps liters and loses spaces and braces. */
export function primeNormal(text: string, geometry: boolean): string {
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

/** What a whole `\text{...}` holds; any other text as it stands. */
export function insideText(text: string): string {
  const whole = text.startsWith('\\text{') && text.endsWith('}') && text.length > '\\text{}'.length
  return whole && !text.includes('\n') ? text.slice('\\text{'.length, -1) : text
}

/** Through a double, as the original reads it: its integer part where it is within 1e-7 of an integer; null: it is not. */
export function integerLike(text: string): string | null {
  if (text.length > maxNumeral) return null
  const number = readFloat(withoutThousands(text))
  if (number === null || !isNearInteger(number)) return null
  return BigInt(Math.trunc(readFloat(text.replaceAll(',', '')) ?? number)).toString()
}

const isNearInteger = (number: number): boolean =>
  Number.isFinite(number) && Math.abs(number - Math.round(number)) <= 1e-7

/** Without the commas of well-formed thousands. */
function withoutThousands(text: string): string {
  let plain = text
  for (;;) {
    const next = plain.replace(/([0-9]),([0-9]{3})($|[^0-9])/g, '$1$2$3')
    if (next === plain) return plain
    plain = next
  }
}

/** The elements of `(a, b)`, `[a, b)` and the like; one element where it is no such thing. */
export function tupleElements(text: string): string[] {
  const plain = withoutThousands(text)
  if (plain === '') return []
  const inside = plain.slice(1, -1)
  const tuple = plain.length > 2 && /^[([]/.test(plain) && /[)\]]$/.test(plain) && !/[()[\]]/.test(inside)
  return tuple ? inside.split(',').map((element) => element.trim()) : [plain]
}
