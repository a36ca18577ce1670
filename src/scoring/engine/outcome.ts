/**
 * The outcome of a sample: its terms folded into a reward, or the failure that left it without one. A failed step takes the
 * reward away only if some score of that step could change the reward. A step of weight 0, one that the formula does not read,
 * or one that decides nothing for this sample cannot.
 */
import type { Failure, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import { mean } from '../../core/statistics/summary.ts'
import type { Evaluated, Expression, Lookup } from '../plan/expression.ts'
import { arithmetics } from '../plan/fold.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import type { RequestGroups } from './groups/request-groups.ts'
import type { EngineJob } from './job.ts'

/** The outcome of a sample whose steps have all finished. */
export function outcomeOf({ plan }: EngineJob, sample: Sample, terms: readonly Term[]): Outcome {
  const { id } = sample
  const flags = flagsOf(sample, terms)
  const result = combine(plan, terms, sample.environment)
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

/** The outcome of a sample that is invalid because of how its rollout ended. */
export function refusedOutcome({ plan }: EngineJob, sample: Sample, failure: Failure): Outcome {
  return { ...unscored(plan, sample.id, failure), flags: flagsOf(sample, []) }
}

function flagsOf(sample: Sample, terms: readonly Term[]): readonly string[] {
  const flags = sample.flags ? [...sample.flags] : []
  if (sample.status !== undefined && sample.status !== 'completed') flags.push(sample.status)
  for (const term of terms) {
    if (term.status === 'scored' && term.score.flags)
      for (const flag of term.score.flags) flags.push(`${term.name}:${flag}`)
  }
  return flags.length > 1 ? [...new Set(flags)] : flags
}

/** The result of combining a sample's terms. `terms` are the given terms, with their contributions if the fold is a sum. */
type Combined = { readonly terms: readonly Term[] } & (
  | { readonly valid: true; readonly reward: number }
  | { readonly valid: false; readonly failure: Failure }
)

type Environment = Sample['environment']

/** The parts of a plan that decide which terms count. */
type Combining = Pick<Plan, 'steps' | 'gate' | 'formula' | 'arithmetic'>

/**
 * The reward of one sample, or why it has none: the first failed term, in step order, that the reward depends on; no step that
 * scores it; or a result that is not finite. `terms`: one per step, in step order. Pure.
 */
export function combine(plan: Combining, terms: readonly Term[], environment?: Environment): Combined {
  const broken = decisiveFailure(plan, terms, environment)
  if (broken) return { terms, valid: false, failure: broken.failure }
  const reach = plan.formula && reachOf(plan)
  const isGiven = plan.formula?.environment !== undefined
  if (!isGiven && !terms.some((term) => term.status === 'scored' && (!reach || reach.has(term.name)))) {
    const reasons = terms.map((term) => `${term.name} (${term.status === 'off' ? term.why : term.status})`)
    return invalid(terms, 'bad_sample', `no step scores this sample: ${reasons.join(', ')}`)
  }
  return plan.formula ? calculated(plan.formula, plan.arithmetic, terms, environment) : folded(plan, terms)
}

function calculated(
  formula: NonNullable<Plan['formula']>,
  arithmetic: Plan['arithmetic'],
  terms: readonly Term[],
  environment: Environment,
): Combined {
  const result = formula.evaluate(lookupIn(terms, arithmetic, environment))
  if ('error' in result) return invalid(terms, result.isOfRow ? 'bad_sample' : 'formula_error', result.error)
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
interface Substitutes {
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
export function substitutes(plan: Plan, groups: () => RequestGroups): Substitutes {
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
    ready: () => (isAsked ? groups().find() : null),
    later(row, outcome) {
      if (outcome.valid || !row) return null
      return {
        ...outcome,
        substitute: 'failure' in row ? onInvalid.fallback : meanOf(groups().membersOf(row)),
      }
    },
  }
}

type Failed = Extract<Term, { status: 'failed' }>

/** The first failed term, in step order, that the reward depends on; null if there is none. `terms`: one per step. */
function decisiveFailure(plan: Combining, terms: readonly Term[], environment: Environment): Failed | null {
  if (!terms.some(({ status }) => status === 'failed')) return null
  const places = new Map(plan.steps.map(({ name }, index) => [name, index]))
  const reached = new Set<number>()
  const open = plan.formula ? lookedAt(plan, terms, plan.formula, environment) : foldedSteps(plan, terms)
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (reached.has(index)) continue
    reached.add(index)
    if (terms[index]?.status === 'failed') continue
    for (const name of decidedBy(plan, terms, plan.steps[index] as PlanStep)) {
      const place = places.get(name)
      if (place !== undefined) open.push(place)
    }
  }
  const failed = terms.find((term, index): term is Failed => term.status === 'failed' && reached.has(index))
  return failed ?? null
}

/** True if the step adds 0 times its score. */
const addsNothing = ({ op }: Pick<PlanStep, 'op'>, weight: number, index: number): boolean =>
  weight === 0 && (op === 'add' || index === 0)

/** The steps that a fold depends on. A factor of 0 makes everything before it irrelevant: 0 times any score is 0. */
function foldedSteps(plan: Combining, terms: readonly Term[]): number[] {
  const { steps, arithmetic } = plan
  const { combined, scoreOf, started } = arithmetics[arithmetic]
  const scores = terms.map(scoreOf)
  const isNothing = (index: number): boolean => terms[index]?.weight === 0 || scores[index] === 0
  let last = steps.length - 1
  while (last > 0 && !(steps[last]?.op === 'mul' && scores[last] !== null && isNothing(last))) last -= 1
  const all = weighedOf(plan, terms).filter((index) => index >= last)
  let value: number | null = null
  const inert = new Set<number>()
  for (let index = last; index < steps.length; index++) {
    const [op, score] = [steps[index]?.op ?? 'add', scores[index] ?? null]
    if (index > last && op === 'mul' && value === 0) inert.add(index)
    else if (score !== null) {
      const weight = terms[index]?.weight ?? 0
      value = value === null ? started(weight, score) : combined[op](value, weight, score)
    }
  }
  return inert.size > 0 ? all.filter((index) => !inert.has(index)) : all
}

/** The steps that a fold without such a 0 depends on. */
function weighedOf({ steps, arithmetic }: Combining, terms: readonly Term[]): number[] {
  const { scoreOf } = arithmetics[arithmetic]
  const weighed: number[] = []
  const zeros: number[] = []
  let isBegun = false
  for (const [index, step] of steps.entries()) {
    if (step.critique) continue
    const weight = terms[index]?.weight ?? 0
    // A factor with nothing before it starts the fold.
    if (addsNothing(step, weight, isBegun ? index : 0)) zeros.push(index)
    else weighed.push(index)
    isBegun ||= terms[index]?.status === 'failed' || scoreOf(terms[index] as Term) !== null
  }
  const hasScore = (index: number): boolean => scoreOf(terms[index] as Term) !== null
  const first = weighed.find(hasScore)
  // Before the first weighted score, a term of weight 0 can start the fold. Then it decides whether there is a reward at all, and
  // before a `mul` it is what is multiplied. Once one such term has a score, the others change nothing.
  const isStart = first === undefined || (steps[first]?.op === 'mul' && terms[first]?.weight !== 0)
  if (!isStart) return weighed
  const starts = zeros.filter((index) => first === undefined || index < first)
  const start = starts.find(hasScore)
  return [...weighed, ...(start === undefined ? starts : [start])]
}

/** The steps whose scores the expression reads when it is evaluated over these terms. */
function lookedAt(
  plan: Combining,
  terms: readonly Term[],
  expression: Expression,
  environment: Environment,
): number[] {
  const seen = new Set<string>()
  evaluated(plan, terms, expression, seen, environment)
  return plan.steps.flatMap(({ name }, index) => (seen.has(name) ? [index] : []))
}

/** The steps that decided whether this step ran and what it was shown. */
function decidedBy(plan: Combining, terms: readonly Term[], step: PlanStep): Iterable<string> {
  const term = terms.find(({ name }) => name === step.name)
  if (term?.status === 'off' && term.why === 'data_source') return []
  const seen = new Set<string>()
  const isOpen = (condition: Expression<boolean> | null): boolean => {
    if (!condition) return true
    const result = evaluated(plan, terms, condition, seen)
    return 'value' in result && result.value
  }
  if (isOpen(step.gated ? plan.gate : null) && isOpen(step.when))
    for (const name of step.after) seen.add(name)
  return seen
}

function evaluated<V extends number | boolean>(
  plan: Combining,
  terms: readonly Term[],
  expression: Expression<V>,
  seen: Set<string>,
  environment?: Environment,
): Evaluated<V> {
  const lookup = lookupIn(terms, plan.arithmetic, environment)
  return expression.evaluate((step, part) => {
    seen.add(step)
    return lookup(step, part)
  })
}

/** Looks up scores and rewards of the environment for expressions, in the plan's arithmetic. Null if there is none. */
export function lookupIn(
  terms: readonly (Term | undefined)[],
  arithmetic: Plan['arithmetic'],
  environment: Environment = {},
): Lookup {
  const { rounded } = arithmetics[arithmetic]
  return (step, part) => {
    if (step === 'environment' && part !== null) {
      const given = Object.hasOwn(environment, part) ? environment[part] : undefined
      return given !== undefined && Number.isFinite(given) ? given : null
    }
    const term = terms.find((one) => one?.name === step)
    if (term?.status !== 'scored') return null
    if (part === null) return rounded(term.score.value)
    const { parts } = term.score
    return parts && Object.hasOwn(parts, part) ? rounded(parts[part] ?? 0) : null
  }
}

const reaches = new WeakMap<readonly PlanStep[], ReadonlySet<string>>()

/**
 * The steps that a formula's reward may depend on for some sample: those that it names, and those that decide whether they run or
 * what they are shown.
 */
function reachOf({ steps, formula }: Pick<Plan, 'steps' | 'formula'>): ReadonlySet<string> {
  const known = reaches.get(steps)
  if (known) return known
  const reach = withNeeds(steps, formula?.steps ?? [])
  reaches.set(steps, reach)
  return reach
}

const watchers = new WeakMap<readonly PlanStep[], { at: number | undefined; found: ReadonlySet<PlanStep> }>()

/**
 * The steps that only observe at this training step: they have weight 0 or are not in the formula, and no step that counts needs
 * them.
 */
export function watching(
  { steps, formula }: Pick<Plan, 'steps' | 'formula'>,
  trainingStep: number | undefined,
): ReadonlySet<PlanStep> {
  const known = watchers.get(steps)
  if (known && known.at === trainingStep) return known.found
  const weighed = (step: PlanStep, index: number): boolean =>
    !step.critique && !addsNothing(step, step.weight(trainingStep), index)
  const counts = formula ? reachOf({ steps, formula }) : withNeeds(steps, namesOf(steps.filter(weighed)))
  // If no step has a weight, the reward still depends on them: they decide whether there is one.
  const found = new Set(counts.size === 0 ? [] : steps.filter(({ name }) => !counts.has(name)))
  watchers.set(steps, { at: trainingStep, found })
  return found
}

const namesOf = (steps: readonly PlanStep[]): string[] => steps.map(({ name }) => name)

function withNeeds(steps: readonly PlanStep[], names: readonly string[]): ReadonlySet<string> {
  const reach = new Set<string>()
  const open = [...names]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reach.has(name)) continue
    reach.add(name)
    open.push(...(steps.find((step) => step.name === name)?.needs ?? []))
  }
  return reach
}
