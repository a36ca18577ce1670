import { z } from 'zod'
import { type RolloutStatus, rolloutStatuses, type Sample } from '../core/sample/sample.ts'
import { readRendered } from './chat/separate.ts'
import { type TrainerFormat, trainerRoute } from './format.ts'
import { plainGroundTruth, type ReadGroundTruth, readLabel } from './ground-truth.ts'
import { nativeResponse, nativeText, wholeRollout } from './native.ts'
import { metricsOf } from './native-result.ts'
import { runQuery, templateQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const body = z.object({
  prompt: nativeText.nullish(),
  response: nativeResponse.describe(
    'A text, all messages that the rollout added, or the segments of a list of samples.',
  ),
  label: z.unknown().optional().describe('The ground truth, or a JSON object with it and other fields.'),
  status: z
    .enum([...rolloutStatuses, 'pending', 'failed'])
    .nullish()
    .describe("The sample's status, if a reward function of your own sends it."),
  metadata: z.record(z.string(), z.unknown()).nullish().describe("The sample's; becomes extra_info."),
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
        template: templateQuery.shape.template.describe(
          "The policy's chat template, if texts are rendered: the prompt becomes messages, end tokens go, and what segments add becomes turns.",
        ),
      }),
      invalid: 'number',
      read({
        body: { prompt, response, label, status, metadata },
        literals,
        groundTruths,
        maxRowValues,
        query,
      }) {
        const key = query.reward_key ?? (query.shape === 'dict' ? 'score' : null)
        const row = rowSample({
          id: '0',
          ...readRendered(wholeRollout(prompt ?? '', response), query.template),
          status: statusOf(status),
          label: withMetadata(readLabel(label, maxRowValues), metadata),
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

function statusOf(sent: z.output<typeof body>['status']): RolloutStatus | undefined {
  if (sent === 'failed') return 'env_error'
  return sent === 'pending' || sent == null ? undefined : sent
}

/** The label's own extra_info takes precedence. */
function withMetadata(
  read: ReadGroundTruth,
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): ReadGroundTruth {
  if (!metadata || (read && 'problem' in read)) return read
  const { hasExtraInfo: _, ...truth } = read?.truth ?? plainGroundTruth(null)
  return { truth: { ...truth, extraInfo: { ...(metadata as Sample['extraInfo']), ...truth.extraInfo } } }
}
