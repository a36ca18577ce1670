import type { Clock } from '../../../core/clock.ts'
import { asleep, type Rival, type Waiter } from './gpu-turn.ts'

/** Before a tenant that did not wake up is woken again. */
const restMs = 5000

/** The questions of a tenant that wait although it cannot be awake: it may not be woken, or did not wake up. */
export class TenantParking {
  readonly #clock: Clock
  readonly #tenant: Rival
  readonly #waiting: Set<Waiter>
  #since: number | null = null
  #cancelRest: (() => void) | null = null

  constructor(clock: Clock, tenant: Rival, waiting: Set<Waiter>) {
    this.#clock = clock
    this.#tenant = tenant
    this.#waiting = waiting
  }

  /** On the clock; null: none waits so. */
  get since(): number | null {
    return this.#since
  }

  /** It did not wake up a moment ago. */
  get isResting(): boolean {
    return this.#cancelRest !== null
  }

  /** Questions wait until the tenant is awake; those that may not wait for that fail. */
  begin(): void {
    for (const waiter of this.#waiting) {
      if (waiter.isPatient) continue
      this.#waiting.delete(waiter)
      waiter.refuse(asleep())
    }
    if (this.#waiting.size === 0 || this.#since !== null) return
    this.#since = this.#clock.now()
    this.#tenant.parked(true)
  }

  /** The tenant is awake. */
  end(): void {
    if (this.#since === null) return
    this.#since = null
    this.#tenant.parked(false)
  }

  /** Others have their turn before it is woken `again`. */
  rest(again: () => void): void {
    this.begin()
    this.close()
    if (this.#waiting.size === 0) return
    this.#cancelRest = this.#clock.after(restMs, () => {
      this.#cancelRest = null
      again()
    })
  }

  /** Ends its timer. */
  close(): void {
    this.#cancelRest?.()
    this.#cancelRest = null
  }
}
