import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import {
  answerAt,
  answerPlaces,
  countCodePoints,
  isComparable,
  similarityMetrics,
  textSimilarity,
} from '../src/grading/index.ts'

import {
  type TranslationMetric,
  translationMetrics,
  translationSimilarity,
  unfit,
} from '../src/grading/translation/similarity.ts'
import { bleuTokenizers } from '../src/grading/translation/tokenizers.ts'

/** A longer reference would take too long to compare with a long answer. */
const maxReference = 20_000

const needData = ['spm', 'flores101', 'flores200', 'spBLEU-1K', 'ja-mecab', 'ko-mecab']

const tokenizerError = ({ input }: { readonly input?: unknown }): string =>
  needData.includes(String(input))
    ? `'${input}' needs a model's data; use char or zh`
    : `expected one of ${bleuTokenizers.join(', ')}`

/**
 * Pays the similarity of the answer to the ground truth, 0 to 1, by one of the metrics of OpenAI's
 * text_similarity grader. The closest of several ground truths counts. In scripts without spaces each
 * character is a word, and the rouge metrics also count words that rouge-score leaves out: those in other
 * scripts than Latin. `sacrebleu`, `chrf`, `chrf++` and `ter` are a hundredth of sacrebleu's scores against all ground truths
 * together (1 less that for `ter`, at least 0).
 *
 * Invalid: a ground truth with nothing to compare, of more than 20,000 characters, or for `ter` of more than 1,000 words.
 */
export default defineRule({
  options: z.strictObject({
    metric: z.enum([...similarityMetrics, ...translationMetrics]).default('rouge_l'),
    /** Where the response states its answer, after its thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** Scores 1 from this similarity on and 0 below it. If absent, the score is the similarity. */
    pass: z.number().min(0).max(1).optional(),
    /** How `sacrebleu` splits words: its own tokenizers, but for those that need model data (spm, flores, mecab). */
    tokenize: z.enum(bleuTokenizers, { error: tokenizerError }).default('13a'),
    /** Whether `sacrebleu`, `chrf` and `chrf++` ignore case. `ter` does unless `case_sensitive`. */
    lowercase: z.boolean().default(false),
    /** sacrebleu's settings of `ter`. */
    ter: z
      .strictObject({
        normalized: z.boolean().default(false),
        no_punct: z.boolean().default(false),
        asian_support: z.boolean().default(false),
        case_sensitive: z.boolean().default(false),
      })
      .prefault({}),
  }),
  truth: (options) =>
    z
      .union([z.string(), z.array(z.string()).min(1)])
      .transform((truth) => [truth].flat())
      .refine((truths) => truths.every((text) => countCodePoints(text) <= maxReference), 'is too long')
      .superRefine((truths, context) => {
        const { metric } = options
        for (const text of truths) {
          const reason = isTranslation(metric)
            ? unfit(metric, text, options)
            : isComparable(metric, text)
              ? null
              : 'has nothing to compare'
          if (reason !== null) return context.addIssue({ code: 'custom', message: reason })
        }
      }),
  range: [0, 1],
  score({ sample, truth, options }): Score {
    const { metric, place, pass } = options
    const answer = answerAt(sample.response, place)
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const similarity = isTranslation(metric)
      ? translationSimilarity(metric, answer.text, truth, options)
      : Math.max(...truth.map((reference) => textSimilarity(metric, answer.text, reference)))
    return { value: pass === undefined ? similarity : Number(similarity >= pass), details: { similarity } }
  },
})

function isTranslation(metric: string): metric is TranslationMetric {
  return (translationMetrics as readonly string[]).includes(metric)
}
