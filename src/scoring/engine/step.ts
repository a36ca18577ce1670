import type { Failure, OffReason, Sample, Score, Term } from '../../core/sample/sample.ts'
import type { MaybePromise } from '../../core/slices.ts'
import type { Call, CallResult, CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { StepContext } from './context.ts'

/** In step order; undefined where a step is not finished. */
export type Terms = readonly (Term | undefined)[]

/** Undefined if there is no such step or it is not finished. A linear search: a plan has few steps. */
export const termNamed = (terms: Terms, name: string): Term | undefined =>
  terms.find((term) => term?.name === name)

/** The result of a call; no promise if the function ran synchronously, as the package's small ones do. */
export function called(context: StepContext, call: Call): MaybePromise<CallResult> {
  const { functions, times, clock } = context
  let result: CallResult | undefined
  let resolve: ((result: CallResult) => void) | undefined
  let rule = 0
  functions.run(call, (done) => {
    if (resolve) {
      times.ruleEnded(rule, clock.now())
      resolve(done)
    } else result = done
  })
  if (result) return result
  rule = times.ruleBegan(ownerOf(context, call.rows), clock.now())
  return new Promise((later) => {
    resolve = later
  })
}

/** Whose waits a step notes: a run's over a group, or the row's. */
export const ownerOf = ({ owner }: Pick<StepContext, 'owner'>, rows: readonly CallRow[]): number =>
  owner ?? rows[0]?.place ?? 0

/** The term for a rule function's result. */
export function ruleTerm(context: StepContext, step: PlanStep, result: CallResult): Term {
  if (result.status === 'failed') return failedTerm(context, step, result.failure)
  const score = result.status === 'verdicts' ? result.verdicts[0] : null
  return score ? scoredTerm(context, step, score) : skippedTerm(context, step, 'not_applicable')
}

/**
 * A row as a reward function sees it: the sample with this step's judge prompt, and the steps named in `after`. `trainingStep`: the
 * request's, for services.
 */
export function rowOf(
  step: PlanStep,
  given: Sample,
  terms: Terms,
  place = 0,
  trainingStep?: number,
): CallRow {
  const rmPrompt = Object.hasOwn(given.rmPrompts, step.name) ? given.rmPrompts[step.name] : undefined
  const isTold = step.ask === 'service' && trainingStep !== undefined
  const prompted = rmPrompt === undefined ? given : changed(given, { rmPrompt })
  const sample = isTold ? changed(prompted, { trainingStep }) : prompted
  if (step.after.length === 0) return { sample, earlier: nothing, place }
  const earlier = step.after.map((name) => {
    const term = termNamed(terms, name)
    return [name, { score: term?.status === 'scored' ? term.score : null, texts: textsOf(term) }] as const
  })
  return { sample, earlier: Object.fromEntries(earlier), place }
}

const nothing: CallRow['earlier'] = Object.freeze({})

const origins = new WeakMap<Sample, Sample>()

function changed(given: Sample, change: Pick<Sample, 'rmPrompt' | 'trainingStep'>): Sample {
  const sample = { ...given, ...change }
  origins.set(sample, origins.get(given) ?? given)
  return sample
}

/** The request's own object for a row's sample. */
export const originOf = ({ sample }: CallRow): Sample => origins.get(sample) ?? sample

const textsOf = (term: Term | undefined): readonly string[] => (term?.status === 'text' ? term.texts : [])

/** `draws` is the number of verdicts behind the score, `spread` their population standard deviation. */
export const scoredTerm = (
  context: StepContext,
  step: PlanStep,
  score: Score,
  draws = 1,
  spread = 0,
): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'scored',
  score,
  draws,
  spread,
  contribution: null,
})

/** The term of a step that did not run for this sample. */
export const skippedTerm = (context: StepContext, step: PlanStep, why: OffReason): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'off',
  why,
})

/** A bug in the gateway itself still gives the sample a failure, never a number. */
export const unforeseen = (error: unknown): Failure => ({
  kind: 'function_error',
  retryable: false,
  detail: `internal error in this step: ${error instanceof Error ? error.name : 'no term'}`,
})

/** Whether a step's term depends on all answers of the sample's group. */
export const isOverGroup = ({ kind }: Pick<PlanStep, 'kind'>): boolean =>
  kind === 'group-rule' || kind === 'pair' || kind === 'list' || kind === 'group-questions'

/** The term of a failed step. Adds the step's name to the failure. */
export const failedTerm = (context: StepContext, step: PlanStep, failure: Failure): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'failed',
  failure: { ...failure, step: step.name },
})

/** The term of a critique: texts for later steps and no score. */
export const textTerm = (context: StepContext, step: PlanStep, texts: readonly string[]): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'text',
  texts,
})
