import { type BleuTokenizer, bleuTokens } from './tokenizers.ts'

/** sacrebleu's settings of BLEU. */
export interface BleuSettings {
  readonly tokenize?: BleuTokenizer
  readonly lowercase?: boolean
  readonly smooth_method?: 'exp' | 'floor' | 'add-k' | 'none'
  readonly smooth_value?: number
  readonly max_ngram_order?: number
  /** Leaves out orders for which the text is too short. sacrebleu's default for a corpus is false. */
  readonly effective_order?: boolean
}

/** Lengths in tokens, and for each order the n-grams that match and all of them. Those of sentences add up. */
export interface BleuCounts {
  readonly sys_len: number
  readonly ref_len: number
  readonly counts: readonly number[]
  readonly totals: readonly number[]
}

const longestOrder = 4

/** Numbers the n-grams of references, so that a text's n-grams are looked up without being written out. Linear. */
class Grams {
  readonly #numbers = new Map<string, number>()

  of(tokens: readonly string[], n: number): readonly string[] {
    const numbers = tokens.map((token) => this.#number(token))
    return Array.from({ length: Math.max(tokens.length - n + 1, 0) }, (_, at) =>
      numbers.slice(at, at + n).join(' '),
    )
  }

  #number(token: string): number {
    const known = this.#numbers.get(token) ?? this.#numbers.size
    this.#numbers.set(token, known)
    return known
  }
}

const counted = (grams: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const gram of grams) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  return counts
}

/** What a sentence shares with its references. */
export function bleuCounts(
  hypothesis: string,
  references: readonly string[],
  settings: BleuSettings = {},
): BleuCounts {
  const { tokenize = '13a', lowercase = false, max_ngram_order: orders = longestOrder } = settings
  const read = (text: string): readonly string[] =>
    bleuTokens(lowercase ? text.toLowerCase() : text, tokenize)
  const [tokens, wanted] = [read(hypothesis), references.map(read)]
  const grams = new Grams()
  const [counts, totals] = [[] as number[], [] as number[]]
  for (let n = 1; n <= orders; n++) {
    const most = new Map<string, number>()
    for (const reference of wanted)
      for (const [gram, count] of counted(grams.of(reference, n)))
        most.set(gram, Math.max(most.get(gram) ?? 0, count))
    let same = 0
    for (const gram of grams.of(tokens, n)) {
      const left = most.get(gram) ?? 0
      if (left === 0) continue
      most.set(gram, left - 1)
      same++
    }
    counts.push(same)
    totals.push(Math.max(tokens.length - n + 1, 0))
  }
  const away = (length: number): number => Math.abs(length - tokens.length)
  const ref_len = wanted
    .map(({ length }) => length)
    .reduce((a, b) => (away(b) < away(a) || (away(b) === away(a) && b < a) ? b : a))
  return { sys_len: tokens.length, ref_len, counts, totals }
}

/** BLEU, 0 to 100, with what it was made of. */
export interface Bleu extends BleuCounts {
  readonly score: number
  readonly precisions: readonly number[]
  /** The brevity penalty. */
  readonly bp: number
}

/** sacrebleu's BLEU of summed counts. */
export function bleuOf(sum: BleuCounts, settings: BleuSettings = {}): Bleu {
  const { smooth_method: method = 'exp', effective_order = false } = settings
  const smooth = settings.smooth_value ?? (method === 'floor' ? 0.1 : 1)
  const { sys_len, ref_len } = sum
  const [counts, totals] = [[...sum.counts], [...sum.totals]]
  const bp = sys_len >= ref_len ? 1 : sys_len > 0 ? Math.exp(1 - ref_len / sys_len) : 0
  const precisions = counts.map(() => 0)
  if (counts.every((count) => count === 0))
    return { score: 0, precisions, bp, sys_len, ref_len, counts, totals }
  let orders = counts.length
  let halved = 1
  for (const [at, found] of counts.entries()) {
    const added = method === 'add-k' && at > 0 ? smooth : 0
    const [count, total] = [found + added, (totals[at] ?? 0) + added]
    counts[at] = count
    totals[at] = total
    if (total === 0) break
    if (effective_order) orders = at + 1
    if (count > 0) precisions[at] = (100 * count) / total
    else if (method === 'exp') {
      halved *= 2
      precisions[at] = 100 / (halved * total)
    } else if (method === 'floor') precisions[at] = (100 * smooth) / total
  }
  const logs = precisions
    .slice(0, orders)
    .map((precision) => (precision === 0 ? logOfZero : Math.log(precision)))
  const score = bp * Math.exp(logs.reduce((total, log) => total + log, 0) / orders)
  return { score, precisions, bp, sys_len, ref_len, counts, totals }
}

const logOfZero = -9999999999
