/** Whole numbers in English words, for the readers of numbers and of mathematics. */

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
