import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { Message } from '../core/sample/sample.ts'
import { messageList } from './chat/rollout.ts'
import { type RowAnswer, type TrainerFormat, trainerRoute } from './format.ts'
import { mergeFields, readTaskRow } from './ground-truth.ts'
import { isFilled, runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const body = z
  .looseObject({
    messages: messageList
      .refine(isFilled, 'is empty; give at least one')
      .describe(
        "The conversation. What follows the last turn of the user is scored, up to the assistant's last turn.",
      ),
    ground_truth: z.unknown().optional(),
    kwargs: z.record(z.string(), z.unknown()).nullish(),
  })
  .describe('Other fields, and the fields of kwargs, become extra_info.')

const routeOf = (summary: string, invalid: 'number' | 'marked') =>
  trainerRoute({
    summary,
    body,
    query: runQuery,
    invalid,
    read({ body, literals, groundTruths }) {
      const { messages, ground_truth, kwargs } = body
      if (messages.at(-1)?.role !== 'assistant') {
        const message = 'the last message must be the response, with the role assistant'
        throw new GatewayError('RG_REQUEST_INVALID', `messages: ${message}`, {
          problems: [{ path: 'messages', message }],
        })
      }
      const begin = messages.findLastIndex(({ role }) => askers.includes(role)) + 1
      const hasTruth = !isContext(ground_truth, messages)
      const without = hasTruth ? ['messages', 'kwargs'] : ['messages', 'kwargs', 'ground_truth']
      const { row, others }: { row: Readonly<Record<string, unknown>>; others: readonly string[] } = kwargs
        ? { row: mergeFields([body, kwargs, hasTruth ? { ground_truth } : {}], without, 1), others: [] }
        : { row: body, others: without }
      const isEmpty = Object.keys(row).every((name) => others.includes(name) || row[name] == null)
      const sample = rowSample({
        id: '0',
        prompt: messages.slice(0, begin),
        response: messages.slice(begin),
        label: isEmpty ? null : readTaskRow(row, 'body', others),
        literals,
        groundTruths,
      })
      return { rows: [sample], write: ([answer]) => answer && resultOf(answer) }
    },
  })

/** The roles of turns that no rollout adds. */
const askers: readonly string[] = ['user', 'system', 'developer']

/** Without a ground truth, the client sends the messages before the last one in its place. */
function isContext(truth: unknown, messages: readonly Message[]): boolean {
  if (!Array.isArray(truth)) return false
  const { data } = messageList.safeParse(truth)
  return data !== undefined && JSON.stringify(data) === JSON.stringify(messages.slice(0, -1))
}

function resultOf({ outcome, reward }: RowAnswer): object {
  const failure = outcome.valid ? null : outcome.failure
  const reason = failure ? `${failure.kind}: ${failure.detail}` : null
  const metrics = outcome.terms.map((term) => {
    const scored = term.status === 'scored'
    const why = scored ? 'scored' : term.status
    return [
      term.name,
      {
        score: scored ? term.score.value : 0,
        is_score_valid: scored,
        success: scored,
        reason: why,
        data: {},
      },
    ]
  })
  return {
    score: reward,
    is_score_valid: outcome.valid,
    reason: reason ?? 'scored',
    metrics: Object.fromEntries(metrics),
    step_outputs: null,
    error: reason,
  }
}

const remote = routeOf('eval-protocol: RewardFunction(mode="remote", endpoint=...)', 'number')

/**
 * eval-protocol and reward-kit. `/evaluate` answers with is_score_valid, as their own server does. Their remote
 * RewardFunction ignores that field, so at its path a sample without a number is an error, which it raises.
 */
export const evalProtocol: TrainerFormat = {
  name: 'eval-protocol',
  deadlineS: null,
  looksUp: true,
  routes: {
    '': remote,
    '/reward': remote,
    '/evaluate': routeOf("eval-protocol and reward-kit: an evaluator's /evaluate", 'marked'),
  },
}
