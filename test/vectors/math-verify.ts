import mathVerify from '../../reward-functions/math-verify.ts'
import { reward } from './reward.ts'
import type { Adapter } from './vector.ts'

export const mathVerifyVectors: Adapter = {
  answers: {
    cases: ({ gold, pred, precision = 6, strict = true }) =>
      reward(mathVerify, { solution_str: pred, ground_truth: gold }, { precision, strict } as never) === 1,
  },
}
