import type { Sample, Term } from '../../core/sample/sample.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { StepContext } from './context.ts'

/** A step of one sample with a span of its own. */
export interface TracedStep {
  /** What the step does is traced below its span. */
  readonly context: StepContext
  end(term: Term): void
}

/** null where the request is not traced. */
export function traceStep(context: StepContext, step: PlanStep, sample: Sample): TracedStep | null {
  const { job } = context
  const span = job.trace?.begin(step.name, 'internal', {
    'reward_gateway.reward': job.plan.name,
    'reward_gateway.step': step.name,
    'reward_gateway.function': step.function.name,
    'reward_gateway.sample': sample.id,
  })
  if (!span) return null
  return {
    context: { ...context, job: { ...job, trace: span.trace } },
    end(term) {
      const fault = term.status === 'failed' ? term.failure.kind : null
      span.end(fault, { 'reward_gateway.status': term.status })
    },
  }
}
