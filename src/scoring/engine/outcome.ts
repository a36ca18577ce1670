import type { Failure, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import { mean } from '../../core/statistics/summary.ts'
import { arithmetics } from '../plan/fold.ts'
import type { Plan } from '../plan/plan.ts'
import type { RequestGroups } from './groups/request-groups.ts'
import { decisiveFailure, lookupIn, reachOf } from './influence.ts'
import type { Job } from './job.ts'

/** The outcome of a sample whose steps have all finished. */
export function concluded({ plan }: Job, sample: Sample, terms: readonly Term[]): Outcome {
  const { id } = sample
  const flags = flagsOf(sample, terms)
  const result = combine(plan, terms)
  return result.valid
    ? { id, terms: result.terms, flags, valid: true, reward: result.reward }
    : { id, terms: result.terms, flags, valid: false, failure: result.failure, substitute: null }
}

/** The outcome of a row that no step saw: every term has this failure. */
export function unscored(plan: Plan, id: string, failure: Failure): Outcome {
  const terms = plan.steps.map(
    (step): Term => ({ name: step.name, weight: step.weight(undefined), status: 'failed', failure }),
  )
  return { id, terms, flags: [], valid: false, failure, substitute: null }
}

function flagsOf(sample: Sample, terms: readonly Term[]): readonly string[] {
  const flags = sample.flags ? [...sample.flags] : []
  for (const term of terms) {
    if (term.status === 'scored' && term.score.flags)
      for (const flag of term.score.flags) flags.push(`${term.name}:${flag}`)
  }
  return flags.length > 1 ? [...new Set(flags)] : flags
}

/** The result of combining a sample's terms. `terms` are the given terms, with their contributions if the fold is a sum. */
export type Combined = { readonly terms: readonly Term[] } & (
  | { readonly valid: true; readonly reward: number }
  | { readonly valid: false; readonly failure: Failure }
)

type Combining = Pick<Plan, 'steps' | 'gate' | 'formula' | 'arithmetic'>

/**
 * The reward of one sample, or why it has none: the first failed term, in step order, that the reward depends on; no step that
 * scores it; or a result that is not finite. `terms`: one per step, in step order. Pure.
 */
export function combine(plan: Combining, terms: readonly Term[]): Combined {
  const broken = decisiveFailure(plan, terms)
  if (broken) return { terms, valid: false, failure: broken.failure }
  const reach = plan.formula && reachOf(plan)
  if (!terms.some((term) => term.status === 'scored' && (!reach || reach.has(term.name)))) {
    const reasons = terms.map((term) => `${term.name} (${term.status === 'off' ? term.why : term.status})`)
    return invalid(terms, 'bad_sample', `no step scores this sample: ${reasons.join(', ')}`)
  }
  return plan.formula ? calculated(plan.formula, plan.arithmetic, terms) : folded(plan, terms)
}

function calculated(
  formula: NonNullable<Plan['formula']>,
  arithmetic: Plan['arithmetic'],
  terms: readonly Term[],
): Combined {
  const result = formula.evaluate(lookupIn(terms, arithmetic))
  if ('error' in result) return invalid(terms, 'formula_error', result.error)
  return { terms, valid: true, reward: result.value + 0 }
}

function folded({ steps, arithmetic }: Combining, terms: readonly Term[]): Combined {
  const { started, combined, scoreOf } = arithmetics[arithmetic]
  let value: number | null = null
  let isSum = true
  const counted: Term[] = []
  for (const [index, term] of terms.entries()) {
    const score = scoreOf(term)
    const before: number | null = value
    let contribution = 0
    if (score !== null && before === null) {
      value = started(term.weight, score)
      contribution = value
    } else if (score !== null && before !== null) {
      const op = steps[index]?.op ?? 'add'
      value = combined[op](before, term.weight, score)
      if (op === 'mul') isSum = false
      contribution = arithmetic === 'strict' ? term.weight * score : value - before
    }
    counted.push(term.status === 'scored' ? { ...term, contribution } : term)
  }
  // At least one term has a score, so `value` is set. Adding 0 turns -0 into 0.
  const reward = (value ?? Number.NaN) + 0
  if (!Number.isFinite(reward)) return invalid(terms, 'formula_error', 'the fold of the terms is not finite')
  return { terms: isSum ? counted : terms, valid: true, reward }
}

const invalid = (terms: readonly Term[], kind: Failure['kind'], detail: string): Combined => ({
  terms,
  valid: false,
  failure: { kind, retryable: false, detail },
})

/** Implements `on_invalid`: the number for a trainer that cannot handle invalid samples. */
export interface Substitutes {
  /** The final outcome if it is known already; null if it depends on unfinished siblings. */
  now(row: Sample | Unreadable, outcome: Outcome): Outcome | null
  /** Prepares `later`. Call it once every row has been through `now`. Null: already prepared. */
  ready(): Promise<void> | null
  /**
   * The final outcome of a row for which `now` returned null; null for other rows. Call it once every row has been through `now`.
   */
  later(row: Sample | Unreadable | undefined, outcome: Outcome): Outcome | null
}

/**
 * The mean of the valid siblings leaves the group's baseline unchanged, so that the sample's own advantage is zero. Without a
 * valid sibling, the configured fallback is used.
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
