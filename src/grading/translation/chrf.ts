import { splitWords } from './tokenizers.ts'

/** sacrebleu's settings of chrF; chrF++ has `word_order: 2`. */
export interface ChrfSettings {
  readonly char_order?: number
  readonly word_order?: number
  readonly beta?: number
  readonly lowercase?: boolean
  readonly whitespace?: boolean
  readonly eps_smoothing?: boolean
}

/** For each order, n-grams of the text, of the reference and of both. Those of sentences add up. */
export type ChrfCounts = readonly (readonly [given: number, wanted: number, same: number])[]

const punctuation = /[!-/:-@[-`{-~]/

/** Words, with one sign of punctuation split from the end or else from the beginning. */
const wordsOf = (text: string): readonly string[] =>
  splitWords(text).flatMap((word) => {
    const points = Array.from(word)
    const [first = '', last = ''] = [points[0], points.at(-1)]
    if (points.length === 1) return [word]
    if (punctuation.test(last)) return [word.slice(0, -1), last]
    return punctuation.test(first) ? [first, word.slice(1)] : [word]
  })

/** Each run of n items, as one text. */
function* runs(items: readonly string[], n: number, mark: string): Generator<string> {
  for (let at = 0; at + n <= items.length; at++)
    yield n === 1 ? (items[at] ?? '') : items.slice(at, at + n).join(mark)
}

const itemsOf = (text: string, { lowercase = false, whitespace = false, word_order = 0 }: ChrfSettings) => {
  const plain = lowercase ? text.toLowerCase() : text
  return {
    characters: Array.from(whitespace ? plain : splitWords(plain).join('')),
    words: word_order > 0 ? wordsOf(plain) : [],
  }
}

/** What a sentence shares with the closest of its references. Linear, times the number of references and orders. */
export function chrfCounts(
  hypothesis: string,
  references: readonly string[],
  settings: ChrfSettings = {},
): ChrfCounts {
  const { char_order = 6, word_order = 0 } = settings
  const given = itemsOf(hypothesis, settings)
  const [first, ...others] = references.map((reference): ChrfCounts => {
    const wanted = itemsOf(reference, settings)
    const orders = (count: number, kind: 'characters' | 'words', mark: string) =>
      Array.from({ length: count }, (_, at) => matches(given[kind], wanted[kind], at + 1, mark))
    return [...orders(char_order, 'characters', ''), ...orders(word_order, 'words', ' ')]
  })
  return others.reduce(
    (best, counts) => (chrfOf(counts, settings) > chrfOf(best, settings) ? counts : best),
    first ?? [],
  )
}

function matches(
  given: readonly string[],
  wanted: readonly string[],
  n: number,
  mark: string,
): readonly [given: number, wanted: number, same: number] {
  const total = Math.max(wanted.length - n + 1, 0)
  if (total === 0) return [0, 0, 0]
  const left = new Map<string, number>()
  for (const gram of runs(wanted, n, mark)) left.set(gram, (left.get(gram) ?? 0) + 1)
  let same = 0
  for (const gram of runs(given, n, mark)) {
    const free = left.get(gram) ?? 0
    if (free === 0) continue
    left.set(gram, free - 1)
    same++
  }
  return [Math.max(given.length - n + 1, 0), total, same]
}

const least = 1e-16

/** sacrebleu's chrF of summed counts, 0 to 100. */
export function chrfOf(counts: ChrfCounts, { beta = 2, eps_smoothing = false }: ChrfSettings = {}): number {
  const factor = beta ** 2
  const harmonic = (precision: number, recall: number): number =>
    ((1 + factor) * precision * recall) / (factor * precision + recall)
  const ratios = counts.map(
    ([given, wanted, same]) =>
      [given > 0 ? same / given : least, wanted > 0 ? same / wanted : least] as const,
  )
  if (eps_smoothing) {
    const scores = ratios.map(([precision, recall]) =>
      factor * precision + recall > 0 ? harmonic(precision, recall) : least,
    )
    return (100 * scores.reduce((sum, score) => sum + score, 0)) / counts.length
  }
  const both = ratios.filter((_, at) => (counts[at]?.[0] ?? 0) > 0 && (counts[at]?.[1] ?? 0) > 0)
  if (both.length === 0) return 0
  const mean = (column: 0 | 1): number => both.reduce((sum, ratio) => sum + ratio[column], 0) / both.length
  const [precision, recall] = [mean(0), mean(1)]
  return precision + recall > 0 ? 100 * harmonic(precision, recall) : 0
}
