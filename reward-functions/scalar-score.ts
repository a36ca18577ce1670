import { z } from 'zod'
import {
  type ChatPrompt,
  chat,
  conversation,
  defineModelReward,
  finalAnswer,
  judgeOptions,
  type Prompt,
} from '../src/contract/index.ts'

/**
 * Pays the number that a scalar (Bradley-Terry) reward model gives the conversation, within `range`. The model is shown
 * the answer after the thinking. Critiques of the steps named in `after` follow it.
 *
 * Invalid: a row without a question or with calls of tools in its prompt, and a number outside of `range`.
 */
export default defineModelReward({
  ask: 'classify',
  truth: z.unknown(),
  options: z.strictObject({
    /** The range of the model's answers. A number outside of it is a failure. */
    range: z.tuple([z.number(), z.number()]).default([-100, 100]),
    /** `full_response`: with the thinking, for models that were trained on it. */
    shows: z.enum(['response', 'full_response']).default('response'),
    thinking: judgeOptions.thinking,
    /**
     * `fail`: a prompt with calls of tools is invalid, because the model would not see them. `hermes`: they are written as
     * the chat templates of Qwen and Hermes write them, for models that were trained on it.
     */
    tool_calls: z.enum(['fail', 'hermes']).default('fail'),
  }),
  thinking: ({ shows, thinking }) => (shows === 'response' ? thinking : undefined),
  range: ({ range: [low, high] }) => [low, high],
  rm_preprocess({ sample, earlier, options: { shows, thinking, tool_calls: toolCalls } }): ChatPrompt {
    const { text, flags } = finalAnswer(sample, thinking)
    const isWhole = shows === 'full_response'
    const critiques = Object.values(earlier).flatMap(({ texts }) => texts)
    // Bare turns: the model was trained on nothing else, and it would score a fence as part of the text.
    const answer: Prompt = {
      kind: 'prompt',
      literals: ['', ...critiques.map(() => '\n\n'), ''],
      values: [isWhole ? sample.response : text, ...critiques],
      ...(!isWhole && flags.length > 0 && { flags }),
    }
    return chat(...conversation(sample, { toolCalls }), { role: 'assistant', content: answer })
  },
  rm_postprocess: (score) => score,
})
