import type { Clock } from '../../core/clock.ts'
import type { Failure, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import type { Trace } from '../../core/tracing/trace.ts'
import { CancelToken, whenAborted } from '../models/api/cancel-token.ts'
import type { Plan } from '../plan/plan.ts'
import type { DrawnEvent } from './events.ts'

/** The rows of one request. What may be absent may be undefined: a request's own copies of an object cost more than a rule. */
export interface ScoreRequest {
  readonly rows: readonly (Sample | Unreadable)[]
  /** Aborted when nobody waits any more. A function is called at the first question, if there is one, and calls its argument then. */
  readonly signal: CancelSource
  readonly run?: string | undefined
  readonly trainingStep?: number | undefined
  /** Names the request in the record; absent: nobody named it. */
  readonly requestId?: string | undefined
  /** Where the request stands in a trace; absent: in none. */
  readonly trace?: Trace | undefined
  /** Receives the time that the request waits for others. */
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

/** Aborted when a client goes away; or what subscribes to that, and calls back at most once. */
type CancelSource = AbortSignal | ((left: () => void) => void)

/** The end of a request's patience: its deadline or, once a question was asked, the moment its client goes away. */
export interface Expiry {
  /** Aborted at the end; upstream calls hang on it. */
  readonly signal: AbortSignal | CancelToken
  /** True from the end on: nobody waits any more, and what comes then is too late. */
  readonly isOver: boolean
  dispose(): void
}

// A class: a getter in an object literal made V8 keep a shape for each request, and with it the request.
/** Calls `end` once, never synchronously, with what to tell of everything unfinished, unless disposed before; then aborts the signal. */
export class RequestExpiry implements Expiry {
  readonly #client: CancelSource
  readonly #end: (failure: Failure) => void
  readonly #cancel: () => void
  #stop: CancelToken | undefined
  #unsubscribe: (() => void) | undefined
  #isOver = false

  constructor(clock: Clock, deadline: number, client: CancelSource, end: (failure: Failure) => void) {
    this.#client = client
    this.#end = end
    this.#cancel = clock.after(Math.max(0, deadline - clock.now()), () =>
      this.#over({ kind: 'deadline', retryable: true, detail: 'the deadline of the request passed' }),
    )
  }

  // Made when the first question is asked: rules need none.
  get signal(): CancelToken {
    if (this.#stop) return this.#stop
    this.#stop = new CancelToken()
    if (this.#isOver) this.#stop.stop()
    else if (typeof this.#client === 'function') this.#client(this.#left)
    else this.#unsubscribe = whenAborted(this.#client, this.#left)
    return this.#stop
  }

  get isOver(): boolean {
    return this.#isOver
  }

  dispose(): void {
    this.#isOver = true
    this.#cancel()
    this.#unsubscribe?.()
  }

  readonly #left = () =>
    queueMicrotask(() => this.#over({ kind: 'cancelled', retryable: true, detail: 'the client went away' }))

  #over(failure: Failure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(failure)
    this.#stop?.stop()
  }
}
