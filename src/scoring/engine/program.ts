import type { Failure, Term } from '../../core/sample/sample.ts'
import type { CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { StepContext } from './context.ts'
import { testsOf } from './program-tests.ts'
import { called, failedTerm, originOf, ownerOf, ruleTerm, unforeseen } from './step.ts'

const withoutSandbox: Failure = {
  kind: 'sandbox_unreachable',
  retryable: false,
  detail:
    "programs are not run here: write 'sandboxes: {local: {}}' into gateway.yaml (docs/code-rewards.md)",
}

/** The term of a program reward: makes the program and its cases, runs them, and reads the verdict. Never rejects. */
export async function programTerm(context: StepContext, step: PlanStep, row: CallRow): Promise<Term> {
  const made = await called(context, { op: 'preprocess', function: step.function, rows: [row] })
  if (made.status !== 'execution') return ruleTerm(context, step, made)
  if (step.sandbox === null) return failedTerm(context, step, withoutSandbox)
  const { clock, job, end, sandboxes, times, events } = context
  const samples = [originOf(row)] as const
  let isFollowed = false
  const follow = (): void => {
    isFollowed = true
  }
  events?.running?.({ step: step.name, samples, follow })
  const started = clock.now()
  job.waitTime?.begin(started)
  const wait = times.wait(ownerOf(context, [row]), 'sandbox', step.sandbox, started)
  const outcome = await sandboxes
    .run(step.sandbox, {
      execution: made.execution,
      deadline: Math.min(job.deadline, started + step.timeoutMs),
      signal: end.signal,
      excerpts: isFollowed,
    })
    .catch((error: unknown) => ({ failure: unforeseen(error) }))
    .finally(() => {
      wait.to = clock.now()
      job.waitTime?.end(wait.to)
    })
  if ('failure' in outcome) return failedTerm(context, step, outcome.failure)
  if (isFollowed) events?.tested?.({ step: step.name, samples, ...testsOf(made.execution, outcome) })
  const read = { op: 'postprocess', function: step.function, rows: [row], answer: outcome.result } as const
  return ruleTerm(context, step, await called(context, read))
}
