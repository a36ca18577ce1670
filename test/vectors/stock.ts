import geo3k from '../../reward-functions/geo3k.ts'
import gsm8kStock from '../../reward-functions/gsm8k-stock.ts'
import mathBoxed from '../../reward-functions/math-boxed.ts'
import mathDapo from '../../reward-functions/math-dapo.ts'
import primeMath from '../../reward-functions/prime-math.ts'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json, Rule } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'
import {
  dapoNormal,
  firstHashNumber,
  lastBox,
  lastNumeral,
  mathNormal,
  searchNormal,
} from '../../src/grading/index.ts'
import { reward } from './reward.ts'
import { type Answer, type Mode, optionsOf, type Vector } from './vector.ts'

/** The fields that are no text of the sample are the published function's options. */
const scoredBy =
  <T, O>(rule: Rule<T, O>): Answer =>
  ({ input: { solution_str, ground_truth, ...options } }, mode) =>
    reward(rule, { solution_str, ground_truth }, { mode, ...(optionsOf(options) as Record<string, Json>) })

function normalised(text: string): string {
  const normal = mathNormal(text)
  if (normal === null) throw new RangeError('cannot be normalised')
  return normal
}

/** [correct, format, extracted]; a strict result is only the first. */
function prime({ input: { model_output, ground_truth } }: Vector, mode: Mode, wholly: boolean): unknown {
  const response =
    typeof model_output === 'string' ? model_output : model_output === null ? 'None' : String(model_output)
  const score = scored(primeMath, { response, groundTruth: ground_truth as Json, options: { mode } })
  const { correctness, format } = score?.parts ?? {}
  return wholly ? [correctness === 1, format === 1, score?.details?.extracted] : correctness === 1
}

export const stockAnswers: Readonly<Record<string, Answer>> = {
  stock_gsm8k: scoredBy(gsm8kStock),
  stock_gsm8k_extract: ({ input }) =>
    (input.method === 'strict' ? firstHashNumber : lastNumeral)(String(input.solution_str)),
  stock_math: scoredBy(mathBoxed),
  stock_math_last_boxed: ({ input }) => lastBox(String(input.text)),
  stock_math_normalize: ({ input }) => normalised(String(input.text)),
  stock_dapo: ({ input: { solution_str: response, ground_truth: groundTruth, ...options } }, mode) => {
    if (typeof response !== 'string') throw new TypeError('a response is a text')
    const score = scored(mathDapo, {
      response,
      groundTruth: groundTruth as Json,
      options: { mode, ...(optionsOf(options) as Record<string, Json>) },
    })
    return {
      score: score?.value,
      acc: score?.parts?.correctness === 1,
      pred: score?.details?.extracted ?? null,
    }
  },
  stock_dapo_normalize: ({ input }) => dapoNormal(String(input.text)),
  stock_geo3k: scoredBy(geo3k),
  stock_prime_math: (vector, mode) => prime(vector, mode, 'expected' in vector),
  stock_search_em: scoredBy(searchEm),
  stock_search_subem: scoredBy(searchSubem),
  stock_search_normalize: ({ input }) => searchNormal(String(input.text)),
}
