import { segmentName } from './commit-log.ts'
import type { Frame } from './frame.ts'
import type { AcceptHead, AnswerHead, FinalHead, OpenHead, PartialHead } from './records.ts'
import { RunState } from './run-state.ts'

/** A place in a log that cannot be read. */
export interface LogDamage {
  readonly segment: number
  /** Offset in the file. */
  readonly at: number
  readonly text: string
}

/** Applies the records of a log in order. */
export class Replay {
  readonly state = new RunState()
  readonly damage: LogDamage[] = []
  /** Of the next record; null before the first one. */
  #number: number | null = null
  /** Finals that count together, of which more are to come. */
  #together: { readonly frame: Frame; readonly segment: number }[] = []

  read(frame: Frame, segment: number): void {
    const number = Number(frame.head.n)
    const isGap = this.#number !== null && number > this.#number
    const [index = 0, count = 1] = (frame.head.part ?? []) as readonly number[]
    // Others were written behind them: their commit reached the disk.
    if (isGap || index !== this.#together.length) this.#applyTogether()
    if (this.#number !== null && isGap) {
      const text = `${number - this.#number} records are damaged before offset ${frame.at} of ${segmentName(segment)}`
      this.lost(segment, text, frame.at)
    }
    if (this.#number === null || number >= this.#number) this.#number = number + 1
    if (index === this.#together.length && count > 1) {
      this.#together.push({ frame, segment })
      if (this.#together.length === count) this.#applyTogether()
    } else this.#apply(frame, segment)
  }

  /** Records are lost here. What was accepted before may have a final among them. */
  lost(segment: number, text: string, at = 0): void {
    this.damage.push({ segment, at, text })
    for (const pending of this.state.pending) pending.damage ??= text
  }

  /** Call once all records were read. Returns the number of the next record. */
  end(): number {
    // A commit that was cut off: nobody has seen its finals.
    const [first] = this.#together
    this.#together = []
    this.state.settle()
    return first ? Number(first.frame.head.n) : (this.#number ?? 0)
  }

  #applyTogether(): void {
    for (const { frame, segment } of this.#together) this.#apply(frame, segment)
    this.#together = []
  }

  #apply({ head, body, at, length }: Frame, segment: number): void {
    const place = { segment, at, length }
    const isDamaged = body === null
    if (isDamaged) {
      const text = `the body of a record (${head.k}) at offset ${at} of ${segmentName(segment)} is damaged`
      this.damage.push({ segment, at, text })
    }
    const { state } = this
    if (head.k === 'open') state.opened(head as unknown as OpenHead)
    else if (head.k === 'final') state.finished(head as unknown as FinalHead, place)
    else if (head.k === 'accept') {
      const text = isDamaged ? `its sample at offset ${at} of ${segmentName(segment)} is damaged` : null
      state.accepted(head as unknown as AcceptHead, place, body?.length ?? 0, text)
    }
    // A damaged answer is asked for again, and a damaged early result is found again.
    else if (head.k === 'answer' && !isDamaged) state.answered(head as unknown as AnswerHead, place)
    else if (head.k === 'partial' && !isDamaged) state.gotPartial(head as unknown as PartialHead, place)
  }
}
