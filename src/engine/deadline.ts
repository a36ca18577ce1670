import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'
import type { Failure } from '../sample/failure.ts'

/** The end of a request's patience: its deadline or, once a question was asked, the moment its client goes away. */
export interface Expiry {
  /** Aborted at the end; upstream calls hang on it. */
  readonly signal: AbortSignal
  dispose(): void
}

/** Calls `end` once, never synchronously, with what to tell of everything unfinished, unless disposed before; then aborts the signal. */
export function expiry(
  clock: Clock,
  deadline: number,
  client: AbortSignal | (() => AbortSignal),
  end: (failure: Failure) => void,
): Expiry {
  let controller: AbortController | undefined
  let clientSignal: AbortSignal | undefined
  let isOver = false
  const over = (failure: Failure) => {
    if (isOver) return
    isOver = true
    end(failure)
    controller?.abort()
  }
  const late = () => over({ kind: 'deadline', retryable: true, detail: 'the deadline of the request passed' })
  const left = () => over({ kind: 'cancelled', retryable: true, detail: 'the client went away' })
  const cancel = clock.after(Math.max(0, deadline - clock.now()), late)
  return {
    // Made when the first question is asked: rules need none, and it costs as much as scoring them.
    get signal() {
      if (controller) return controller.signal
      controller = new AbortController()
      // Each question of a request listens; the default limit of 10 is for leaks, and these end with the request.
      setMaxListeners(0, controller.signal)
      clientSignal = typeof client === 'function' ? client() : client
      if (isOver) controller.abort()
      else if (clientSignal.aborted) queueMicrotask(left)
      else clientSignal.addEventListener('abort', left, { once: true })
      return controller.signal
    },
    dispose() {
      cancel()
      clientSignal?.removeEventListener('abort', left)
    },
  }
}
