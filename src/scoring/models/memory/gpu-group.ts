import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../interface/cancel-token.ts'
import { abandoned } from '../transport/upstream-error.ts'
import {
  type GpuTenant,
  modelAsleep,
  queueFull,
  since,
  TenantParking,
  type TenantState,
  type Waiter,
} from './gpu-waiters.ts'

/** A tenant's slot in its group. It moves with the tenant to another group. */
export class GpuSlot {
  readonly tenant: GpuTenant
  state: TenantState = 'unknown'
  group: GpuGroup
  lastUse: number
  readonly waiting = new Set<Waiter>()
  readonly parking: TenantParking

  constructor(tenant: GpuTenant, group: GpuGroup, clock: Clock) {
    this.tenant = tenant
    this.group = group
    this.lastUse = clock.now()
    this.parking = new TenantParking(clock, tenant, this.waiting)
  }

  /** It sleeps until an operator wakes it, and its questions wait. */
  get isShut(): boolean {
    return this.state === 'asleep' && !this.tenant.settings.wakeOnDemand
  }

  /** Questions wait for it, and it may be woken now. */
  get isDue(): boolean {
    return this.waiting.size > 0 && !this.parking.isResting && !this.isShut
  }
}

/** Tenants that are never awake together. One has the GPU; the questions of the others wait for their tenant's turn. */
export class GpuGroup {
  readonly #clock: Clock
  readonly #slots = new Set<GpuSlot>()
  #current: GpuSlot | null = null
  /** The current tenant gets no further questions, because it is another's turn. */
  #isYielding = false
  #isSwitching = false
  #cancelTimer: (() => void) | null = null
  readonly #watchers = new Set<() => void>()
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#slots.size === 0
  }

  add(tenant: GpuTenant): GpuSlot {
    const slot = new GpuSlot(tenant, this, this.#clock)
    this.#slots.add(slot)
    return slot
  }

  /** Removes a tenant that no model uses any more. */
  remove(slot: GpuSlot): void {
    this.#slots.delete(slot)
    slot.parking.close()
    if (this.#current === slot) this.#current = null
    this.#schedule()
    this.#notify()
  }

  /** Moves a slot to another group once its questions in flight are done; later questions wait. */
  async move(slot: GpuSlot, to: GpuGroup): Promise<void> {
    await this.#lock(() => slot.tenant.active === 0)
    this.#slots.delete(slot)
    if (this.#current === slot) this.#current = null
    this.#unlock()
    slot.group = to
    to.#slots.add(slot)
    if (to.#current || to.#isSwitching) {
      // Otherwise two tenants would be awake together.
      if (slot.state !== 'asleep') await to.sleep(slot)
    } else if (slot.state === 'awake') to.#current = slot
    to.#schedule()
  }

  /** Cancels all timers. */
  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
    for (const { parking } of this.#slots) parking.close()
  }

  /**
   * Waits until a question may be asked; null: now. Calls `count` when it may. Rejects with UpstreamError. `isPatient`: it waits
   * even for a tenant that cannot be woken.
   */
  enter(slot: GpuSlot, stop: CancelToken, count: () => void, isPatient = false): Promise<void> | null {
    if (this.isOpen(slot)) {
      count()
      return null
    }
    const { maxQueue } = slot.tenant.settings
    if (slot.isShut && !isPatient) return Promise.reject(modelAsleep())
    if (slot.waiting.size >= maxQueue) return Promise.reject(queueFull())
    return new Promise((resolve, reject) => {
      const off = stop.on(() => {
        slot.waiting.delete(waiter)
        reject(abandoned())
      })
      const waiter: Waiter = {
        waitingSince: this.#clock.now(),
        isPatient,
        admit() {
          off()
          count()
          resolve()
        },
        refuse(fault) {
          off()
          reject(fault)
        },
      }
      slot.waiting.add(waiter)
      if (slot.isShut) slot.parking.begin()
      this.#schedule()
    })
  }

  /** Whether a question may be asked now. */
  isOpen(slot: GpuSlot): boolean {
    return slot === this.#current && !this.#isYielding && !this.#isSwitching
  }

  /** A question has ended. `isUse`: it postpones the idle sleep. */
  left(slot: GpuSlot, isUse: boolean): void {
    if (isUse) slot.lastUse = this.#clock.now()
    if (slot.tenant.active > 0) return
    this.#schedule()
    this.#notify()
  }

  /** Settings have changed: the next switch may be due earlier or later. */
  reconsider(): void {
    this.#schedule()
  }

  /** Releases the memory once the questions in flight are done. Resolves to false if that failed. */
  async sleep(slot: GpuSlot): Promise<boolean> {
    await this.#lock(() => slot.tenant.active === 0)
    if (slot.state !== 'asleep') return this.#switchTo(null, [slot])
    this.#unlock()
    return true
  }

  /** Wakes the tenant after the others have gone to sleep. Resolves to false if that failed. */
  async wake(slot: GpuSlot): Promise<boolean> {
    await this.#lock(() => slot === this.#current || (this.#current?.tenant.active ?? 0) === 0)
    if (slot !== this.#current) return this.#switchTo(slot)
    this.#unlock()
    return true
  }

  /** Brings servers that joined a tenant into its state. */
  async align(slot: GpuSlot): Promise<void> {
    await this.#lock(() => true)
    if (slot.state === 'awake') await slot.tenant.wake()
    else if (slot.state === 'asleep') slot.state = await slot.tenant.sleep()
    this.#unlock()
  }

  /** Decides what comes next: more questions for the awake tenant, another tenant's turn, or sleep. */
  #schedule(): void {
    if (this.#isSwitching || this.#ended) return
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const now = this.#clock.now()
    const current = this.#current
    const next = this.#longestWaiting(current)
    if (!next) {
      this.#isYielding = false
      if (!current) return
      this.#admit(current)
      const { idleMs } = current.tenant.settings
      if (idleMs <= 0 || current.tenant.active > 0) return
      // The timer checks again when it runs, since questions may have been admitted meanwhile.
      if (now >= current.lastUse + idleMs) void this.#switchTo(null, [current])
      else this.#at(current.lastUse + idleMs)
      return
    }
    if (!current) {
      void this.#switchTo(next)
      return
    }
    const turnAt = since(next) + current.tenant.settings.turnMs
    if (now >= turnAt) this.#isYielding = true
    if (!this.#isYielding) this.#admit(current)
    if (current.tenant.active > 0) {
      if (!this.#isYielding) this.#at(turnAt)
      return
    }
    const freeAt = this.#isYielding ? now : current.lastUse + current.tenant.settings.lingerMs
    if (now >= freeAt) void this.#switchTo(next)
    else this.#at(freeAt)
  }

  #longestWaiting(but: GpuSlot | null): GpuSlot | null {
    let found: GpuSlot | null = null
    for (const slot of this.#slots)
      if (slot !== but && slot.isDue && (!found || since(slot) < since(found))) found = slot
    return found
  }

  #at(time: number): void {
    this.#cancelTimer = this.#clock.after(Math.max(time - this.#clock.now(), 0), () => this.#schedule())
  }

  #admit(slot: GpuSlot): void {
    slot.parking.end()
    for (const waiter of slot.waiting) {
      slot.waiting.delete(waiter)
      waiter.admit()
    }
  }

  /** Puts all other tenants, or only `sleepers`, to sleep, then wakes `next`. */
  async #switchTo(next: GpuSlot | null, sleepers?: readonly GpuSlot[]): Promise<boolean> {
    this.#cancelTimer?.()
    this.#isSwitching = true
    const before = this.#current
    this.#current = null
    let isDone = next?.state !== 'unknown' || (await this.#found(next))
    if (isDone) isDone = (await this.#allAsleep(sleepers ?? this.#slots, next)) || next?.state === 'awake'
    if (!next || !isDone) {
      this.#current = before?.state === 'awake' ? before : null
    } else if (next.state === 'awake' || (await this.#woken(next))) {
      this.#current = next
    } else isDone = false
    if (next && !isDone && !this.#ended) next.parking.rest(() => next.group.reconsider())
    this.#isYielding = false
    if (this.#current) {
      this.#current.lastUse = this.#clock.now()
      this.#admit(this.#current)
    }
    this.#unlock()
    return isDone
  }

  /** Finds out the state of an unknown tenant, because one that is already awake needs no switch. */
  async #found(slot: GpuSlot): Promise<boolean> {
    const state = await slot.tenant.find()
    if (state === null) return false
    slot.state = state
    return true
  }

  async #allAsleep(slots: Iterable<GpuSlot>, but: GpuSlot | null): Promise<boolean> {
    let isDone = true
    for (const slot of slots) if (slot !== but) isDone = (await this.#putToSleep(slot)) && isDone
    return isDone
  }

  async #woken(slot: GpuSlot): Promise<boolean> {
    const isDone = await slot.tenant.wake()
    slot.state = isDone ? 'awake' : 'unknown'
    if (isDone) slot.tenant.switched('awake')
    return isDone
  }

  async #putToSleep(slot: GpuSlot): Promise<boolean> {
    if (slot.state === 'asleep') return true
    // No question is admitted meanwhile.
    while (slot.tenant.active > 0) await this.#nextChange()
    slot.state = await slot.tenant.sleep()
    if (slot.state === 'asleep') slot.tenant.switched('asleep')
    if (slot.isShut) slot.parking.begin()
    return slot.state === 'asleep'
  }

  /** Blocks admissions and switches until `#unlock`. Resolves once `isReady`. */
  async #lock(isReady: () => boolean): Promise<void> {
    while (this.#isSwitching) await this.#nextChange()
    this.#isSwitching = true
    while (!isReady()) await this.#nextChange()
  }

  #unlock(): void {
    this.#isSwitching = false
    this.#schedule()
    this.#notify()
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#watchers.add(resolve)
    })
  }

  #notify(): void {
    for (const resolve of this.#watchers) resolve()
    this.#watchers.clear()
  }
}
