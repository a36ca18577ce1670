import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { FailureKind, GroupMembership, Message } from '../core/sample/sample.ts'
import { type RewardShape, type Wire, type WireAnswer, type WireRoute, wireRoute } from './format.ts'
import { laidOver, readTaskRow } from './ground-truth.ts'
import { metricsOf } from './native-result.ts'
import { listOf, runQuery } from './request-schema.ts'
import { wireSample } from './row-sample.ts'

const part = z.looseObject({ type: z.string().optional(), text: z.string().optional() })
const content = z.union([z.string(), listOf(part), z.null()]).optional()
const item = z.looseObject({ role: z.string().optional(), content })

const verifyBody = z
  .looseObject({
    responses_create_params: z.looseObject({
      input: z.union([z.string(), listOf(item)]).default([]),
      instructions: z.string().nullish(),
    }),
    response: z.looseObject({ output: listOf(item) }),
  })
  .describe("A task's row beside the policy's Responses object; the row's other fields are extra_info.")

const groupQuery = runQuery.extend({
  group_size: z.coerce
    .number()
    .int()
    .min(2)
    .max(1024)
    .optional()
    .describe('Answers to one prompt, for rewards that compare them: each waits for the others.'),
})

const membership = z.object({
  _ng_group_id: z.union([z.string(), z.number()]).optional(),
  _ng_task_index: z.union([z.string(), z.number()]).optional(),
  _ng_rollout_index: z.int().min(0),
})

type VerifyBody = z.output<typeof verifyBody>

/** Its `/verify`, answered as `write` says. */
export const nemoGymRoutes = (
  invalid: WireRoute['invalid'],
  write: (body: VerifyBody, answer: WireAnswer, shape: RewardShape) => unknown,
): Wire['routes'] => ({
  '/verify': wireRoute({
    summary: 'NeMo Gym: /verify of a resources server',
    body: verifyBody,
    query: groupQuery,
    invalid,
    read(body, { oddities, query: { group_size: size } }) {
      const { responses_create_params: asked, response } = body
      const group = size === undefined ? undefined : groupOf(body, size)
      const sample = wireSample({
        id: '0',
        prompt: promptOf(asked),
        response: textsOf(response.output).join('\n'),
        label: readTaskRow(body, 'row', ['responses_create_params', 'response']),
        oddities,
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

/** NeMo Gym: a sample without a reward is masked, with its kind and reason; the reward is the sum of its components. */
export const nemoGym: Wire = {
  name: 'nemo-gym',
  deadlineS: null,
  fixed: { '/seed_session': {} },
  routes: nemoGymRoutes('told', (body, { outcome, reward }, shape) => {
    const echoed = laidOver([metricsOf(outcome), body], [])
    if (outcome.valid) {
      return Object.assign(echoed, {
        reward,
        reward_components: componentsOf({ outcome, reward }, shape),
        mask_sample: false,
        failure_kind: null,
        failure_reason: null,
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
      // The same row would fail again, whatever the policy answers.
      ...(kind === 'bad_sample' && { _ng_failure_terminal: true }),
    })
  }),
}

/** A row that is verified again may hold what an earlier try left; by these Gym takes a result for a failure. */
const noFailure = { _ng_failure_class: undefined, _ng_failure_terminal: undefined }

/** Weighted contributions where the reward is their sum, else the reward alone: the sum is always the reward. */
function componentsOf({ outcome, reward }: WireAnswer, { isSum }: RewardShape): Record<string, number> {
  if (!isSum) return { reward }
  return Object.fromEntries(
    outcome.terms
      .filter(({ status }) => status !== 'text')
      .map((term) => [term.name, term.status === 'scored' ? (term.contribution ?? 0) : 0]),
  )
}

/** In Gym's own vocabulary where it has a word, else under the gateway's name. */
const kinds: Readonly<Record<FailureKind, string>> = {
  judge_unreachable: 'judge_failed',
  judge_timeout: 'judge_failed',
  judge_rejected: 'judge_failed',
  judge_truncated: 'judge_failed',
  judge_unparseable: 'judge_unparseable',
  judge_out_of_range: 'judge_unparseable',
  prompt_too_long: 'reward_gateway:prompt_too_long',
  rule_error: 'verifier_error',
  rule_timeout: 'verifier_error',
  function_error: 'verifier_error',
  formula_error: 'verifier_error',
  bad_sample: 'reward_gateway:bad_sample',
  policy_failed: 'reward_gateway:policy_failed',
  group_incomplete: 'cohort_incomplete',
  deadline: 'transport_timeout',
  overloaded: 'reward_gateway:overloaded',
  cancelled: 'cancelled',
}

/** The place in its group that Gym writes into a row. Throws RG_REQUEST_INVALID where it is missing. */
function groupOf(row: object, size: number): Required<GroupMembership> {
  const read = membership.safeParse(row)
  const { _ng_group_id, _ng_task_index, _ng_rollout_index: index = size } = read.data ?? {}
  const id = _ng_group_id ?? _ng_task_index
  if (id !== undefined && index < size) return { id: String(id), index, size }
  const message = `_ng_group_id or _ng_task_index, and _ng_rollout_index from 0 to ${size - 1}, must say which answer of its group this is`
  throw new GatewayError('RG_REQUEST_INVALID', message, {
    problems: [{ path: '_ng_rollout_index', message }],
  })
}

function promptOf({ input, instructions }: VerifyBody['responses_create_params']): string | Message[] {
  if (typeof input === 'string' && !instructions) return input
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const messages = items.flatMap(({ role, content }) =>
    role === undefined ? [] : [{ role, content: joined(content) }],
  )
  return instructions ? [{ role: 'system', content: instructions }, ...messages] : messages
}

const textsOf = (output: VerifyBody['response']['output']): string[] =>
  output.filter(({ role }) => role === 'assistant').map(({ content }) => joined(content))

const joined = (given: z.output<typeof content>): string =>
  typeof given === 'string' ? given : (given ?? []).map(({ text = '' }) => text).join('')

/** axolotl's NeMo Gym plug-in: posts `/verify`, waits 30 s, reads `reward` alone and takes any error for 0. */
export const axolotl: Wire = {
  name: 'axolotl',
  deadlineS: 28,
  fixed: { '/seed_session': {} },
  routes: nemoGymRoutes('number', (_body, { reward }) => ({ reward })),
}
