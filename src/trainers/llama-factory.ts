import { z } from 'zod'
import { mapInSlices } from '../core/slices.ts'
import { separate } from './chat/separate.ts'
import { type Wire, wireRoute } from './format.ts'
import { badSample } from './native-sample.ts'
import { isFilled, runQuery, templateQuery, textList } from './request-schema.ts'
import { wireSample } from './row-sample.ts'

const route = wireRoute({
  summary: 'LLaMA-Factory PPO: reward_model_type: api',
  body: z.object({
    model: z.string().nullish(),
    messages: textList
      .refine(isFilled, 'holds nothing')
      .describe('Prompt and response in one text, with special tokens.'),
  }),
  query: runQuery.extend(templateQuery.shape),
  invalid: 'number',
  rows: ['messages'],
  async read({ model, messages }, { truths, query: { template } }) {
    const rows = await mapInSlices(messages, (text, index) => {
      const id = String(index)
      const parts = separate(text, { template, truths })
      if ('problem' in parts) return badSample(id, `messages[${index}]: ${parts.problem}`)
      return wireSample({ id, ...parts, label: null, oddities: [], truths })
    })
    return {
      rows,
      write: (answers) => ({
        object: 'score.evaluation',
        model: model ?? 'model',
        scores: answers.map(({ reward }) => reward),
      }),
    }
  },
})

/** LLaMA-Factory sends a whole mini batch of decoded texts and nothing else; it neither retries nor gives up. */
export const llamaFactory: Wire = {
  name: 'llama-factory',
  deadlineS: null,
  looksUp: true,
  routes: { '': route, '/v1/score/evaluation': route },
}
