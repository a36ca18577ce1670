import { bytesOf, type Sample } from '../../../core/sample/sample.ts'
import type { VoteEvent } from '../../../scoring/engine/events.ts'

/** An event about samples. */
interface OfSamples {
  readonly samples: readonly Sample[]
}

interface Kept<E> {
  readonly events: E[]
  bytes: number
  isWhole: boolean
}

/** Marks a forgotten sample, whose later events are not kept. */
const forgotten: Kept<never> = { events: [], bytes: 0, isWhole: true }

/** Events by sample, kept until the sample is forgotten. Bounded by bytes. */
export class EventsOfSamples<E extends OfSamples> {
  readonly #bySample = new WeakMap<Sample, Kept<E>>()
  readonly #sizeOf: (event: E) => number
  readonly #maxPerSample: number
  readonly #maxBytes: number
  #bytes = 0
  #isUsed = false

  /** `sizeOf`: in bytes. `maxBytes` bounds all events together, `maxPerSample` the number of one sample's. */
  constructor(sizeOf: (event: E) => number, maxBytes: number, maxPerSample = Number.POSITIVE_INFINITY) {
    this.#sizeOf = sizeOf
    this.#maxBytes = maxBytes
    this.#maxPerSample = maxPerSample
  }

  add(event: E): void {
    this.#isUsed = true
    const bytes = this.#sizeOf(event)
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

  /** The events so far, in order. */
  of(sample: Sample): readonly E[] {
    return this.#bySample.get(sample)?.events ?? []
  }

  /** False if some events of the sample did not fit. */
  isWhole(sample: Sample): boolean {
    return this.#bySample.get(sample)?.isWhole ?? true
  }

  /** Frees a sample's events; later ones are not kept. */
  forget(sample: Sample): void {
    if (!this.#isUsed) return
    this.#bytes -= this.#bySample.get(sample)?.bytes ?? 0
    this.#bySample.set(sample, forgotten)
  }
}

/** Answers of judges. */
export class JudgeAnswers extends EventsOfSamples<VoteEvent> {
  constructor(maxBytes: number, maxPerSample?: number) {
    const sizeOf = ({ question, answered, failure }: VoteEvent): number =>
      bytesOf(question) + bytesOf(answered) + bytesOf(failure)
    super(sizeOf, maxBytes, maxPerSample)
  }
}
