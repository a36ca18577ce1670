import type { DrawnEvent } from '../gateway/gateway.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'
import { type ShownAsk, shownAsk } from '../telemetry/live/shown-ask.ts'
import { textKeeper } from '../telemetry/record/text-policy.ts'

/** The questions of one request and their answers, whole: whoever sent the samples may read what became of them. */
export class Explanation {
  readonly #drawn: DrawnEvent[] = []

  add(event: DrawnEvent): void {
    this.#drawn.push(event)
  }

  /** Of one row, by step. */
  of(row: Sample | Unreadable | undefined): Readonly<Record<string, readonly ShownAsk[]>> {
    const own = this.#drawn.filter(({ samples }) => samples.some((sample) => sample === row))
    const keep = textKeeper('full')
    const steps = [...new Set(own.map(({ step }) => step))]
    return Object.fromEntries(
      steps.map((name) => [
        name,
        own.filter(({ step }) => step === name).map((drawn) => shownAsk(drawn, keep)),
      ]),
    )
  }
}
