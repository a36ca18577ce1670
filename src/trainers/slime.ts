import { z } from 'zod'
import { type Wire, wireRoute } from './format.ts'
import { readLabel } from './ground-truth.ts'
import { metricsOf } from './native-result.ts'
import { messageOf, nativeText } from './native-sample.ts'
import { runQuery } from './request-schema.ts'
import { wireSample } from './row-sample.ts'

const body = z.object({
  prompt: nativeText.nullish(),
  response: z.string(),
  label: z.unknown().optional().describe('The ground truth, or a JSON object that carries more.'),
})

/** slime and its fork miles: the body of the reply is the reward, or an object for `--reward-key`. */
export const slime: Wire = {
  name: 'slime',
  deadlineS: 100,
  looksUp: true,
  routes: {
    '': wireRoute({
      summary: 'slime and miles: --rm-type remote_rm --rm-url',
      body,
      query: runQuery.extend({
        shape: z.enum(['number', 'dict']).optional(),
        reward_key: z
          .string()
          .min(1)
          .max(64)
          .optional()
          .describe('The reply is an object that holds the reward here.'),
      }),
      invalid: 'number',
      read({ prompt, response, label }, { oddities, truths, maxRowValues, query }) {
        const key = query.reward_key ?? (query.shape === 'dict' ? 'score' : null)
        const row = wireSample({
          id: '0',
          prompt: typeof prompt === 'string' ? prompt : (prompt ?? []).map(messageOf),
          response,
          label: readLabel(label, maxRowValues),
          oddities,
          truths,
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
