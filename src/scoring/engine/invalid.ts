import type { Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import { mean } from '../../core/statistics/summary.ts'
import type { Plan } from '../plan/plan.ts'
import type { RequestGroups } from './groups/group.ts'

/** Supplies `on_invalid`: the number for a trainer that knows no 'invalid'. */
export interface Substitutes {
  /** The final outcome where it is known already; null where it hangs on siblings that are not done. */
  now(row: Sample | Unreadable, outcome: Outcome): Outcome | null
  /** Makes `later` ready, once every row has been through `now`; null: it is. */
  ready(): Promise<void> | null
  /** The final outcome of a row that `now` left open, once every row has been through `now`; null for the others. */
  later(row: Sample | Unreadable | undefined, outcome: Outcome): Outcome | null
}

/**
 * The mean of the valid siblings leaves the group's baseline where it was, so that the sample's own advantage is zero;
 * without a valid sibling the named fallback holds.
 */
export function substitutes(plan: Plan, groups: RequestGroups): Substitutes {
  const { onInvalid } = plan
  if (onInvalid.kind !== 'group_mean') {
    const substitute = onInvalid.kind === 'number' ? onInvalid.value : null
    return {
      now: (_row, outcome) => (outcome.valid ? outcome : { ...outcome, substitute }),
      ready: () => null,
      later: () => null,
    }
  }
  const rewards = new Map<unknown, number>()
  const means = new Map<readonly Sample[], number | null>()
  const meanOf = (members: readonly Sample[]): number | null => {
    const known = means.get(members)
    if (known !== undefined) return known
    const valid = members.flatMap((member) => rewards.get(member) ?? [])
    const found = valid.length > 0 ? mean(valid) : onInvalid.fallback
    means.set(members, found)
    return found
  }
  let isAsked = false
  return {
    now(row, outcome) {
      if (!outcome.valid) {
        isAsked = true
        return null
      }
      rewards.set(row, outcome.reward)
      return outcome
    },
    ready: () => (isAsked ? groups.find() : null),
    later(row, outcome) {
      if (outcome.valid || !row) return null
      return { ...outcome, substitute: 'failure' in row ? onInvalid.fallback : meanOf(groups.membersOf(row)) }
    },
  }
}
