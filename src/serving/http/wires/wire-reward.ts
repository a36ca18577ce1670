import { GatewayError } from '../../../core/errors.ts'
import type { Gateway, ScoreJob } from '../../../scoring/gateway/gateway.ts'
import type { RewardShape, WireReading } from '../../../trainers/wire.ts'

type Plan = ReturnType<Gateway['reward']>

/** What a reply must know of its reward. */
export const shapeOf = ({ steps, formula }: Pick<Plan, 'steps' | 'formula'>): RewardShape => ({
  isSum: formula === null && steps.slice(1).every(({ op }) => op === 'add'),
})

/**
 * How a reward over groups scores what a wire read: an answer whose wire names its place waits for the others. Empty for
 * other rewards. Throws RG_REQUEST_INVALID where such a reward is asked for with an answer apart.
 */
export function groupJob({ name, steps }: Plan, { group }: WireReading): Pick<ScoreJob, 'holdsGroups'> {
  const over = steps.find(({ kind }) => kind === 'group-rule' || kind === 'pair' || kind === 'list')
  if (!over) return {}
  if (group) return { holdsGroups: true }
  throw new GatewayError(
    'RG_REQUEST_INVALID',
    `the step '${over.name}' of '${name}' compares the answers of a group, and this format sends them apart; send whole groups to /v1/score, or say ?group_size=N from NeMo Gym`,
  )
}
