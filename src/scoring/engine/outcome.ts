import type { Failure, Outcome, Sample, Term } from '../../core/sample/sample.ts'
import type { Plan } from '../plan/plan.ts'
import { combine } from './combine.ts'
import type { Job } from './job.ts'

/** The outcome of a sample whose terms are all there. */
export function concluded({ plan }: Job, sample: Sample, terms: readonly Term[]): Outcome {
  const { id } = sample
  const flags = flagsOf(sample, terms)
  const result = combine(plan, terms)
  return result.valid
    ? { id, terms: result.terms, flags, valid: true, reward: result.reward }
    : { id, terms: result.terms, flags, valid: false, failure: result.failure, substitute: null }
}

/** The outcome of a row that no step ever saw: every term failed with it. */
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
