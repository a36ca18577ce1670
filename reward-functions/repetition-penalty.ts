import { z } from 'zod'
import { defineRule, policyTexts, type Score, scope } from '../src/contract/index.ts'
import { counterShare, runShare } from '../src/grading/spam.ts'
import { repeatedShare, words } from '../src/grading/words.ts'

/**
 * Open-R1's repetition penalty. Pays the share of word n-grams that occurred earlier in the rollout, times
 * `max_penalty`: from `max_penalty` to 0. If it is larger, the share of long runs of one short unit counts (`hahaha`,
 * signs, emoji), or that of units that differ only in their numbers (`wait 17 no, wait 18 no`).
 *
 * Never invalid; reads no ground truth.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** Words per n-gram. */
    ngram: z.int().min(1).max(50).default(3),
    /** The score of a response that only repeats. */
    max_penalty: z.number().negative().default(-1),
    /** The turns that count. Calls of tools do not. */
    scope,
  }),
  range: ({ max_penalty }) => [max_penalty, 0],
  score({ sample, options: { ngram, max_penalty, scope } }): Score {
    const text = policyTexts(sample, scope).join('\n')
    const all = words(text)
    const share = Math.max(repeatedShare(all, ngram), counterShare(all), runShare(text))
    return { value: share === 0 ? 0 : share * max_penalty, details: { repeated_share: share } }
  },
})
