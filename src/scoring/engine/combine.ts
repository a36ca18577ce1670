import type { Failure, Term } from '../../core/sample/sample.ts'
import { arithmetics } from '../plan/arithmetic.ts'
import type { Plan } from '../plan/plan.ts'
import { decisiveFailure, lookupIn, reachOf } from './influence.ts'

/** What a sample's terms come to. `terms` are those given, with each one's contribution. */
export type Combined = { readonly terms: readonly Term[] } & (
  | { readonly valid: true; readonly reward: number }
  | { readonly valid: false; readonly failure: Failure }
)

type Combining = Pick<Plan, 'steps' | 'gate' | 'formula' | 'arithmetic'>

/**
 * The reward of one sample, or why it has none: the first failed term in step order that the reward hangs on, no term
 * that is on, or a result that is not finite. `terms`: one a step, in step order. Pure.
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
  // The terms hold a score, so the fold has begun; -0 + 0 is 0.
  const reward = (value ?? Number.NaN) + 0
  if (!Number.isFinite(reward)) return invalid(terms, 'formula_error', 'the fold of the terms is not finite')
  return { terms: isSum ? counted : terms, valid: true, reward }
}

const invalid = (terms: readonly Term[], kind: Failure['kind'], detail: string): Combined => ({
  terms,
  valid: false,
  failure: { kind, retryable: false, detail },
})
