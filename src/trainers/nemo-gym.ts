import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { FailureKind, GroupMembership, Sample } from '../core/sample/sample.ts'
import { readConversation } from './chat/conversation.ts'
import { sentMessages } from './chat/rollout.ts'
import {
  type RewardShape,
  type RowAnswer,
  type TrainerFormat,
  type TrainerRoute,
  trainerRoute,
} from './format.ts'
import { mergeFields, readTaskRow } from './ground-truth.ts'
import { metricsOf, stepsMember } from './native-result.ts'
import { runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const verifyBody = z
  .looseObject({
    responses_create_params: z.looseObject({
      input: z.union([z.string(), sentMessages]).default([]),
      instructions: z.string().nullish(),
    }),
    response: z.looseObject({
      output: sentMessages,
      incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
    }),
  })
  .describe("A task's row with the policy's Responses object. The row's other fields become extra_info.")

const groupQuery = runQuery.extend({
  group_size: z.coerce
    .number()
    .int()
    .min(2)
    .max(1024)
    .optional()
    .describe(
      'The number of answers to one prompt, for rewards that compare them: each request waits for the others.',
    ),
})

const membership = z.object({
  _ng_group_id: z.union([z.string(), z.number()]).optional(),
  _ng_task_index: z.union([z.string(), z.number()]).optional(),
  _ng_rollout_index: z.int().min(0),
})

type VerifyBody = z.output<typeof verifyBody>

/** The route `/verify`, with the reply that `write` makes. */
const verifyRoutes = (
  invalid: TrainerRoute['invalid'],
  write: (body: VerifyBody, answer: RowAnswer, shape: RewardShape) => unknown,
): TrainerFormat['routes'] => ({
  '/verify': trainerRoute({
    summary: 'NeMo Gym: /verify of a resources server',
    body: verifyBody,
    query: groupQuery,
    invalid,
    read({ body, literals, query: { group_size: size } }) {
      const { responses_create_params: asked, response } = body
      const group = size === undefined ? undefined : groupOf(body, size)
      const sample = rowSample({
        id: '0',
        prompt: promptOf(asked),
        response: readConversation(response.output),
        status: response.incomplete_details?.reason === 'max_output_tokens' ? 'truncated' : undefined,
        label: readTaskRow(body, 'row', ['responses_create_params', 'response']),
        literals,
      })
      const member = group && !('failure' in sample) ? { ...sample, group } : sample
      return {
        rows: [member],
        ...(group && { group }),
        write: ([answer], shape) => answer && write(body, answer, shape),
      }
    },
  }),
})

/** NeMo Gym. A sample without a reward is masked, with a kind and a reason. The reward is the sum of its components. */
export const nemoGym: TrainerFormat = {
  name: 'nemo-gym',
  deadlineS: null,
  fixed: { '/seed_session': {} },
  facts: {
    '/reverify_mode': {
      summary: 'NeMo Gym: whether one answer may be verified again alone',
      read: ({ comparesGroups }) => (comparesGroups ? 'unknown' : 'stateless'),
    },
  },
  routes: verifyRoutes('marked', (body, { outcome, reward }, shape) => {
    const echoed = mergeFields([metricsOf(outcome), body], [])
    if (outcome.valid) {
      return Object.assign(echoed, {
        reward,
        reward_components: componentsOf({ outcome, reward }, shape),
        mask_sample: false,
        failure_kind: null,
        failure_reason: null,
        ...stepsMember(outcome),
        ...noFailure,
      })
    }
    const { kind, detail } = outcome.failure
    const { instance_config: config } = body
    return Object.assign(echoed, {
      reward: 0,
      reward_components: Object.fromEntries(
        Object.keys(componentsOf({ outcome, reward: 0 }, shape)).map((name) => [name, 0]),
      ),
      mask_sample: true,
      failure_kind: kinds[kind],
      failure_reason: `${kind}: ${detail}`,
      instance_config: { ...(typeof config === 'object' ? config : {}), mask_sample: true },
      ...noFailure,
      _ng_failure_class: kinds[kind],
      // The row is at fault, so that a new answer would fail as well.
      ...(kind === 'bad_sample' && { _ng_failure_terminal: true }),
    })
  }),
}

/** Gym takes a result with these fields for a failure. A row that is verified again may hold them from an earlier try. */
const noFailure = { _ng_failure_class: undefined, _ng_failure_terminal: undefined }

/** The weighted contributions if the reward is their sum, or the reward alone: the components always add up to it. */
function componentsOf({ outcome, reward }: RowAnswer, { isSum }: RewardShape): Record<string, number> {
  if (!isSum) return { reward }
  return Object.fromEntries(
    outcome.terms
      .filter(({ status }) => status !== 'text')
      .map((term) => [term.name, term.status === 'scored' ? (term.contribution ?? 0) : 0]),
  )
}

/** In Gym's own vocabulary where it has a word, otherwise prefixed with the gateway's name. */
const kinds: Readonly<Record<FailureKind, string>> = {
  judge_unreachable: 'judge_failed',
  judge_timeout: 'judge_failed',
  judge_rejected: 'judge_failed',
  judge_truncated: 'judge_failed',
  judge_unparseable: 'judge_unparseable',
  judge_out_of_range: 'judge_unparseable',
  sandbox_unreachable: 'reward_gateway:sandbox_unreachable',
  sandbox_timeout: 'reward_gateway:sandbox_timeout',
  prompt_too_long: 'reward_gateway:prompt_too_long',
  rule_error: 'verifier_error',
  rule_timeout: 'verifier_error',
  function_error: 'verifier_error',
  formula_error: 'verifier_error',
  bad_sample: 'reward_gateway:bad_sample',
  unseen_content: 'reward_gateway:unseen_content',
  truncated: 'reward_gateway:truncated',
  aborted: 'reward_gateway:aborted',
  tool_limit: 'reward_gateway:tool_limit',
  env_error: 'reward_gateway:env_error',
  policy_failed: 'reward_gateway:policy_failed',
  group_incomplete: 'cohort_incomplete',
  deadline: 'transport_timeout',
  overloaded: 'reward_gateway:overloaded',
  cancelled: 'cancelled',
}

/** Reads the place in its group that Gym writes into a row. Throws RG_REQUEST_INVALID if it is missing. */
function groupOf(row: object, size: number): Required<GroupMembership> {
  const read = membership.safeParse(row)
  const { _ng_group_id, _ng_task_index, _ng_rollout_index: index = size } = read.data ?? {}
  const id = _ng_group_id ?? _ng_task_index
  if (id !== undefined && index < size) return { id: String(id), index, size }
  const message = `with ?group_size, the row needs _ng_group_id or _ng_task_index, and _ng_rollout_index from 0 to ${size - 1}`
  throw new GatewayError('RG_REQUEST_INVALID', message, {
    problems: [{ path: '_ng_rollout_index', message }],
  })
}

function promptOf({ input, instructions }: VerifyBody['responses_create_params']): Sample['prompt'] {
  if (typeof input === 'string' && !instructions) return input
  const messages = readConversation(typeof input === 'string' ? [{ role: 'user', content: input }] : input)
  return instructions ? [{ role: 'system', content: instructions }, ...messages] : messages
}

/** axolotl's NeMo Gym plug-in posts `/verify`, waits 30 s, reads only `reward` and takes any error for 0. */
export const axolotl: TrainerFormat = {
  name: 'axolotl',
  deadlineS: 28,
  fixed: { '/seed_session': {} },
  routes: verifyRoutes('number', (_body, { reward }) => ({ reward })),
}
