import { aggregateSteps, defineRule, responseSteps } from 'reward-gateway/contract'
import { z } from 'zod'

/** Pays the first paragraph 0, the second 1/8, and so on; 'throw' throws. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 100],
  score({ sample }) {
    if (sample.response === 'throw') throw new Error('on purpose')
    const steps = responseSteps(sample, { by: 'paragraph', scope: 'all' }).map(({ turn, end }, at) => ({
      turn,
      end,
      value: at / 8,
    }))
    return steps.length === 0
      ? 0
      : {
          value: aggregateSteps(
            steps.map(({ value }) => value),
            'sum',
          ),
          steps,
        }
  },
})
