import type { Clock } from '../../core/clock.ts'
import type { Failure } from '../../core/sample/sample.ts'
import { CancelToken, whenAborted } from '../models/api/cancel-token.ts'

/** Aborted when a client goes away; or what subscribes to that, and calls back at most once. */
export type CancelSource = AbortSignal | ((left: () => void) => void)

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
