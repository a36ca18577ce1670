import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** The share of the ground truth's letter in the response; an empty response has none of it. */
export default defineRule({
  truth: z.string().length(1),
  range: [0, 1],
  score({ sample: { response }, truth }) {
    return response === '' ? 0 : (response.split(truth).length - 1) / response.length
  },
})
