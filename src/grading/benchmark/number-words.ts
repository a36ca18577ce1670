import { asciiDigits } from '../digits.ts'
import { whiteSpace } from '../white-space.ts'

const values: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ zero: 0, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10 },
    ...{ eleven: 11, twelve: 12, thirteen: 13, fourteen: 14, fifteen: 15, sixteen: 16, seventeen: 17 },
    ...{ eighteen: 18, nineteen: 19, twenty: 20, thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70 },
    ...{ eighty: 80, ninety: 90, hundred: 100, thousand: 1e3, million: 1e6, billion: 1e9, point: Number.NaN },
  }),
)

const space = new RegExp(`[${whiteSpace}]+`)
const scales = ['thousand', 'million', 'billion'] as const

/** The number that the number words of a text say in word2number 1.1, as Python prints it; null: it refuses. */
export function wordNumber(text: string): string | null {
  const plain = text.replaceAll('-', ' ').toLowerCase()
  if (/^\p{Nd}+$/u.test(plain)) return asciiDigits(plain).replace(/^0+(?=\d)/, '')
  const words = plain.split(space).filter((word) => values.has(word))
  if (words.length === 0) return null
  if ([...scales, 'point'].some((word) => words.indexOf(word) !== words.lastIndexOf(word))) return null
  const point = words.indexOf('point')
  const whole = wholeNumber(point < 0 ? words : words.slice(0, point))
  if (whole === null) return null
  const decimals = point < 0 ? [] : words.slice(point + 1)
  if (decimals.length === 0) return `${whole}`
  const places = decimals.map((word) => values.get(word) ?? Number.NaN)
  if (!places.every((digit) => digit < 10)) return `${whole}`
  const value = whole + Number(`0.${places.join('')}`)
  return Number.isInteger(value) ? `${value}.0` : `${value}`
}

function wholeNumber(words: readonly string[]): number | null {
  const [thousand, million, billion] = scales.map((word) => words.indexOf(word)) as [number, number, number]
  if (thousand > -1 && (thousand < million || thousand < billion)) return null
  if (million > -1 && million < billion) return null
  if (words.length < 2) return values.get(words[0] ?? 'zero') ?? null
  let total = 0
  let start = 0
  for (const [at, scale] of [
    [billion, 1e9],
    [million, 1e6],
    [thousand, 1e3],
  ] as const) {
    if (at < 0) continue
    const part = group(words.slice(start, at))
    if (part === null) return null
    total += part * scale
    start = at + 1
  }
  if (start === words.length) return total
  const rest = group(words.slice(start))
  return rest === null ? null : total + rest
}

/** Words below a thousand as word2number adds them up: it looks at their count, not at their sense. */
function group(words: readonly string[]): number | null {
  const [a, b = 0, c = 0, d = 0] = words.map((word) => values.get(word) ?? 0)
  if (a === undefined) return null
  if (words.length === 4) return a * b + c + d
  if (words.length === 3) return a * b + c
  if (words.length === 2) return a === 100 || b === 100 ? a * b : a + b
  return a
}
