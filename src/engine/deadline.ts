import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'
import type { Failure } from '../sample/failure.ts'

/** The end of a request's patience: its deadline or, once a question was asked, the moment its client goes away. */
export interface Expiry {
  /** Aborted at the end; upstream calls hang on it. */
  readonly signal: AbortSignal
  dispose(): void
}

// A class: a getter in an object literal made V8 keep a shape for each request, and with it the request.
/** Calls `end` once, never synchronously, with what to tell of everything unfinished, unless disposed before; then aborts the signal. */
export class RequestExpiry implements Expiry {
  readonly #client: AbortSignal | (() => AbortSignal)
  readonly #end: (failure: Failure) => void
  readonly #cancel: () => void
  #controller: AbortController | undefined
  #clientSignal: AbortSignal | undefined
  #isOver = false

  constructor(
    clock: Clock,
    deadline: number,
    client: AbortSignal | (() => AbortSignal),
    end: (failure: Failure) => void,
  ) {
    this.#client = client
    this.#end = end
    this.#cancel = clock.after(Math.max(0, deadline - clock.now()), () =>
      this.#over({ kind: 'deadline', retryable: true, detail: 'the deadline of the request passed' }),
    )
  }

  // Made when the first question is asked: rules need none, and it costs as much as scoring them.
  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    this.#controller = new AbortController()
    const { signal } = this.#controller
    // Each question of a request listens; the default limit of 10 is for leaks, and these end with the request.
    setMaxListeners(0, signal)
    this.#clientSignal = typeof this.#client === 'function' ? this.#client() : this.#client
    if (this.#isOver) this.#controller.abort()
    else if (this.#clientSignal.aborted) queueMicrotask(this.#left)
    else this.#clientSignal.addEventListener('abort', this.#left, { once: true })
    return signal
  }

  dispose(): void {
    this.#cancel()
    this.#clientSignal?.removeEventListener('abort', this.#left)
  }

  readonly #left = () => this.#over({ kind: 'cancelled', retryable: true, detail: 'the client went away' })

  #over(failure: Failure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(failure)
    this.#controller?.abort()
  }
}
