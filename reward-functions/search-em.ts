import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { answerAt } from '../src/grading/answer-place.ts'
import { promptText } from '../src/grading/prompt-text.ts'
import { isSearchTarget, publishedTag, searchNormal, searchTargets } from '../src/grading/search-answer.ts'

const targets = z.object({ target: z.union([z.string(), z.array(z.string()).min(1)]) })

/** More tags of one kind than this suggest a spray of guesses and cost three quarters of the score. */
const manyTags = 10

/**
 * verl's search QA. Pays `score` if the last `<answer>` equals a target, apart from case, articles and punctuation
 * that is no part of a number; `format_score` for another answer, and 0 without one. `published` uses SQuAD's
 * normalisation, for which `-5` is 5 and `3.5` is 35. A response with more than ten `<answer>` tags pays a
 * quarter of `score`.
 *
 * Invalid: a ground truth without targets.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    /** The score of a wrong answer. */
    format_score: z.number().default(0),
    /** The score of a right answer. */
    score: z.number().default(1),
  }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? targets : z.unknown()),
  range: ({ format_score, score }) => [Math.min(0, format_score, score), Math.max(0, format_score, score)],
  parts: ['correctness'],
  score({ sample: { prompt, response }, truth, options: { mode, format_score, score } }) {
    const strict = mode === 'strict'
    const stated = strict ? answerAt(response, 'tag', promptText(prompt)) : publishedTag(response)
    if ('reason' in stated) return { value: 0, parts: { correctness: 0 }, details: { reason: stated.reason } }
    const extracted = stated.text
    const wanted = searchTargets(truth)
    const answer = strict ? '' : searchNormal(extracted)
    const right = strict
      ? isSearchTarget(extracted, wanted)
      : wanted.some((target) => searchNormal(target) === answer)
    const parts = { correctness: Number(right) }
    if (!right) return { value: format_score, parts, details: { extracted, reason: 'unequal' } }
    const sprayed = [/<answer>/g, /<\/answer>/g].some((tag) => (response.match(tag)?.length ?? 0) > manyTags)
    if (!sprayed) return { value: score, parts, details: { extracted } }
    return { value: score / 4, parts, details: { extracted, reason: 'many_tags' } }
  },
})
