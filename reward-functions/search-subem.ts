import { defineRule } from '../src/contract/index.ts'
import { afterThink, holdsWords, lastAnswerTag, searchNormal, searchTargets } from '../src/grading/index.ts'
import searchEm from './search-em.ts'

/** An answer may hold this many words besides the target. One that lists every candidate holds more. */
const extraWords = 3

/**
 * verl's search QA. Pays `score` if the last `<answer>` contains a target after SQuAD's normalisation,
 * `format_score` for another answer, and 0 without one.
 *
 * Invalid: a ground truth without targets.
 */
export default defineRule({
  options: searchEm.options,
  truth: (options) => searchEm.truth(options),
  range: (options) => searchEm.range(options),
  parts: ['correctness'],
  score({ sample: { response }, truth, options: { mode, format_score, score } }) {
    const strict = mode === 'strict'
    const region = strict ? afterThink(response) : response
    const extracted = region === null ? null : lastAnswerTag(region)
    if (extracted === null) return { value: 0, parts: { correctness: 0 }, details: { reason: 'no_answer' } }
    const answer = searchNormal(extracted, strict)
    const right = searchTargets(truth).some((target) => {
      const wanted = searchNormal(target, strict)
      return strict ? holdsWords(answer, wanted, extraWords) : answer.includes(wanted)
    })
    const details = right ? { extracted } : { extracted, reason: 'unequal' }
    return { value: right ? score : format_score, parts: { correctness: Number(right) }, details }
  },
})
