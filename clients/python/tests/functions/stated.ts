import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** The number that the response is; 'throw' throws, 'slow' takes 0.3 s and is 0.5. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  parts: ['length'],
  score({ sample }) {
    if (sample.response === 'throw') throw new Error('on purpose')
    if (sample.response === 'slow') {
      const end = performance.now() + 300
      while (performance.now() < end);
      return { value: 0.5, parts: { length: 4 } }
    }
    return { value: Number(sample.response), parts: { length: sample.response.length } }
  },
})
