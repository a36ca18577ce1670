/** Numbers in English words, for the readers of numbers and of mathematics. */

import type { Fraction } from './arithmetic.ts'

const small: ReadonlyMap<string, bigint> = new Map(
  (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ' +
    'seventeen eighteen nineteen'
  )
    .split(' ')
    .map((word, value) => [word, BigInt(value)] as const),
)
const tens: ReadonlyMap<string, bigint> = new Map(
  'twenty thirty forty fifty sixty seventy eighty ninety'
    .split(' ')
    .map((word, k) => [word, BigInt(10 * (k + 2))] as const),
)
const great: ReadonlyMap<string, bigint> = new Map([
  ['thousand', 10n ** 3n],
  ['million', 10n ** 6n],
  ['billion', 10n ** 9n],
  ['trillion', 10n ** 12n],
])

/** Every word that a number in words may have. */
export const numberWords: readonly string[] = [
  ...small.keys(),
  ...tens.keys(),
  ...great.keys(),
  'hundred',
  'and',
]

/**
 * The number that starts at a word, in groups of at most 999, each with a greater power before it than after
 * it, and the index after it. null: there is none.
 */
export function countedWords(words: readonly string[], start: number): { value: bigint | null; end: number } {
  let total: bigint | null = null
  let limit: bigint | null = null
  let at = start
  for (;;) {
    if (total !== null && words[at] === 'and') at++
    const [group, end] = belowThousand(words, at)
    if (group === null) return { value: words[at - 1] === 'and' ? null : total, end: at }
    const power = great.get(words[end] ?? '')
    if (limit !== null && (power ?? 1n) >= limit) return { value: null, end }
    total = (total ?? 0n) + group * (power ?? 1n)
    if (power === undefined) return { value: total, end }
    limit = power
    at = end + 1
  }
}

function belowThousand(words: readonly string[], start: number): readonly [bigint | null, number] {
  const [first, at] = belowHundred(words, start)
  if (words[at] !== 'hundred' || first === null || first === 0n) return [first, at]
  const next = words[at + 1] === 'and' ? at + 2 : at + 1
  const [rest, end] = belowHundred(words, next)
  return rest === null || rest === 0n ? [first * 100n, at + 1] : [first * 100n + rest, end]
}

function belowHundred(words: readonly string[], at: number): readonly [bigint | null, number] {
  const ten = tens.get(words[at] ?? '')
  const one = small.get(words[ten === undefined ? at : at + 1] ?? '')
  if (ten === undefined) return one === undefined ? [null, at] : [one, at + 1]
  return one === undefined || one === 0n || one > 9n ? [ten, at + 1] : [ten + one, at + 2]
}

const parts: ReadonlyMap<string, bigint> = new Map(
  (
    'half:2 halves:2 third:3 thirds:3 quarter:4 quarters:4 fourth:4 fourths:4 fifth:5 fifths:5 sixth:6 sixths:6 ' +
    'seventh:7 sevenths:7 eighth:8 eighths:8 ninth:9 ninths:9 tenth:10 tenths:10 twelfth:12 twelfths:12'
  )
    .split(' ')
    .map((entry) => entry.split(':'))
    .map(([word = '', by = '1']) => [word, BigInt(by)] as const),
)

/** The names of parts, for patterns. */
export const fractionWords: string = [...parts.keys()].sort((a, b) => b.length - a.length).join('|')

/** The number that all words together mean: `forty two`, `three quarters`, `two and a half`. null: none. */
export function wordedFraction(words: readonly string[]): Fraction | null {
  const name = words.at(-1) ?? ''
  const by = parts.get(name)
  if (by === undefined) {
    const { value, end } = countedWords(words, 0)
    return value === null || end < words.length ? null : { numerator: value, denominator: 1n }
  }
  const before = words.slice(0, -1)
  const split = before.lastIndexOf('and')
  const whole = split < 0 ? { value: 0n, end: 0 } : countedWords(before.slice(0, split), 0)
  const count = before.slice(split + 1)
  const many = countOf(count, name)
  if (many === null || whole.value === null || whole.end !== Math.max(split, 0)) return null
  return { numerator: whole.value * by + many, denominator: by }
}

/** How many parts of a name there are. null: an ordinal, or no number. */
function countOf(words: readonly string[], name: string): bigint | null {
  if (words.length === 0) return name === 'half' ? 1n : null
  if (words.length === 1 && /^(?:an?|one)$/.test(words[0] ?? '')) return 1n
  const { value, end } = countedWords(words, 0)
  return end === words.length && /s$/.test(name) ? value : null
}

const counted = numberWords.filter((word) => word !== 'and').join('|')
/** Numbers in words, apart from `one`, which is mostly a pronoun. */
export const everyNumberInWords = new RegExp(
  `(?<![A-Za-z-])(?:(?!one(?![A-Za-z-])(?!\\s(?:hundred|thousand|million|billion)))(?:${counted})(?:[\\s-]+(?:and\\s+)?(?:${counted}))*(?:[\\s-]+(?:and\\s+an?\\s+)?(?:${fractionWords}))?|one[\\s-](?:${fractionWords}))(?![A-Za-z])`,
  'gi',
)
