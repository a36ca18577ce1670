import type { Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import type { Trace } from '../../core/tracing/trace.ts'
import type { Plan } from '../plan/plan.ts'
import type { CancelSource } from './deadline.ts'
import type { DrawnEvent } from './events.ts'

/** The rows of one request. What may be absent may be undefined: a request's own copies of an object cost more than a rule. */
export interface ScoreRequest {
  readonly rows: readonly (Sample | Unreadable)[]
  /** Aborted when nobody waits any more; a function is called with the first question, if there is one, and tells of it. */
  readonly signal: CancelSource
  readonly run?: string | undefined
  readonly trainingStep?: number | undefined
  /** Names the request in the record; absent: nobody named it. */
  readonly requestId?: string | undefined
  /** Where the request stands in a trace; absent: in none. */
  readonly trace?: Trace | undefined
  /** Told of the time in which the request waits for others. */
  readonly waitTime?: WaitTime | undefined
  /** Refused with RG_OVERLOADED where its questions would wait too long for their models; absent: they wait. */
  readonly isRefusable?: boolean | undefined
  /** Bytes of the body that the rows came in, for what their questions will take; absent: 0. */
  readonly bodyBytes?: number | undefined
  /** Called once a row, as soon as its outcome is final; in any order. */
  readonly onOutcome?: ((index: number, outcome: Outcome) => void) | undefined
  /** Called for each draw of a question, before the outcomes that it counts in. */
  readonly onDrawn?: ((event: DrawnEvent) => void) | undefined
}

/** A request to be scored by one plan. */
export interface Job extends ScoreRequest {
  readonly plan: Plan
  /** On the engine's clock, milliseconds: when this passes, what has no outcome fails as `deadline`. */
  readonly deadline: number
}

/** How long a request waited for others: with a question at its models, or for other answers of a group. Milliseconds. */
export class WaitTime {
  #waits = 0
  #since = 0
  #ms = 0

  begin(now: number): void {
    if (this.#waits === 0) this.#since = now
    this.#waits += 1
  }

  end(now: number): void {
    this.#waits -= 1
    if (this.#waits === 0) this.#ms += now - this.#since
  }

  /** Until `now`; a request that ran out of time still has questions under way. */
  until(now: number): number {
    return this.#waits === 0 ? this.#ms : this.#ms + now - this.#since
  }
}
