import type { Clock } from '../../core/clock.ts'
import { bytesOf } from '../../core/sample/sample.ts'
import { eachInSlices } from '../../core/slices.ts'
import type { Scored } from '../../scoring/gateway/gateway.ts'

/** Bounds of what is kept; the oldest entries go first. */
interface RepeatLimits {
  readonly keepMs: number
  readonly maxEntries: number
  /** Bytes of the outcomes and their keys together. */
  readonly maxBytes: number
}

/** `keepMs` is longer than all pauses of any trainer's retries together. */
const defaultLimits: RepeatLimits = {
  keepMs: 300_000,
  maxEntries: 16_384,
  maxBytes: 64 * 1024 * 1024,
}

interface Kept {
  readonly scored: Scored
  readonly until: number
  readonly bytes: number
}

interface Pending {
  readonly result: Promise<Scored>
  readonly controller: AbortController
  waiting: number
}

type Work = (signal: AbortSignal) => Promise<Scored>

/** Trainers resend a request if its answer was late or lost. The resent request joins the first one or gets its outcome. */
export class Repeats {
  readonly #clock: Clock
  readonly #limits: RepeatLimits
  /** In the order of their age. */
  readonly #kept = new Map<string, Kept>()
  readonly #pending = new Map<string, Pending>()
  #bytes = 0

  constructor(clock: Clock, limits: RepeatLimits = defaultLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /**
   * The outcome of `work` for this key: kept from before, in progress, or started now. `gone` ends the waiting of this
   * caller only; the signal of `work` is aborted once nobody waits. An outcome that a retry may improve is not kept.
   */
  join(key: string, gone: AbortSignal, work: Work): Promise<Scored> {
    this.#evict()
    const kept = this.#kept.get(key)
    if (kept) return Promise.resolve(kept.scored)
    const pending = this.#pending.get(key) ?? this.#start(key, work)
    pending.waiting++
    const leave = () => {
      if (--pending.waiting > 0) return
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
      pending.controller.abort()
    }
    if (gone.aborted) leave()
    else gone.addEventListener('abort', leave, { once: true })
    return pending.result.finally(() => gone.removeEventListener('abort', leave))
  }

  #start(key: string, work: Work): Pending {
    const controller = new AbortController()
    const pending: Pending = { result: work(controller.signal), controller, waiting: 0 }
    const end = () => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
    }
    pending.result.then(async (scored) => {
      if (!controller.signal.aborted && isFinal(scored)) await this.#keep(key, scored)
      end()
    }, end)
    this.#pending.set(key, pending)
    return pending
  }

  #keep(key: string, scored: Scored): Promise<void> | null {
    const { maxBytes, keepMs } = this.#limits
    let bytes = bytesOf(key)
    const measure = (index: number): void => {
      // Stops measuring once it is clear that the outcome will not fit.
      if (bytes <= maxBytes) bytes += bytesOf(scored.outcomes[index])
    }
    return eachInSlices(scored.outcomes.length, measure, () => {
      this.#drop(key)
      if (bytes > maxBytes) return
      this.#kept.set(key, { scored, until: this.#clock.now() + keepMs, bytes })
      this.#bytes += bytes
      this.#evict()
    })
  }

  #evict(): void {
    const now = this.#clock.now()
    for (const [key, { until }] of this.#kept) {
      const isFull = this.#kept.size > this.#limits.maxEntries || this.#bytes > this.#limits.maxBytes
      if (!isFull && until > now) return
      this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

/** A failure of a judge may not happen again on another server, even if it is not retryable on the same one. */
const isFinal = ({ outcomes }: Scored): boolean =>
  outcomes.every(
    (outcome) => outcome.valid || !(outcome.failure.retryable || outcome.failure.kind.startsWith('judge_')),
  )
