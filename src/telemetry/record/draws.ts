import type { DrawnEvent } from '../../engine/events.ts'
import type { Sample } from '../../sample/sample.ts'

/** The draws of samples' questions; forgotten with the samples. */
export class Draws {
  readonly #bySample = new WeakMap<Sample, DrawnEvent[]>()
  readonly #most: number

  /** `most`: so many of one sample are kept. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  add(event: DrawnEvent): void {
    for (const sample of event.samples) {
      const known = this.#bySample.get(sample)
      if (!known) this.#bySample.set(sample, [event])
      else if (known.length < this.#most) known.push(event)
    }
  }

  /** In their order so far. */
  of(sample: Sample): readonly DrawnEvent[] {
    return this.#bySample.get(sample) ?? []
  }
}
