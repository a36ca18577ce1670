import type { Clock } from '../../../core/clock.ts'
import { CancelToken, whenAborted } from '../api/cancel-token.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** One piece of work that several callers wait for; it is stopped when the last of them has gone. */
export class SingleFlight<T> {
  readonly stop = new CancelToken()
  readonly #work: Promise<T>
  #callers = 0

  /** `over` is told when the work has ended, either way. */
  constructor(work: (stop: CancelToken) => Promise<T>, over: () => void) {
    this.#work = work(this.stop)
    this.#work.then(over, over)
  }

  /** Rejects as the work does, with `late()` at the deadline, or with UpstreamError `cancelled` when the caller has gone. */
  join(
    clock: Clock,
    deadline: number,
    signal: AbortSignal | CancelToken,
    late: () => UpstreamError,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const over = (): boolean => {
        if (isOver) return false
        isOver = true
        cancelTimer()
        off()
        return true
      }
      const leave = (fault: UpstreamError) => {
        if (!over()) return
        reject(fault)
        this.#callers -= 1
        if (this.#callers === 0) this.stop.stop()
      }
      this.#callers += 1
      let off = () => {}
      const cancelTimer = clock.after(Math.max(deadline - clock.now(), 0), () => leave(late()))
      off = whenAborted(signal, () => leave(new UpstreamError('cancelled', 'the client has gone')))
      this.#work.then(
        (value) => {
          if (over()) resolve(value)
        },
        (error) => {
          if (over()) reject(error)
        },
      )
    })
  }
}
