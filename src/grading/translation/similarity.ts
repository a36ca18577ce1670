import { isBlank } from '../characters.ts'
import { bleuCounts, bleuOf } from './bleu.ts'
import { chrfCounts, chrfOf } from './chrf.ts'
import { translationEdits } from './edits.ts'
import { type BleuTokenizer, bleuTokens, type TerSettings, terTokens } from './tokenizers.ts'

/** sacrebleu's metrics of sentences. */
export const translationMetrics = ['sacrebleu', 'chrf', 'chrf++', 'ter'] as const
export type TranslationMetric = (typeof translationMetrics)[number]

/** The settings of these metrics; each reads its own. */
export interface TranslationSettings {
  /** `sacrebleu`. */
  readonly tokenize: BleuTokenizer
  /** `sacrebleu` and the two of chrF. */
  readonly lowercase: boolean
  readonly ter: TerSettings
}

/** A longer reference would take TER too long, which tries up to 1,000 moves of words. */
const mostTerWords = 1000

/** Why a reference cannot be compared with, or null. */
export function unfit(
  metric: TranslationMetric,
  reference: string,
  { tokenize, ter }: TranslationSettings,
): string | null {
  const words =
    metric === 'sacrebleu'
      ? bleuTokens(reference, tokenize)
      : metric === 'ter'
        ? terTokens(reference, ter)
        : ['']
  if (isBlank(reference) || words.length === 0) return 'has nothing to compare'
  return metric === 'ter' && words.length > mostTerWords
    ? `has more than ${mostTerWords} words for ter`
    : null
}

/**
 * The similarity of a sentence to all of its references together, 0 to 1: a hundredth of sacrebleu's score, and 1 less that for TER.
 * Near-linear in the sentence.
 */
export function translationSimilarity(
  metric: TranslationMetric,
  text: string,
  references: readonly string[],
  { tokenize, lowercase, ter }: TranslationSettings,
): number {
  if (metric === 'sacrebleu') {
    const settings = { tokenize, lowercase, effective_order: true }
    return Math.min(bleuOf(bleuCounts(text, references, settings), settings).score / 100, 1)
  }
  if (metric !== 'ter') {
    const settings = { lowercase, word_order: metric === 'chrf' ? 0 : 2 }
    return Math.min(chrfOf(chrfCounts(text, references, settings), settings) / 100, 1)
  }
  // A text that is longer than any reference by their mean length needs more edits than they have words.
  const lengths = references.map((reference) => terTokens(reference, ter).length)
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
  if (terTokens(text, ter).length >= Math.max(...lengths) + mean) return 0
  return Math.max(0, 1 - terOf(terCounts(text, references, ter)) / 100)
}

/** Edits to the closest reference, and the mean length of the references in words. Those of sentences add up. */
export interface TerCounts {
  readonly num_edits: number
  readonly ref_length: number
}

/** What a sentence needs to become the closest of its references. */
export function terCounts(
  hypothesis: string,
  references: readonly string[],
  settings: TerSettings = {},
): TerCounts {
  const numbers = new Map<string, number>()
  const numbered = (words: readonly string[]): readonly number[] =>
    words.map((word) => {
      const number = numbers.get(word) ?? numbers.size
      numbers.set(word, number)
      return number
    })
  const given = numbered(terTokens(hypothesis, settings))
  // sacrebleu tokenizes references twice, which `normalized` shows: `.s` falls into one piece more.
  const wanted = references.map((text) => numbered(terTokens(terTokens(text, settings).join(' '), settings)))
  return {
    num_edits: Math.min(...wanted.map((reference) => translationEdits(given, reference))),
    ref_length: wanted.reduce((sum, { length }) => sum + length, 0) / wanted.length,
  }
}

/** sacrebleu's TER of summed counts: 0 for equal texts, 100 for as many edits as words, and up. */
export const terOf = ({ num_edits, ref_length }: TerCounts): number =>
  ref_length > 0 ? (100 * num_edits) / ref_length : num_edits > 0 ? 100 : 0
