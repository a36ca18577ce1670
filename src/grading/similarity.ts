import { isBlank, whiteSpace } from './characters.ts'

/**
 * The length of the longest common subsequence. Linear in `a`, with 32 symbols of `b` per step (Hyyrö's
 * bit-parallel recurrence).
 */
export function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  const places = bitsBySymbol(b)
  const rest = new Uint32Array(Math.ceil(b.length / 32)).fill(0xffffffff)
  for (const symbol of a) {
    const matches = places.get(symbol)
    if (!matches) continue
    let carry = 0
    for (let i = 0; i < rest.length; i++) {
      const left = rest[i]!
      const match = matches[i]!
      const sum = left + ((left & match) >>> 0) + carry
      carry = sum > 0xffffffff ? 1 : 0
      rest[i] = sum | (left & ~match)
    }
  }
  let length = 0
  for (let i = 0; i < b.length; i++) if (((rest[i >>> 5]! >>> (i & 31)) & 1) === 0) length++
  return length
}

function bitsBySymbol(symbols: readonly string[]): Map<string, Uint32Array> {
  const places = new Map<string, Uint32Array>()
  for (const [i, symbol] of symbols.entries()) {
    const bits = places.get(symbol) ?? new Uint32Array(Math.ceil(symbols.length / 32))
    bits[i >>> 5]! |= 1 << (i & 31)
    places.set(symbol, bits)
  }
  return places
}

type Tokens = readonly string[]

/** Scripts without spaces between words: each of their characters is a token, with its marks. */
const unspaced =
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}]'
const one = `${unspaced}\\p{M}*`
const spaced = new RegExp(`[^${whiteSpace}]+`, 'g')
const spacedOrOne = new RegExp(`${one}|[[^${whiteSpace}]--${unspaced}]+`, 'gv')
const words = /[\p{L}\p{N}_]+/gu
const wordsOrOne = new RegExp(`${one}|[[\\p{L}\\p{N}_]--${unspaced}]+`, 'gv')
const ascii = /[a-z0-9]+/g
/** Also the words that rouge-score leaves out: those in other scripts than Latin. */
const asciiOrOther = new RegExp(
  `[a-z0-9]+|${one}|[[\\p{L}\\p{N}]--\\p{Script=Latin}--${unspaced}][[\\p{L}\\p{N}\\p{M}]--[a-z0-9]--${unspaced}]*`,
  'gv',
)

/** Below U+0370 there are only Latin letters, and below U+0E00 no script without spaces. */
const beyondLatin = /[\u0370-\uffff]/
const mayBeUnspaced = /[\u0e00-\uffff]/

const bySpace = (text: string): Tokens => text.match(mayBeUnspaced.test(text) ? spacedOrOne : spaced) ?? []
const bySymbol = (text: string): Tokens => [...text]
const byWord = (text: string): Tokens =>
  text.toLowerCase().match(mayBeUnspaced.test(text) ? wordsOrOne : words) ?? []
/** Tokenizes Latin text as rouge-score does: ASCII letters and digits only. */
const byAscii = (text: string): Tokens =>
  text.toLowerCase().match(beyondLatin.test(text) ? asciiOrOther : ascii) ?? []

/** A similarity metric: how it tokenizes, and the similarity of the tokens, 0 to 1. */
interface Metric {
  readonly tokens: (text: string) => Tokens
  readonly compare: (candidate: Tokens, reference: Tokens) => number
}

const metrics = {
  /** Cosine of word counts. */
  cosine: { tokens: byWord, compare: countCosine },
  /** rapidfuzz's fuzz.ratio, scaled to 1. */
  fuzzy_match: {
    tokens: bySymbol,
    compare: (a, b) =>
      a.length + b.length === 0 ? 1 : (2 * commonSubsequence(a, b)) / (a.length + b.length),
  },
  /** NLTK's sentence_bleu with four orders and no smoothing. */
  bleu: { tokens: bySpace, compare: bleu },
  /** NLTK's sentence_gleu. */
  gleu: { tokens: bySpace, compare: gleu },
  rouge_1: rouge(1),
  rouge_2: rouge(2),
  rouge_3: rouge(3),
  rouge_4: rouge(4),
  rouge_5: rouge(5),
  rouge_l: { tokens: byAscii, compare: (a, b) => overlapOf(commonSubsequence(a, b), a.length, b.length).f1 },
} as const satisfies Record<string, Metric>

export type SimilarityMetric = keyof typeof metrics
export const similarityMetrics = Object.keys(metrics) as [SimilarityMetric, ...SimilarityMetric[]]

/**
 * The similarity of a text to a reference, 0 to 1. Linear in the text, times the length of the reference.
 *
 * @example
 * ```ts
 * import { textSimilarity } from 'reward-gateway/grading'
 *
 * textSimilarity('rouge_1', 'a red fox', 'the red fox') // 2 / 3
 * ```
 */
