import type { Clock } from '../../../core/clock.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** How long a tenant keeps its GPU, and who may wake it. */
export interface TenantSettings {
  /** It goes to sleep after this long without a question; 0: never. */
  readonly idleMs: number
  readonly lingerMs: number
  readonly turnMs: number
  readonly wakeOnDemand: boolean
  /** Questions that may wait for its turn; more are refused. */
  readonly maxQueue: number
}

/** A set of servers whose GPU memory is released and taken together, as its group sees it. */
export interface GpuTenant {
  /** Read for each decision, so a reload changes them without a switch. */
  readonly settings: TenantSettings
  /** Questions in flight, including canaries, of all models that use these servers. */
  readonly active: number
  /** Finds out the state of its servers without changing it; null if none of them can be asked or woken. */
  find(): Promise<TenantState | null>
  /** `asleep`: all servers sleep or are gone. `awake`: none was changed. `unknown`: anything else. */
  sleep(): Promise<TenantState>
  /** Resolves to whether at least one of the servers may be asked. */
  wake(): Promise<boolean>
  switched(state: 'awake' | 'asleep'): void
  /** Called when questions start to wait for a tenant that cannot be woken, and when it is awake again. */
  parked(isParked: boolean): void
}

/** `unknown` at the start and after a failure; treated as awake when another tenant needs the memory. */
export type TenantState = 'unknown' | 'awake' | 'asleep'

/** A question that waits until its tenant is awake. */
export interface Waiter {
  readonly waitingSince: number
  /** It waits even for a tenant that cannot be woken. */
  readonly isPatient: boolean
  readonly admit: () => void
  readonly refuse: (fault: UpstreamError) => void
}

/** When the oldest waiting question came; Infinity if none waits. */
export const since = ({ waiting }: { readonly waiting: ReadonlySet<Waiter> }): number => {
  for (const waiter of waiting) return waiter.waitingSince
  return Number.POSITIVE_INFINITY
}

/** The error of a question that finds the queue full. */
export const queueFull = (): UpstreamError =>
  new UpstreamError('overloaded', 'too many questions wait for this model', {
    remedy: 'give-up',
    blame: false,
  })

/** The error of a question whose model may not or cannot be woken. */
export const modelAsleep = (): UpstreamError =>
  new UpstreamError('judge_unreachable', 'the model sleeps, or cannot be woken', {
    remedy: 'give-up',
    blame: false,
  })

/** Milliseconds before a tenant that failed to wake is woken again. */
const restMs = 5000

/** The parked questions of a tenant: they wait although it may not be woken, or failed to wake. */
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

  /** Since when questions are parked, on the clock; null if none is. */
  get since(): number | null {
    return this.#since
  }

  /** The tenant failed to wake a moment ago. */
  get isResting(): boolean {
    return this.#cancelRest !== null
  }

  /** Parks the waiting questions; those that are not patient fail. */
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

  /** Called when the tenant is awake. */
  end(): void {
    if (this.#since === null) return
    this.#since = null
    this.#tenant.parked(false)
  }

  /** Lets other tenants have their turn, then calls `again` to retry. */
  rest(again: () => void): void {
    this.begin()
    this.close()
    if (this.#waiting.size === 0) return
    this.#cancelRest = this.#clock.after(restMs, () => {
      this.#cancelRest = null
      again()
    })
  }

  /** Cancels its timer. */
  close(): void {
    this.#cancelRest?.()
    this.#cancelRest = null
  }
}
