import type { Clock } from '../../core/clock.ts'
import type { Failure, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import type { RequestTimes } from '../../core/stalls/request-times.ts'
import type { Trace } from '../../core/tracing/trace.ts'
import type { KeptAnswers } from '../models/interface/ask.ts'
import { CancelToken, whenAborted } from '../models/interface/cancel-token.ts'
import type { Plan } from '../plan/plan.ts'
import type { VoteEvent } from './events.ts'

/**
 * The rows of one request. Optional fields may be undefined, because copying an object to leave them out costs more than a rule.
 */
export interface RowsToScore {
  readonly rows: readonly (Sample | Unreadable)[]
  /**
   * Aborted when the client no longer waits. A function is called with a callback when the first question is asked, and calls
   * that callback when the client leaves.
   */
  readonly signal: CancelSource
  readonly run?: string | undefined
  readonly trainingStep?: number | undefined
  /** The request's id in the record; absent: the client sent none. */
  readonly requestId?: string | undefined
  /** The request's position in a trace; absent: not traced. */
  readonly trace?: Trace | undefined
  /** When the request had been received, in milliseconds on the clock; absent: now. */
  readonly arrived?: number | undefined
  /** Accumulates the time that the request waits for models and groups. */
  readonly waitTime?: WaitTime | undefined
  /** If true, refused with RG_OVERLOADED when its questions would wait too long for their models. Otherwise they wait. */
  readonly isRefusable?: boolean | undefined
  /** Size of the request body, to estimate the memory of its questions; absent: 0. */
  readonly bodyBytes?: number | undefined
  /** Judges' answers that these rows have received before; new ones are added. */
  readonly answers?: KeptAnswers | undefined
  /** Called once when scoring begins, with where the time of each row goes from then on. */
  readonly onBegan?: ((times: RequestTimes) => void) | undefined
  /**
   * Called at most once per row and before its outcome: with the terms of its rules, once they are done and other steps are not.
   * Rules that need another step do not count.
   */
  readonly onRules?: ((index: number, terms: readonly Term[]) => void) | undefined
  /** Called once per row, in any order, as soon as its outcome is final. */
  readonly onOutcome?: ((index: number, outcome: Outcome) => void) | undefined
  /** Called for each vote, before any outcome that it counts toward. */
  readonly onVote?: ((event: VoteEvent) => void) | undefined
}

/** What the engine scores: rows with the plan of their reward. */
export interface EngineJob extends RowsToScore {
  readonly plan: Plan
  /** Milliseconds on the engine's clock. Rows without an outcome by then fail with `deadline`. */
  readonly deadline: number
}

/**
 * How long a request waited, in milliseconds, with a question at a model or for other answers of a group. Overlapping waits count
 * once.
 */
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

  /** The total up to `now`; a request that timed out still has questions in progress. */
  until(now: number): number {
    return this.#waits === 0 ? this.#ms : this.#ms + now - this.#since
  }
}

/**
 * A signal that is aborted when the client leaves, or a function that subscribes a callback to that and calls it at most once.
 */
type CancelSource = AbortSignal | ((left: () => void) => void)

/** When a request ends early: at its deadline or, once a question was asked, when its client leaves. */
export interface Expiry {
  /** Aborted at the end; cancels upstream calls. */
  readonly signal: AbortSignal | CancelToken
  /** True from the end on: results that arrive later are discarded. */
  readonly isOver: boolean
  dispose(): void
}

// A class, because a getter in an object literal made V8 keep a shape for each request, and with it the request.
/**
 * Calls `end` at most once, never synchronously, with the failure for everything unfinished, and then aborts the signal. Does
 * nothing after `dispose`.
 */
export class RequestExpiry implements Expiry {
  readonly #client: CancelSource
  readonly #run: string | undefined
  readonly #end: (failure: Failure) => void
  readonly #cancel: () => void
  #stop: CancelToken | undefined
  #unsubscribe: (() => void) | undefined
  #isOver = false

  constructor(
    clock: Clock,
    { deadline, signal, run }: Pick<EngineJob, 'deadline' | 'signal' | 'run'>,
    end: (failure: Failure) => void,
  ) {
    this.#client = signal
    this.#run = run
    this.#end = end
    this.#cancel = clock.after(Math.max(0, deadline - clock.now()), () =>
      this.#over({ kind: 'deadline', retryable: true, detail: "the request's deadline passed" }),
    )
  }

  // Created when the first question is asked: listening for the client cost more than scoring rules (`npm run rules` in bench/).
  get signal(): CancelToken {
    if (this.#stop) return this.#stop
    this.#stop = new CancelToken(this.#run)
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
    queueMicrotask(() =>
      this.#over({ kind: 'cancelled', retryable: true, detail: 'the client disconnected' }),
    )

  #over(failure: Failure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(failure)
    this.#stop?.stop()
  }
}
