import { AskError } from '../api/ask.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { AllAttemptsFailed } from './dispatch.ts'

const retryable: ReadonlySet<string> = new Set([
  'judge_unreachable',
  'judge_timeout',
  'overloaded',
  'deadline',
  'cancelled',
])

/** A question's failure from what its calls failed with. Anything but a UpstreamError is a mistake here, and thrown on. */
export function askError(error: unknown): AskError {
  const fault = error instanceof AllAttemptsFailed ? error.fault : error
  if (!(fault instanceof UpstreamError)) throw error
  const failure = { kind: fault.kind, retryable: retryable.has(fault.kind), detail: fault.message }
  const attempts = error instanceof AllAttemptsFailed ? error.attempts : []
  return new AskError(attempts.length > 0 ? { ...failure, attempts } : failure)
}
