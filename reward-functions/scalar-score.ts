import { z } from 'zod'
import { type ChatPrompt, chat, conversation, defineModelReward, type Prompt } from '../src/contract/index.ts'

/**
 * Pays the number that a scalar (Bradley-Terry) reward model gives the conversation, within `range`.
 * Critiques of the steps named in `after` follow the response.
 *
 * Invalid: a row without a question, and a number outside of `range`.
 */
export default defineModelReward({
  ask: 'classify',
  truth: z.unknown(),
  options: z.strictObject({
    /** The range of the model's answers. A number outside of it is a failure. */
    range: z.tuple([z.number(), z.number()]).default([-100, 100]),
  }),
  range: ({ range: [low, high] }) => [low, high],
  rm_preprocess({ sample, earlier }): ChatPrompt {
    const critiques = Object.values(earlier).flatMap(({ texts }) => texts)
    // Bare turns: the model was trained on nothing else, and it would score a fence as part of the text.
    const answer: Prompt = {
      kind: 'prompt',
      literals: ['', ...critiques.map(() => '\n\n'), ''],
      values: [sample.response, ...critiques],
    }
    return chat(...conversation(sample), { role: 'assistant', content: answer })
  },
  rm_postprocess: (score) => score,
})
