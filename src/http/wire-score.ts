import { GatewayError } from '../errors.ts'
import type { Gateway, ModelTime, Scored, ScoreJob } from '../gateway/gateway.ts'
import type { RewardShape, WireReading } from '../wire/wire.ts'
import type { HeldGroups } from './held-groups.ts'

type Plan = ReturnType<Gateway['reward']>

/** What a reply must know of its reward. */
export const shapeOf = ({ steps, formula }: Pick<Plan, 'steps' | 'formula'>): RewardShape => ({
  isSum: formula === null && steps.slice(1).every(({ op }) => op === 'add'),
})

/** What a request of a wire is scored with. */
export type WireJob = Omit<ScoreJob, 'rows' | 'reward' | 'signal'> & { readonly signal: AbortSignal }

/**
 * Scores what a wire read. A reward over groups takes answers whose wire names their places: they wait for each other,
 * at most half of their time. `modelTime` is called where the request is scored alone. Throws RG_REQUEST_INVALID where such a reward is asked for with an answer apart.
 */
export function scoreReading(
  gateway: Gateway,
  held: HeldGroups,
  plan: Plan,
  { rows, group }: WireReading,
  job: WireJob,
  modelTime: () => ModelTime,
): Promise<Scored> {
  const over = plan.steps.find(({ kind }) => kind === 'group-rule' || kind === 'pair' || kind === 'list')
  const [row] = rows
  if (!over || !row) return gateway.score({ ...job, modelTime: modelTime(), reward: plan.name, rows })
  if (!group) {
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `the step '${over.name}' of '${plan.name}' compares the answers of a group, and this format sends them apart; send whole groups to /v1/score`,
    )
  }
  const { id, index, size } = group
  const limits = [job.deadlineMs, plan.deadlineMs, gateway.settings.limits.deadline_s * 1000]
  const limit = Math.min(...limits.filter((ms) => ms != null))
  const waitMs = Math.min(plan.group.waitMs, limit / 2)
  return held.score({
    key: [plan.name, plan.version, job.run ?? '', size, id].join('\n'),
    row,
    index,
    size,
    waitMs,
    signal: job.signal,
    run: (together, signal) =>
      gateway.score({ ...job, reward: plan.name, rows: together, signal, deadlineMs: limit - waitMs }),
  })
}
