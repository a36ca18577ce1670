import { bytesOf, type Sample } from '../../../core/sample/sample.ts'
import type { VoteEvent } from '../../../scoring/engine/events.ts'

interface Kept {
  readonly events: VoteEvent[]
  bytes: number
  isWhole: boolean
}

/** Marks a forgotten sample, whose later answers are not kept. */
const forgotten: Kept = { events: [], bytes: 0, isWhole: true }

/** Answers of judges by sample, kept until the sample is forgotten. Bounded by bytes. */
export class JudgeAnswers {
  readonly #bySample = new WeakMap<Sample, Kept>()
  readonly #maxPerSample: number
  readonly #maxBytes: number
  #bytes = 0
  #isUsed = false

  /** `maxBytes` bounds all answers together, `maxPerSample` the number of one sample's. */
  constructor(maxBytes: number, maxPerSample = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes
    this.#maxPerSample = maxPerSample
  }

  add(event: VoteEvent): void {
    this.#isUsed = true
    const bytes = bytesOf(event.question) + bytesOf(event.answered) + bytesOf(event.failure)
    for (const sample of event.samples) {
      let kept = this.#bySample.get(sample)
      if (kept === forgotten) continue
      if (!kept) {
        kept = { events: [], bytes: 0, isWhole: true }
        this.#bySample.set(sample, kept)
      }
      if (kept.events.length >= this.#maxPerSample || this.#bytes + bytes > this.#maxBytes) {
        kept.isWhole = false
        continue
      }
      kept.events.push(event)
      kept.bytes += bytes
      this.#bytes += bytes
    }
  }

  /** The answers so far, in order. */
  of(sample: Sample): readonly VoteEvent[] {
    return this.#bySample.get(sample)?.events ?? []
  }

  /** False if some answers of the sample did not fit. */
  isWhole(sample: Sample): boolean {
    return this.#bySample.get(sample)?.isWhole ?? true
  }

  /** Frees a sample's answers; later ones are not kept. */
  forget(sample: Sample): void {
    if (!this.#isUsed) return
    this.#bytes -= this.#bySample.get(sample)?.bytes ?? 0
    this.#bySample.set(sample, forgotten)
  }
}
