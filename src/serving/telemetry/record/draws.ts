import { bytesOf } from '../../../core/sample/bytes.ts'
import type { Sample } from '../../../core/sample/sample.ts'
import type { DrawnEvent } from '../../../scoring/engine/events.ts'

interface Kept {
  readonly events: DrawnEvent[]
  bytes: number
  isWhole: boolean
}

/** In place of the draws of a sample that was forgotten: what comes later is not kept. */
const forgotten: Kept = { events: [], bytes: 0, isWhole: true }

/** The draws of samples' questions, until they are forgotten; bounded by their bytes. */
export class Draws {
  readonly #bySample = new WeakMap<Sample, Kept>()
  readonly #most: number
  readonly #maxBytes: number
  #bytes = 0
  #isUsed = false

  /** `most`: so many of one sample are kept. `maxBytes`: of all that are kept. */
  constructor(maxBytes: number, most = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes
    this.#most = most
  }

  add(event: DrawnEvent): void {
    this.#isUsed = true
    const bytes = bytesOf(event.question) + bytesOf(event.answered) + bytesOf(event.failure)
    for (const sample of event.samples) {
      let kept = this.#bySample.get(sample)
      if (kept === forgotten) continue
      if (!kept) {
        kept = { events: [], bytes: 0, isWhole: true }
        this.#bySample.set(sample, kept)
      }
      if (kept.events.length >= this.#most || this.#bytes + bytes > this.#maxBytes) {
        kept.isWhole = false
        continue
      }
      kept.events.push(event)
      kept.bytes += bytes
      this.#bytes += bytes
    }
  }

  /** In their order so far. */
  of(sample: Sample): readonly DrawnEvent[] {
    return this.#bySample.get(sample)?.events ?? []
  }

  /** False where draws of the sample found no room. */
  isWhole(sample: Sample): boolean {
    return this.#bySample.get(sample)?.isWhole ?? true
  }

  /** Gives the room of a sample's draws back; those that come later are not kept. */
  forget(sample: Sample): void {
    if (!this.#isUsed) return
    this.#bytes -= this.#bySample.get(sample)?.bytes ?? 0
    this.#bySample.set(sample, forgotten)
  }
}
