import type { CallRow } from '../functions/function-host.ts'
import type { Expression } from '../plan/expression.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import type { Failure } from '../sample/failure.ts'
import type { OffReason, Outcome, Term } from '../sample/outcome.ts'
import type { Sample } from '../sample/sample.ts'
import { lookupIn } from './combine.ts'
import type { StepContext } from './context.ts'
import { groupTerm } from './group-step.ts'
import { judgeTerm } from './judge.ts'
import { concluded } from './outcome.ts'
import { failed, off, rowOf, ruleTerm, type Terms, termNamed } from './step.ts'
import { type TracedStep, traceStep } from './traced-step.ts'

/** One sample on its way through its plan's steps: each begins as soon as the steps that it needs are done. */
export class Walk {
  readonly #context: StepContext
  readonly #sample: Sample
  readonly #index: number
  readonly #done: (index: number, outcome: Outcome) => void
  readonly #terms: (Term | undefined)[]
  readonly #begun: boolean[]
  #left: number
  #isOver = false

  /** `done` is called once, whatever happens, with the sample's `index` in its request. */
  constructor(
    context: StepContext,
    sample: Sample,
    index: number,
    done: (index: number, outcome: Outcome) => void,
  ) {
    const { length } = context.job.plan.steps
    this.#context = context
    this.#sample = sample
    this.#index = index
    this.#done = done
    // An array that grows makes room for seventeen.
    this.#terms = new Array<Term | undefined>(length)
    this.#begun = new Array<boolean>(length)
    this.#left = length
  }

  /** Begins every step that waits for nothing more. */
  go(): void {
    const { steps } = this.#context.job.plan
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at] as PlanStep
      if (this.#begun[at] || !this.#isReady(step)) continue
      this.#begun[at] = true
      this.#begin(step, at)
    }
  }

  #isReady({ needs }: PlanStep): boolean {
    return needs.length === 0 || needs.every((name) => termNamed(this.#terms, name))
  }

  #begin(step: PlanStep, at: number): void {
    const why = offReason(this.#context, step, this.#sample, this.#terms)
    const traced = why ? null : traceStep(this.#context, step, this.#sample)
    const context = traced?.context ?? this.#context
    const row = rowOf(step, this.#sample, this.#terms)
    // Most samples need nothing else, so a rule costs them no promise.
    if (step.kind === 'rule' && !why) {
      context.functions.run({ op: 'score', function: step.function, rows: [row] }, (result) =>
        this.#finish(at, ruleTerm(context, step, result), traced),
      )
      return
    }
    stepTerm(context, step, this.#sample, row, why).then(
      (term) => this.#finish(at, term, traced),
      (error: unknown) => this.#finish(at, failed(context, step, unforeseen(error)), traced),
    )
  }

  /** The end of patience: what is finished counts, the rest has failed with this. */
  end(failure: Failure): void {
    if (this.#isOver) return
    this.#conclude((step) => failed(this.#context, step, failure))
  }

  #finish(at: number, term: Term, traced: TracedStep | null): void {
    traced?.end(term)
    if (this.#isOver) return
    this.#terms[at] = term
    if (--this.#left > 0) this.go()
    else this.#conclude((step) => failed(this.#context, step, unforeseen(null)))
  }

  #conclude(missing: (step: PlanStep) => Term): void {
    this.#isOver = true
    const { job } = this.#context
    const { steps } = job.plan
    for (let at = 0; at < steps.length; at++) this.#terms[at] ??= missing(steps[at] as PlanStep)
    this.#done(this.#index, concluded(job, this.#sample, this.#terms as Term[]))
  }
}

function stepTerm(
  context: StepContext,
  step: PlanStep,
  sample: Sample,
  row: CallRow,
  why: OffReason | null,
): Promise<Term> {
  if (step.kind === 'group-rule' || step.kind === 'pair' || step.kind === 'list')
    return groupTerm(context, step, sample, why ? null : row).then(
      (term) => term ?? off(context, step, why ?? 'skipped'),
    )
  return why ? Promise.resolve(off(context, step, why)) : judgeTerm(context, step, row)
}

/** Why a step is off for this sample; null: it runs. */
function offReason({ job }: StepContext, step: PlanStep, sample: Sample, terms: Terms): OffReason | null {
  if (step.dataSource && !step.dataSource.matches(sample.dataSource)) return 'data_source'
  if (step.gated && job.plan.gate && !holds(job.plan.gate, job.plan, terms)) return 'gate'
  if (step.when && !holds(step.when, job.plan, terms)) return 'when'
  return null
}

/** A condition on a term without a score does not hold. */
function holds(condition: Expression<boolean>, plan: Plan, terms: Terms): boolean {
  const result = condition.evaluate(lookupIn(terms, plan.arithmetic))
  return 'value' in result && result.value
}

/** A mistake of the gateway itself still leaves the sample with a failure, never with a number. */
const unforeseen = (error: unknown): Failure => ({
  kind: 'function_error',
  retryable: false,
  detail: `the gateway failed in this step: ${error instanceof Error ? error.name : 'it has no term'}`,
})
