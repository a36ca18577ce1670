import { bytesOf } from '../../core/sample/bytes.ts'
import type { Failure, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import { eachInSlices } from '../../core/slices.ts'
import type { Answered, RenderedInput, Sampling } from '../models/api/ask.ts'
import type { Plan } from '../plan/plan.ts'

/** One draw of a question: the answer and the verdict that was read in it, or why there is none. */
export interface DrawnEvent {
  readonly step: string
  /** As the request holds them: one, the two of a pair, or all of a list. */
  readonly samples: readonly Sample[]
  readonly model: string
  readonly draw: number
  /** SHA-256 of the question's literals, hex; '' where it was a plain text. */
  readonly template: string
  /** As the guard rendered it and the server was sent it. */
  readonly question: RenderedInput[keyof RenderedInput]
  /** The step's own, over the model's. */
  readonly sampling: Sampling | null
  /** Until the answer or the failure. */
  readonly ms: number
  readonly answered: Answered | null
  /** null of a critique, of an unreadable answer and of a failed question. */
  readonly verdict: number | null
  readonly failure: Failure | null
}

/** A request whose every row has its outcome. */
export interface RequestDone {
  readonly plan: Plan
  /** null: nobody named it. */
  readonly requestId: string | null
  readonly run: string
  readonly trainingStep: number | null
  readonly rows: readonly (Sample | Unreadable)[]
  /** One a row. */
  readonly outcomes: readonly Outcome[]
  /** From the beginning of the request to each row's outcome, milliseconds. */
  readonly ms: Float64Array
}

/** What happens in the engine, told as it happens. Listeners are cheap, and are called behind a guard. */
export interface EngineEvents {
  drawn?(event: DrawnEvent): void
  done?(event: RequestDone): void
  /** Once a question or a refused answer: the parts of the guard that had something to do. */
  guarded?(event: { readonly reward: string; readonly step: string; readonly parts: readonly string[] }): void
}

/**
 * Calls `then` with about the bytes that a request's rows and outcomes take in memory, whatever field they are in: at
 * once, or in a later turn where there are many.
 */
export function countBytes(
  { rows, outcomes }: RequestDone,
  then: (bytes: number) => void,
): Promise<void> | null {
  let bytes = 0
  const count = (index: number): void => {
    bytes += bytesOf(rows[index]) + bytesOf(outcomes[index])
  }
  return eachInSlices(rows.length, count, () => then(bytes))
}
