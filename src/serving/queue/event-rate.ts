import type { Clock } from '../../core/clock.ts'

/** Events are counted over this time and the same time before. */
const windowMs = 10_000
/** Without any event, and at most. */
const unknownS = 30
const mostS = 60

/** How often something happens: how fast finals come, to say how soon there is room for more. */
export class EventRate {
  readonly #clock: Clock
  #now = 0
  #before = 0
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  readonly count = (): void => {
    this.#turn()
    this.#now += 1
  }

  /** Over the last 10 to 20 seconds. */
  get perSecond(): number {
    this.#turn()
    const seconds = (windowMs + this.#clock.now() - this.#since) / 1000
    return (this.#now + this.#before) / seconds
  }

  /** Whole seconds in which so many events are expected, 1 to 60. */
  secondsFor(events: number): number {
    const { perSecond } = this
    const wait = perSecond > 0 ? events / perSecond : unknownS
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
