import rule from '../../reward-functions/instruction-following.ts'
import type { Json } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'
import { follows, instructionsOf } from '../../src/grading/instructions/following.ts'
import { type Adapter, raises, type Vector } from './vector.ts'

const published = { published: true }

function followed({ input }: Vector, matching: 'strict' | 'loose'): readonly boolean[] {
  const wanted = instructionsOf(
    { instruction_id_list: input.instruction_id_list, kwargs: input.kwargs },
    published,
  )
  if ('mistake' in wanted) throw new Error(wanted.mistake)
  return follows(String(input.response), wanted.all, matching, published)
}

const raised = (value: unknown): boolean => typeof value === 'object' && value !== null && 'error' in value

const all = (list: readonly boolean[]): boolean => list.every(Boolean)

/** IFEval by lm-eval. */
export const ifevalVectors: Adapter = {
  answers: {
    process_results: (vector) => {
      const [strict, loose] = [followed(vector, 'strict'), followed(vector, 'loose')]
      return {
        prompt_level_strict_acc: all(strict),
        inst_level_strict_acc: strict,
        prompt_level_loose_acc: all(loose),
        inst_level_loose_acc: loose,
      }
    },
  },
  wanted: ({ expected }) => (raised(expected) ? raises : expected),
}

/** IFBench: strict and loose may raise one by one. */
export const ifbenchVectors: Adapter = {
  answers: {
    evaluate: (vector) => {
      const of = (matching: 'strict' | 'loose'): unknown => {
        try {
          const list = followed(vector, matching)
          return { follow_all_instructions: all(list), follow_instruction_list: list }
        } catch {
          return { error: true }
        }
      }
      return { strict: of('strict'), loose: of('loose') }
    },
  },
}

/** Open-Instruct's verifier, as the rule scores. */
export const ifevalgVectors: Adapter = {
  answers: {
    ifeval_verifier: ({ input: { prediction, label } }) =>
      scored(rule, {
        response: String(prediction),
        groundTruth: label as Json,
        options: { mode: 'published', score: 'share' },
      })?.value,
  },
  wanted: ({ expected }) => (raised(expected) ? raises : expected),
}
