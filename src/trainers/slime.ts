import { z } from 'zod'
import { type TrainerFormat, trainerRoute } from './format.ts'
import { readLabel } from './ground-truth.ts'
import { nativeText } from './native.ts'
import { metricsOf } from './native-result.ts'
import { runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const body = z.object({
  prompt: nativeText.nullish(),
  response: z.string(),
  label: z.unknown().optional().describe('The ground truth, or a JSON object with it and other fields.'),
})

/** slime and its fork miles: the reply is the reward itself, or an object with it for `--reward-key`. */
export const slime: TrainerFormat = {
  name: 'slime',
  deadlineS: 100,
  looksUp: true,
  routes: {
    '': trainerRoute({
      summary: 'slime and miles: --rm-type remote_rm --rm-url',
      body,
      query: runQuery.extend({
        shape: z.enum(['number', 'dict']).optional(),
        reward_key: z
          .string()
          .min(1)
          .max(64)
          .optional()
          .describe('The reply is an object with the reward under this key.'),
      }),
      invalid: 'number',
      read({ body: { prompt, response, label }, literals, groundTruths, maxRowValues, query }) {
        const key = query.reward_key ?? (query.shape === 'dict' ? 'score' : null)
        const row = rowSample({
          id: '0',
          prompt: prompt ?? '',
          response,
          label: readLabel(label, maxRowValues),
          literals,
          groundTruths,
        })
        return {
          rows: [row],
          write([answer]) {
            if (!answer || key === null) return answer?.reward
            const { outcome, reward } = answer
            const entries = { ...metricsOf(outcome), invalid: outcome.valid ? 0 : 1 }
            return Object.fromEntries([...Object.entries(entries), [key, reward]])
          },
        }
      },
    }),
  },
}
