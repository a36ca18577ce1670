/**
 * Finds which failed step leaves a sample without a reward. A failure counts only if some score of that step could change the
 * reward. A step of weight 0, one that the formula does not read, or one that decides nothing for this sample cannot take its
 * reward away.
 */

import type { Term } from '../../core/sample/sample.ts'
import type { Evaluated, Expression, Lookup } from '../plan/expression.ts'
import { arithmetics } from '../plan/fold.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'

/** The parts of a plan that decide which terms count. */
export type Influencing = Pick<Plan, 'steps' | 'gate' | 'formula' | 'arithmetic'>

type Failed = Extract<Term, { status: 'failed' }>

/** The first failed term, in step order, that the reward depends on; null if there is none. `terms`: one per step. */
export function decisiveFailure(plan: Influencing, terms: readonly Term[]): Failed | null {
  if (!terms.some(({ status }) => status === 'failed')) return null
  const places = new Map(plan.steps.map(({ name }, index) => [name, index]))
  const reached = new Set<number>()
  const open = plan.formula ? lookedAt(plan, terms, plan.formula) : folded(plan, terms)
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
function folded(plan: Influencing, terms: readonly Term[]): number[] {
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
function weighedOf({ steps, arithmetic }: Influencing, terms: readonly Term[]): number[] {
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
function lookedAt(plan: Influencing, terms: readonly Term[], expression: Expression): number[] {
  const seen = new Set<string>()
  evaluated(plan, terms, expression, seen)
  return plan.steps.flatMap(({ name }, index) => (seen.has(name) ? [index] : []))
}

/** The steps that decided whether this step ran and what it was shown. */
function decidedBy(plan: Influencing, terms: readonly Term[], step: PlanStep): Iterable<string> {
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
  plan: Influencing,
  terms: readonly Term[],
  expression: Expression<V>,
  seen: Set<string>,
): Evaluated<V> {
  const lookup = lookupIn(terms, plan.arithmetic)
  return expression.evaluate((step, part) => {
    seen.add(step)
    return lookup(step, part)
  })
}

/** Looks up scores for expressions, in the plan's arithmetic. Null if there is no score. */
export function lookupIn(terms: readonly (Term | undefined)[], arithmetic: Plan['arithmetic']): Lookup {
  const { rounded } = arithmetics[arithmetic]
  return (step, part) => {
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
export function reachOf({ steps, formula }: Pick<Plan, 'steps' | 'formula'>): ReadonlySet<string> {
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
