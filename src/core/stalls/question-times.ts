/** What a stretch of time was spent on. docs/stalls.md defines each. */
export const stallCauses = [
  'rule',
  'line',
  'answer',
  'hung',
  'sandbox',
  'group',
  'parked',
  'gateway',
] as const

export type StallCause = (typeof stallCauses)[number]

const indexOf = Object.fromEntries(stallCauses.map((cause, at) => [cause, at])) as Record<StallCause, number>

/** A stretch of one row's time, in milliseconds on the clock. `model`: the model or sandbox; '' for other causes. */
export interface Spell {
  readonly cause: StallCause
  readonly model: string
  readonly from: number
  readonly to: number
}

/** Follows what a question waits for, change by change. */
export interface QuestionWatch {
  /** From `now` on the question waits for this. */
  enters(cause: StallCause, now: number): void
  /** The call that it waited for brought no answer. */
  failed(): void
  /** A call that began at `since` answered before an earlier one. */
  overtaken(since: number): void
}

/** What one question waited for, from the start to the end. Questions that share a call share the marks. */
export class QuestionTimes implements QuestionWatch {
  /** Indices of causes and the times at which they began, in order. Numbers with a fraction: V8 then boxes none of them. */
  #marks: number[] = [0.5, 0]

  enters(cause: StallCause, now: number): void {
    const marks = this.#marks
    const index = indexOf[cause]
    if (marks[marks.length - 2] !== index) marks.push(index, now)
  }

  failed(): void {
    const at = this.#marks.length - 2
    if (this.#marks[at] === indexOf.answer) this.#marks[at] = indexOf.hung
  }

  overtaken(since: number): void {
    this.failed()
    this.#marks.push(indexOf.answer, since)
  }

  /** What the question waits for at this moment. */
  get current(): StallCause {
    const { length } = this.#marks
    return length > 2 ? (stallCauses[this.#marks[length - 2] as number] as StallCause) : 'gateway'
  }

  /** Waits for the same call as another question from now on. */
  share(other: QuestionTimes): void {
    this.#marks = other.#marks
  }

  /**
   * The spells between two times, the newest first. Time before the first mark is the gateway's. `isAnswered`: a call without an
   * answer at the end was for nothing.
   */
  *spells(model: string, from: number, to: number, isAnswered: boolean): Generator<Spell> {
    const marks = this.#marks
    let end = to
    for (let at = marks.length - 2; at > 0 && end > from; at -= 2) {
      const said = stallCauses[marks[at] as number] as StallCause
      const since = Math.max(from, marks[at + 1] as number)
      if (since >= end) continue
      const cause = said === 'answer' && !isAnswered && at === marks.length - 2 ? 'hung' : said
      yield { cause, model: cause === 'gateway' ? '' : model, from: since, to: end }
      end = since
    }
    if (end > from) yield { cause: 'gateway', model: '', from, to: end }
  }
}

/** Tells several questions of the call that they share. */
export const watchAll = (all: readonly (QuestionWatch | undefined)[]): QuestionWatch => ({
  enters(cause, now) {
    for (const one of all) one?.enters(cause, now)
  },
  failed() {
    for (const one of all) one?.failed()
  },
  overtaken(since) {
    for (const one of all) one?.overtaken(since)
  },
})
