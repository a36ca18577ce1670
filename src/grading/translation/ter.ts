import { translationEdits } from './edits.ts'
import { type TerSettings, terTokens } from './tokenizers.ts'

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
