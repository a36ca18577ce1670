import { z } from 'zod'
import { defineRule, lastUserText, policyTexts, type Score, scope } from '../src/contract/index.ts'
import { knownLanguages, languageOf, languageShares } from '../src/grading/language.ts'

const code = z
  .string()
  .refine((text) => knownLanguages.has(text), 'is not the ISO 639-1 code of a known language')

/**
 * Pays the share of the response's letters that are in the wanted language, 0 to 1. Code, formulas and
 * addresses do not count, except for prose in another language: sentences, comments and texts in another
 * script, and blocks that hold sentences rather than code.
 *
 * Does not apply to a prompt whose language is unclear. Invalid, with `language: ground_truth`: a ground
 * truth that is not a known language code.
 */
export default defineRule({
  options: z.strictObject({
    /**
     * `prompt`: the language of the last user message. `ground_truth`: the language code in the row.
     * Otherwise one code for all rows.
     */
    language: z.union([z.enum(['prompt', 'ground_truth']), code]).default('prompt'),
    /** Scores 1 from this share on and 0 below it. If absent, the score is the share. */
    pass: z.number().gt(0).max(1).optional(),
    /** The turns that count. Calls of tools do not. */
    scope,
  }),
  truth: ({ language }): z.ZodType<unknown> => (language === 'ground_truth' ? code : z.unknown()),
  range: [0, 1],
  score({ sample, truth, options: { language, pass, scope } }): Score | null {
    const named = language === 'ground_truth' ? String(truth) : language
    const wanted = named === 'prompt' ? languageOf(lastUserText(sample)) : named
    if (wanted === null) return null
    const { shares, letters } = languageShares(policyTexts(sample, scope).join('\n\n'), wanted)
    if (letters === 0) return { value: 0, details: { wanted, reason: 'no_words' } }
    const share = shares.get(wanted) ?? 0
    const languages = Object.fromEntries([...shares].sort(([, a], [, b]) => b - a).slice(0, 5))
    return {
      value: pass === undefined ? Math.min(share, 1) : Number(share >= pass),
      details: { wanted, languages },
    }
  },
})
