import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** 1 where prompt, ground truth and extra_info.level are as the test sends them; 'throw' throws. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score({ sample, truth }) {
    if (sample.response === 'throw') throw new Error('on purpose')
    const asked = typeof sample.prompt === 'string' ? sample.prompt : sample.prompt.at(-1)?.content
    const level = sample.extraInfo.level
    return { value: Number(asked === 'ask' && truth === '7' && level === 3), details: { asked: asked ?? '' } }
  },
})
