import { z } from 'zod'
import { type ChatPrompt, chat, conversation, defineModelReward, type Prompt } from '../src/contract/index.ts'

/** The number of a scalar (Bradley-Terry) reward model for the conversation; a critique in `after` follows the response. */
export default defineModelReward({
  ask: 'classify',
  truth: z.unknown(),
  options: z.strictObject({
    /** What the model can answer; a number outside is a failure. */
    range: z.tuple([z.number(), z.number()]).default([-100, 100]),
  }),
  range: ({ range: [low, high] }) => [low, high],
  rm_preprocess({ sample, earlier }): ChatPrompt {
    const critiques = Object.values(earlier).flatMap(({ texts }) => texts)
    // Bare turns: the model was trained on nothing else, and a fence would be part of what it scores.
    const answer: Prompt = {
      kind: 'prompt',
      literals: ['', ...critiques.map(() => '\n\n'), ''],
      values: [sample.response, ...critiques],
    }
    return chat(...conversation(sample), { role: 'assistant', content: answer })
  },
  rm_postprocess: (score) => score,
})
