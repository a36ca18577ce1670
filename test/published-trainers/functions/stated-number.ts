import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** The number that the response begins with, so that no reward can stand for another one's. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score: ({ sample: { response } }) => Number.parseFloat(response),
})
