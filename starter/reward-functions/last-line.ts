import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** 1 if the last line is the ground truth, 0.1 for another last line, 0 for none. */
export default defineRule({
  truth: z.string().min(1),
  range: [0, 1],
  score({ sample, truth }) {
    const line = sample.response.trim().split('\n').at(-1) ?? ''
    if (line === '') return 0
    return { value: line.toLowerCase() === truth.toLowerCase() ? 1 : 0.1, details: { extracted: line } }
  },
})
