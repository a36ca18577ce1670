import type { Failure, OffReason, Sample, Score, Term } from '../../core/sample/sample.ts'
import type { MaybePromise } from '../../core/slices.ts'
import type { Call, CallResult, CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { StepContext } from './context.ts'

/** In step order, with a hole where a step is not done; a plan has few steps. */
export type Terms = readonly (Term | undefined)[]

/** undefined: no such step, or it is not done. */
export const termNamed = (terms: Terms, name: string): Term | undefined =>
  terms.find((term) => term?.name === name)

/** What a call comes to: itself where the function ran at once, as the small ones of the package do. */
export function called({ functions }: StepContext, call: Call): MaybePromise<CallResult> {
  let result: CallResult | undefined
  let resolve: ((result: CallResult) => void) | undefined
  functions.run(call, (done) => {
    if (resolve) resolve(done)
    else result = done
  })
  return (
    result ??
    new Promise((later) => {
      resolve = later
    })
  )
}

/** A rule's term, of what its function said. */
export function ruleTerm(context: StepContext, step: PlanStep, result: CallResult): Term {
  if (result.status === 'failed') return failedTerm(context, step, result.failure)
  const score = result.status === 'verdicts' ? result.verdicts[0] : null
  return score ? scoredTerm(context, step, score) : skippedTerm(context, step, 'not_applicable')
}

/** A row as an author's code sees it: the sample with this step's judge prompt, and the steps named in `after`. */
export function rowOf(step: PlanStep, given: Sample, terms: Terms): CallRow {
  const rmPrompt = Object.hasOwn(given.rmPrompts, step.name) ? given.rmPrompts[step.name] : undefined
  const sample = rmPrompt === undefined ? given : withPrompt(given, rmPrompt)
  if (step.after.length === 0) return { sample, earlier: nothing }
  const earlier = step.after.map((name) => {
    const term = termNamed(terms, name)
    return [name, { score: term?.status === 'scored' ? term.score : null, texts: textsOf(term) }] as const
  })
  return { sample, earlier: Object.fromEntries(earlier) }
}

const nothing: CallRow['earlier'] = Object.freeze({})

const origins = new WeakMap<Sample, Sample>()

function withPrompt(given: Sample, rmPrompt: string): Sample {
  const sample = { ...given, rmPrompt }
  origins.set(sample, given)
  return sample
}

/** The sample of a row as the request holds it. */
export const originOf = ({ sample }: CallRow): Sample => origins.get(sample) ?? sample

const textsOf = (term: Term | undefined): readonly string[] => (term?.status === 'text' ? term.texts : [])

/** `draws` and `spread` tell how many verdicts the score was made of, and their population standard deviation. */
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

/** The term of a step that took no part. */
export const skippedTerm = (context: StepContext, step: PlanStep, why: OffReason): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'off',
  why,
})

/** The term of a step without a score; the failure gets the step's name. */
export const failedTerm = (context: StepContext, step: PlanStep, failure: Failure): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'failed',
  failure: { ...failure, step: step.name },
})

/** The term of a critique: texts for later steps, no score. */
export const textTerm = (context: StepContext, step: PlanStep, texts: readonly string[]): Term => ({
  name: step.name,
  weight: step.weight(context.job.trainingStep),
  status: 'text',
  texts,
})
