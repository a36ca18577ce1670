import type { Clock } from '../clock.ts'

interface Waiting {
  readonly start: () => void
}

/** Slots of a continuously batching server: `limit` sequences run at once, the others wait in order. */
export class Capacity {
  running = 0
  peak = 0
  readonly #clock: Clock
  readonly #limit: number
  readonly #queue = new Set<Waiting>()
  readonly #idle: (() => void)[] = []
  #paused = false

  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Holds one slot for `ms`; resolves false as soon as the signal aborts, and gives the slot back then. */
  hold(ms: number, signal: AbortSignal): Promise<boolean> | boolean {
    if (signal.aborted) return false
    if (ms <= 0 && this.#isFree() && this.#queue.size === 0) {
      this.peak = Math.max(this.peak, this.running + 1)
      return true
    }
    return this.#wait(ms, signal)
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (this.running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle.push(resolve)
    })
  }

  /** While paused nothing starts; what runs goes on. */
  set paused(paused: boolean) {
    this.#paused = paused
    this.#startWaiting()
  }

  #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let cancel = () => {}
      const end = (finished: boolean): void => {
        signal.removeEventListener('abort', abort)
        this.running -= 1
        resolve(finished)
        this.#startWaiting()
        if (this.running === 0) for (const tell of this.#idle.splice(0)) tell()
      }
      const waiting: Waiting = {
        start: () => {
          this.running += 1
          this.peak = Math.max(this.peak, this.running)
          cancel = this.#clock.after(ms, () => end(true))
        },
      }
      const abort = (): void => {
        if (this.#queue.delete(waiting)) {
          resolve(false)
          return
        }
        cancel()
        end(false)
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#queue.add(waiting)
      this.#startWaiting()
    })
  }

  #startWaiting(): void {
    for (const waiting of this.#queue) {
      if (!this.#isFree()) return
      this.#queue.delete(waiting)
      waiting.start()
    }
  }

  #isFree(): boolean {
    return !this.#paused && this.running < this.#limit
  }
}
