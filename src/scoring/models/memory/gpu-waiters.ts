import type { Clock } from '../../../core/clock.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** How long a tenant keeps its GPU, and who may have it. */
export interface TenantSettings {
  /** Without a question for so long it goes to sleep; 0: never. */
  readonly idleMs: number
  readonly lingerMs: number
  readonly turnMs: number
  readonly wakeOnDemand: boolean
  /** Questions that wait for its turn; more are refused. */
  readonly maxQueue: number
}

/** A set of servers whose memory is given back and taken together, as its group sees it. */
export interface GpuTenant {
  /** Read anew for each decision: a reload changes it without a switch. */
  readonly settings: TenantSettings
  /** Questions under way, canaries too, of all models that ask these servers. */
  readonly active: number
  /** Finds out how its servers are, and changes nothing; null: none of them can be asked or woken. */
  find(): Promise<TenantState | null>
  /** `asleep`: all sleep or have gone. `awake`: none was changed. `unknown`: neither. */
  sleep(): Promise<TenantState>
  /** Resolves to whether one of the servers may be asked. */
  wake(): Promise<boolean>
  switched(state: 'awake' | 'asleep'): void
  /** Questions begin to wait while it cannot be awake, or it is awake again. */
  parked(isParked: boolean): void
}

/** `unknown`: at the start, or after a failure; taken for awake when another needs the memory. */
export type TenantState = 'unknown' | 'awake' | 'asleep'

/** A question that waits for its tenant's turn. */
export interface Waiter {
  readonly waitingSince: number
  /** It waits for a tenant that cannot be awake, too. */
  readonly isPatient: boolean
  readonly admit: () => void
  readonly refuse: (fault: UpstreamError) => void
}

/** When the first of those that wait for it came; Infinity: nobody does. */
export const since = ({ waiting }: { readonly waiting: ReadonlySet<Waiter> }): number => {
  for (const waiter of waiting) return waiter.waitingSince
  return Number.POSITIVE_INFINITY
}

/** What a question fails with for which there is no room in its line. */
export const queueFull = (): UpstreamError =>
  new UpstreamError('overloaded', 'too many questions wait for this model', {
    remedy: 'give-up',
    blame: false,
  })

/** What a question fails with whose model may not or cannot be woken. */
export const modelAsleep = (): UpstreamError =>
  new UpstreamError('judge_unreachable', 'the model sleeps, or cannot be woken', {
    remedy: 'give-up',
    blame: false,
  })

/** Before a tenant that did not wake up is woken again. */
const restMs = 5000

/** The questions of a tenant that wait although it cannot be awake: it may not be woken, or did not wake up. */
export class TenantParking {
  readonly #clock: Clock
  readonly #tenant: GpuTenant
  readonly #waiting: Set<Waiter>
  #since: number | null = null
  #cancelRest: (() => void) | null = null

  constructor(clock: Clock, tenant: GpuTenant, waiting: Set<Waiter>) {
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
      waiter.refuse(modelAsleep())
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
