import { z } from 'zod'
import { mapInSlices } from '../core/slices.ts'
import { separate } from './chat/separate.ts'
import { type TrainerFormat, trainerRoute } from './format.ts'
import { badSample } from './native.ts'
import { isFilled, runQuery, templateQuery, textList } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const route = trainerRoute({
  summary: 'LLaMA-Factory PPO: reward_model_type: api',
  body: z.object({
    model: z.string().nullish(),
    messages: textList
      .refine(isFilled, 'is empty; give at least one')
      .describe('Prompt and response in one text, with special tokens.'),
  }),
  query: runQuery.extend(templateQuery.shape),
  invalid: 'number',
  rows: ['messages'],
  async read({ body: { model, messages }, groundTruths, query: { template } }) {
    const rows = await mapInSlices(messages, (text, index) => {
      const id = String(index)
      const parts = separate(text, { template, groundTruths })
      if ('problem' in parts) return badSample(id, `messages[${index}]: ${parts.problem}`)
      return rowSample({ id, ...parts, label: null, literals: [], groundTruths })
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

/** LLaMA-Factory sends a whole mini batch of decoded texts and nothing else. It neither retries nor times out. */
export const llamaFactory: TrainerFormat = {
  name: 'llama-factory',
  deadlineS: null,
  looksUp: true,
  routes: { '': route, '/v1/score/evaluation': route },
}
