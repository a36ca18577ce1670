import type { Clock } from '../../core/clock.ts'

/** Finals are counted over this time and the same time before. */
const windowMs = 10_000
/** Without any final, and at most. */
const unknownS = 30
const mostS = 60

/** How fast finals come, to say how soon there is room for more. */
export class FinalRate {
  readonly #clock: Clock
  #now = 0
  #before = 0
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  /** Counts a final. */
  readonly count = (): void => {
    this.#turn()
    this.#now += 1
  }

  /** Whole seconds in which so many finals are expected, 1 to 60. */
  secondsFor(finals: number): number {
    this.#turn()
    const seconds = (windowMs + this.#clock.now() - this.#since) / 1000
    const perSecond = (this.#now + this.#before) / seconds
    const wait = perSecond > 0 ? finals / perSecond : unknownS
    return Math.min(mostS, Math.max(1, Math.ceil(wait)))
  }

  #turn(): void {
    const passed = this.#clock.now() - this.#since
    if (passed < windowMs) return
    this.#before = passed < 2 * windowMs ? this.#now : 0
    this.#now = 0
    this.#since = this.#clock.now()
  }
}