export function textSimilarity(metric: SimilarityMetric, text: string, reference: string): number {
  const { tokens, compare }: Metric = metrics[metric]
  return compare(tokens(text), tokens(reference))
}

/**
 * Whether a reference has any tokens for the metric.
 *
 * @example
 * ```ts
 * import { isComparable } from 'reward-gateway/grading'
 *
 * isComparable('rouge_l', '?!') // false
 * ```
 */
export const isComparable = (metric: SimilarityMetric, reference: string): boolean =>
  !isBlank(reference) && metrics[metric].tokens(reference).length > 0

function rouge(n: number): Metric {
  return {
    tokens: byAscii,
    compare: (a, b) => overlapOf(common(a, b, n), gramCount(a, n), gramCount(b, n)).f1,
  }
}

/** How much of a text stands in a reference, and how much of the reference stands in the text, each 0 to 1. */
export interface Overlap {
  readonly precision: number
  readonly recall: number
  readonly f1: number
}

/**
 * The overlap of `answered` items with `wanted` ones, of which `shared` are the same. Nothing shared is 0, also where
 * both are 0.
 */
export function overlapOf(shared: number, answered: number, wanted: number): Overlap {
  const [precision, recall] = shared === 0 ? [0, 0] : [shared / answered, shared / wanted]
  return { precision, recall, f1: f1Of(precision, recall) }
}

/** The harmonic mean of precision and recall; 0 if both are 0. */
export const f1Of = (precision: number, recall: number): number =>
  precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall)

function countCosine(candidate: Tokens, reference: Tokens): number {
  const [a, b] = [counts(candidate), counts(reference)]
  const dot = Array.from(a, ([token, count]) => count * (b.get(token) ?? 0)).reduce((sum, x) => sum + x, 0)
  const norm = (all: Map<string, number>): number =>
    Math.sqrt(Array.from(all.values(), (count) => count * count).reduce((sum, x) => sum + x, 0))
  return dot === 0 ? 0 : Math.min(dot / (norm(a) * norm(b)), 1)
}

function bleu(candidate: Tokens, reference: Tokens): number {
  const hits = [1, 2, 3, 4].map((n) => common(candidate, reference, n))
  if (hits[0] === 0) return 0
  const logs = hits.map((count, i) => {
    // NLTK replaces a precision of 0 by the smallest normal double.
    const precision = count === 0 ? 2 ** -1022 : count / Math.max(gramCount(candidate, i + 1), 1)
    return Math.log(precision) / 4
  })
  const shortness = Math.min(0, 1 - reference.length / candidate.length)
  return Math.exp(shortness) * Math.exp(logs.reduce((sum, x) => sum + x, 0))
}

function gleu(candidate: Tokens, reference: Tokens): number {
  const sum = (of: (n: number) => number): number => of(1) + of(2) + of(3) + of(4)
  const most = Math.max(
    sum((n) => gramCount(candidate, n)),
    sum((n) => gramCount(reference, n)),
  )
  return most === 0 ? 0 : sum((n) => common(candidate, reference, n)) / most
}

const gramCount = (tokens: Tokens, n: number): number => Math.max(tokens.length - n + 1, 0)

/** The number of n-grams that match, each reference n-gram at most once. */
function common(candidate: Tokens, reference: Tokens, n: number): number {
  const left = counts(grams(reference, n))
  let hits = 0
  for (const gram of grams(candidate, n)) {
    const free = left.get(gram) ?? 0
    if (free === 0) continue
    left.set(gram, free - 1)
    hits++
  }
  return hits
}

function* grams(tokens: Tokens, n: number): Generator<string> {
  for (let i = 0; i + n <= tokens.length; i++) yield tokens.slice(i, i + n).join(' ')
}

function counts(tokens: Iterable<string>): Map<string, number> {
  const all = new Map<string, number>()
  for (const token of tokens) all.set(token, (all.get(token) ?? 0) + 1)
  return all
}

/**
 * Cosine of two vectors, -1 to 1. NaN if one has length 0 or their dimensions differ.
 *
 * @example
 * ```ts
 * import { cosine } from 'reward-gateway/grading'
 *
 * cosine([1, 0], [0, 1]) // 0
 * ```
 */
export function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return Number.NaN
  let dot = 0
  let squaresA = 0
  let squaresB = 0
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? 0
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  return dot / Math.sqrt(squaresA * squaresB)
}

/**
 * Stretches similarities from 0.65 to 0.85, where bge-large-zh distinguishes sentences, over 0.1 to 1,
 * steeper at the top.
 */
export function spreadSimilarity(similarity: number): number {
  if (similarity <= 0.65) return 0.1
  if (similarity >= 0.85) return 1
  return (10000 ** similarity / 10000 ** 0.9 - 0.1) * 1.69811 + 0.1
}
