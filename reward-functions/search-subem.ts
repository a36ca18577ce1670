import { defineRule } from '../src/contract/index.ts'
import { answerAt } from '../src/grading/answer-place.ts'
import { promptText } from '../src/grading/prompt-text.ts'
import { commitsToTarget, publishedTag, searchNormal, searchTargets } from '../src/grading/search-answer.ts'
import searchEm from './search-em.ts'

/**
 * verl's search QA. Pays `score` if the last `<answer>` commits to a target, `format_score` for another answer, and 0
 * without one. Besides the target the answer may hold its other names, words of the question, and words that add
 * nothing (titles, units, "it is"), or be a sentence that ends in the target, or in a clause that tells more of it (`by
 * Rembrandt, who lived in Amsterdam`). `published` pays every answer that contains a target after SQuAD's normalisation.
 *
 * Invalid: a ground truth without targets.
 */
export default defineRule({
  options: searchEm.options,
  truth: (options) => searchEm.truth(options),
  range: (options) => searchEm.range(options),
  parts: ['correctness'],
  score({ sample: { prompt, response }, truth, options: { mode, format_score, score } }) {
    const strict = mode === 'strict'
    const stated = strict ? answerAt(response, 'tag', promptText(prompt)) : publishedTag(response)
    if ('reason' in stated) return { value: 0, parts: { correctness: 0 }, details: { reason: stated.reason } }
    const extracted = stated.text
    const wanted = searchTargets(truth)
    const answer = strict ? '' : searchNormal(extracted)
    const right = strict
      ? commitsToTarget(extracted, wanted, promptText(prompt))
      : wanted.some((target) => answer.includes(searchNormal(target)))
    const details = right ? { extracted } : { extracted, reason: 'unequal' }
    return { value: right ? score : format_score, parts: { correctness: Number(right) }, details }
  },
})
