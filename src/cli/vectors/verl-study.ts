import countdown from '../../../reward-functions/countdown.ts'
import gsm8k from '../../../reward-functions/gsm8k.ts'
import { evaluatePython, lastHashNumber, lastNumeralText, trimSpace } from '../../extract/index.ts'
import { reward } from './reward.ts'
import type { Adapter } from './vector.ts'

/** The study's own data preparation: the text after the last `####`. */
const groundTruth = (text: string): string =>
  text.includes('####') ? trimSpace(text.split('####').at(-1) ?? '') : ''

export const verlStudy: Adapter = {
  answers: {
    countdown: ({ input }, mode) => reward(countdown, input, { mode }),
    evaluate_expression: ({ input }) => evaluatePython(String(input.expr)),
    gsm8k: ({ input }, mode) => reward(gsm8k, input, { mode }, { dataSource: String(input.data_source) }),
    gsm8k_extract({ input }) {
      if (input.method === 'strict') return lastHashNumber(String(input.solution_str))
      if (input.method === 'flexible') return lastNumeralText(String(input.solution_str))
      throw new RangeError(`no method ${input.method}`)
    },
    extract_ground_truth: ({ input }) => groundTruth(String(input.text)),
    eval_score({ input }) {
      const answer = lastHashNumber(String(input.generated_text))
      return Number(answer !== null && answer === groundTruth(String(input.ground_truth)))
    },
  },
}
