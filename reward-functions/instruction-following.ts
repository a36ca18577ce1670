import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import { follows, type Instructions, instructionsOf } from '../src/grading/instructions/following.ts'
import { shown, Unanswerable, WrongArgument } from '../src/grading/instructions/reading.ts'
import { openInstructAnswer } from '../src/grading/published-qa.ts'
import { answeredText } from '../src/grading/tags.ts'

const modes = ['strict', 'published'] as const

/**
 * Checks instructions of form: the 25 kinds of IFEval, 56 of IFBench's 58, and the 29 more of Open-Instruct. The row
 * names them in `instruction_id_list` (Open-Instruct: `instruction_id`) with `kwargs`, in its ground truth or, if that is
 * null, in `extra_info`; as an object, as JSON text or as a Python literal. Pays 1 if the answer follows all, else 0;
 * `score: share` pays the share that it follows. The part `followed` is that share, and `details.failed` names the
 * instructions that the answer does not follow.
 *
 * Invalid: an instruction or argument that is not known, a pattern that is no regular expression, and (`published`) an
 * answer for which the published check raises.
 */
export default defineRule({
  options: z.strictObject({
    /**
     * `strict`: the answer after its thinking, without invisible characters; keywords are plain text, and marks
     * (`P.S.`, sections) need text. `published`: as IFEval, IFBench or Open-Instruct score.
     */
    mode: z.enum(modes).default('strict'),
    /** `loose`: also pays if the text follows without its first or last line, or without `*`. */
    matching: z.enum(['strict', 'loose']).default('strict'),
    /** `all`: 1 if every instruction is followed. `share`: the share that is. */
    score: z.enum(['all', 'share']).default('all'),
  }),
  truth: ({ mode }) =>
    z.unknown().transform((given, context): Instructions | null => {
      if (given === null || given === undefined) return null
      const wanted = instructionsOf(given, { published: mode === 'published' })
      if (!('mistake' in wanted)) return wanted
      context.addIssue({ code: 'custom', message: wanted.mistake })
      return z.NEVER
    }),
  range: [0, 1],
  parts: ['followed'],
  score({ sample, truth, options: { mode, matching, score } }): Score {
    const reading = { published: mode === 'published' }
    const wanted = truth ?? instructionsOf(sample.extraInfo, reading)
    if ('mistake' in wanted) throw new BadSample(`extra_info ${wanted.mistake}`)
    const answer = answerOf(sample.response, wanted, reading.published)
    if (answer === null) return { value: 0, parts: { followed: 0 }, details: { reason: 'thinking_unclosed' } }
    const followed = checked(() => follows(answer, wanted.all, matching, reading))
    const share = followed.filter(Boolean).length / followed.length
    const failed = wanted.all.flatMap(({ id }, at) => (followed[at] ? [] : [id]))
    return {
      value: score === 'all' ? Number(share === 1) : share,
      parts: { followed: share },
      details: { instructions: wanted.all.length, ...(failed.length > 0 && { failed: failed.join(' ') }) },
    }
  },
})

/** What is checked; null: the thinking never ends. */
function answerOf(response: string, { isOpenInstruct }: Instructions, published: boolean): string | null {
  if (!published) {
    const answer = answeredText(response)
    return answer === null ? null : shown(answer)
  }
  return isOpenInstruct ? openInstructAnswer(response) : response
}

function checked<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof Unanswerable || error instanceof WrongArgument) throw new BadSample(error.message)
    throw error
  }
}
