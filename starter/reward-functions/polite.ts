import { defineModelReward, prompt } from 'reward-gateway/contract'
import { z } from 'zod'

/** Whether the answer is polite: 1 or 0. Anything else is not a verdict. */
export default defineModelReward({
  ask: 'generate',
  reply: { choice: ['1', '0'] },
  truth: z.unknown(),
  range: [0, 1],
  rm_preprocess({ sample }) {
    if (sample.response.trim() === '') return 0
    return prompt`Is this answer polite? Reply with 1 (yes) or 0 (no) only.

Answer:
${sample.response}`
  },
  rm_postprocess: ({ text }) => (text === '1' ? 1 : text === '0' ? 0 : null),
})
