import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** 1 for the ground truth; 'throw' throws, 'slow' is 0.5 after a second, 'never' does not end. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score({ sample: { response }, truth }) {
    if (response === 'throw') throw new Error('on purpose')
    if (response === 'never') for (;;);
    if (response === 'slow') {
      const end = performance.now() + 1000
      while (performance.now() < end);
      return 0.5
    }
    return Number(response === truth)
  },
})
