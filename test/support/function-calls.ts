import type { Json, Sample } from '../../src/core/sample/sample.ts'
import type {
  BoundFunction,
  Call,
  CallResult,
  FunctionEvents,
  FunctionFailed,
  FunctionHost,
} from '../../src/scoring/functions/function-host.ts'
import { openFunctions } from '../../src/scoring/functions/open-functions.ts'

/** A sample with a response; the rest is empty. */
export function sampleOf(response: string, groundTruth: Json = null): Sample {
  return { id: 's', prompt: 'p', response, groundTruth, rmPrompts: {}, extraInfo: {} }
}

/** Scores one response. */
export function score(
  host: FunctionHost,
  fn: BoundFunction,
  response: string,
  truth: Json = null,
): Promise<CallResult> {
  return call(host, fn, 'score', [response], truth)
}

/** Runs one call over rows of these responses. */
export function call(
  host: FunctionHost,
  fn: BoundFunction,
  op: Call['op'],
  responses: readonly string[],
  truth: Json = null,
  answer?: Call['answer'],
): Promise<CallResult> {
  const rows = responses.map((response) => ({ sample: sampleOf(response, truth), earlier: {} }))
  return host.call({ op, function: fn, rows, ...(answer !== undefined && { answer }) })
}

/** The number of a call that gave one score; NaN otherwise. */
export function numberOf(result: CallResult): number {
  return result.status === 'verdicts' ? (result.verdicts[0]?.value ?? Number.NaN) : Number.NaN
}

/** `kind: detail` of a failed call; the status otherwise. */
export function failureOf(result: CallResult): string {
  return result.status === 'failed' ? `${result.failure.kind}: ${result.failure.detail}` : result.status
}

/** Keeps what functions report. */
export function noteEvents() {
  const failures: FunctionFailed[] = []
  const restarts: Reported<'restarted'>[] = []
  const calls: Reported<'called'>[] = []
  const events: FunctionEvents = {
    called: (one) => void calls.push(one),
    failed: (one) => void failures.push(one),
    restarted: (one) => void restarts.push(one),
  }
  return { events, calls, failures, restarts }
}

type Reported<E extends keyof FunctionEvents> = Parameters<NonNullable<FunctionEvents[E]>>[0]

/**
 * Opens the functions of these folders, with a short time limit. Their processes count no coverage: writing it takes longer than
 * most of them run, and tests of the gateway count it.
 */
export function openWith(
  folders: readonly string[],
  options: Partial<Parameters<typeof openFunctions>[0]> = {},
): Promise<FunctionHost> {
  delete process.env.NODE_V8_COVERAGE
  return openFunctions({ folders, sampleTimeoutMs: 1000, threads: 2, ...options })
}
