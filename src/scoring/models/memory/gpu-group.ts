import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../api/cancel-token.ts'
import { abandoned } from '../transport/upstream-error.ts'
import {
  asleep,
  full,
  type Rival,
  since,
  TenantParking,
  type TenantState,
  type Waiter,
} from './gpu-waiters.ts'

/** A tenant's place in its group. It goes along when the tenant moves to another group. */
export class GpuSlot {
  readonly tenant: Rival
  state: TenantState = 'unknown'
  group: GpuGroup
  lastUse: number
  readonly waiting = new Set<Waiter>()
  readonly parking: TenantParking

  constructor(tenant: Rival, group: GpuGroup, clock: Clock) {
    this.tenant = tenant
    this.group = group
    this.lastUse = clock.now()
    this.parking = new TenantParking(clock, tenant, this.waiting)
  }

  /** It sleeps until somebody wakes it, and its questions wait for that. */
  get isShut(): boolean {
    return this.state === 'asleep' && !this.tenant.settings.wakeOnDemand
  }

  /** Somebody waits for it, and it may be woken now. */
  get isDue(): boolean {
    return this.waiting.size > 0 && !this.parking.isResting && !this.isShut
  }
}

/** Tenants that are never awake together. One has the GPU; the others' questions wait for their turn, all at once. */
export class GpuGroup {
  readonly #clock: Clock
  readonly #places = new Set<GpuSlot>()
  #current: GpuSlot | null = null
  /** Gets no further questions: another's turn has come. */
  #isYielding = false
  #isSwitching = false
  #cancelTimer: (() => void) | null = null
  readonly #watchers = new Set<() => void>()
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  add(tenant: Rival): GpuSlot {
    const place = new GpuSlot(tenant, this, this.#clock)
    this.#places.add(place)
    return place
  }

  /** For a tenant that nobody asks any more. */
  remove(place: GpuSlot): void {
    this.#places.delete(place)
    place.parking.close()
    if (this.#current === place) this.#current = null
    this.#schedule()
    this.#tell()
  }

  /** Takes a place to another group once the questions under way are done; later ones wait for it. */
  async move(place: GpuSlot, to: GpuGroup): Promise<void> {
    await this.#hold(() => place.tenant.active === 0)
    this.#places.delete(place)
    if (this.#current === place) this.#current = null
    this.#release()
    place.group = to
    to.#places.add(place)
    if (to.#current || to.#isSwitching) {
      // Two would be awake together.
      if (place.state !== 'asleep') await to.sleep(place)
    } else if (place.state === 'awake') to.#current = place
    to.#schedule()
  }

  /** Ends the timers. */
  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
    for (const { parking } of this.#places) parking.close()
  }

  /**
   * null: the question may be asked now. Else resolves when it may; rejects with UpstreamError. The caller counts it. `isPatient`: it waits
   * for a tenant that cannot be awake, too.
   */
  enter(place: GpuSlot, stop: CancelToken, count: () => void, isPatient = false): Promise<void> | null {
    if (this.isOpen(place)) {
      count()
      return null
    }
    const { maxQueue } = place.tenant.settings
    if (place.isShut && !isPatient) return Promise.reject(asleep())
    if (place.waiting.size >= maxQueue) return Promise.reject(full())
    return new Promise((resolve, reject) => {
      const off = stop.on(() => {
        place.waiting.delete(waiter)
        reject(abandoned())
      })
      const waiter: Waiter = {
        since: this.#clock.now(),
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
      place.waiting.add(waiter)
      if (place.isShut) place.parking.begin()
      this.#schedule()
    })
  }

  /** Whether a question may be asked now. */
  isOpen(place: GpuSlot): boolean {
    return place === this.#current && !this.#isYielding && !this.#isSwitching
  }

  /** A question is done. `isUse`: it keeps the tenant awake. */
  left(place: GpuSlot, isUse: boolean): void {
    if (isUse) place.lastUse = this.#clock.now()
    if (place.tenant.active > 0) return
    this.#schedule()
    this.#tell()
  }

  /** Settings have changed: what comes next may come earlier or later. */
  reconsider(): void {
    this.#schedule()
  }

  /** Gives the memory back once the questions under way are done. Resolves to false where that failed. */
  async sleep(place: GpuSlot): Promise<boolean> {
    await this.#hold(() => place.tenant.active === 0)
    if (place.state !== 'asleep') return this.#switchTo(null, [place])
    this.#release()
    return true
  }

  /** Wakes the tenant, after the others have gone to sleep. Resolves to false where that failed. */
  async wake(place: GpuSlot): Promise<boolean> {
    await this.#hold(() => place === this.#current || (this.#current?.tenant.active ?? 0) === 0)
    if (place !== this.#current) return this.#switchTo(place)
    this.#release()
    return true
  }

  /** Brings servers that came to a tenant into its state. */
  async align(place: GpuSlot): Promise<void> {
    await this.#hold(() => true)
    if (place.state === 'awake') await place.tenant.wake()
    else if (place.state === 'asleep') place.state = await place.tenant.sleep()
    this.#release()
  }

  /** Decides what is next: more questions for the awake tenant, another's turn, or sleep. */
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
      // Who was admitted since it was set is seen when the timer runs, not when it was set.
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
    for (const place of this.#places)
      if (place !== but && place.isDue && (!found || since(place) < since(found))) found = place
    return found
  }

  #at(time: number): void {
    this.#cancelTimer = this.#clock.after(Math.max(time - this.#clock.now(), 0), () => this.#schedule())
  }

  #admit(place: GpuSlot): void {
    place.parking.end()
    for (const waiter of place.waiting) {
      place.waiting.delete(waiter)
      waiter.admit()
    }
  }

  /** Puts all others (or only `sleepers`) to sleep, then wakes `next`. */
  async #switchTo(next: GpuSlot | null, sleepers?: readonly GpuSlot[]): Promise<boolean> {
    this.#cancelTimer?.()
    this.#isSwitching = true
    const before = this.#current
    this.#current = null
    let isDone = next?.state !== 'unknown' || (await this.#found(next))
    if (isDone) isDone = (await this.#allAsleep(sleepers ?? this.#places, next)) || next?.state === 'awake'
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
    this.#release()
    return isDone
  }

  /** Finds out how an unknown tenant is: one that is awake is not woken, and needs nobody's sleep. */
  async #found(place: GpuSlot): Promise<boolean> {
    const state = await place.tenant.find()
    if (state === null) return false
    place.state = state
    return true
  }

  async #allAsleep(places: Iterable<GpuSlot>, but: GpuSlot | null): Promise<boolean> {
    let isDone = true
    for (const place of places) if (place !== but) isDone = (await this.#putToSleep(place)) && isDone
    return isDone
  }

  async #woken(place: GpuSlot): Promise<boolean> {
    const isDone = await place.tenant.wake()
    place.state = isDone ? 'awake' : 'unknown'
    if (isDone) place.tenant.switched('awake')
    return isDone
  }

  async #putToSleep(place: GpuSlot): Promise<boolean> {
    if (place.state === 'asleep') return true
    // Nobody is admitted meanwhile.
    while (place.tenant.active > 0) await this.#change()
    place.state = await place.tenant.sleep()
    if (place.state === 'asleep') place.tenant.switched('asleep')
    if (place.isShut) place.parking.begin()
    return place.state === 'asleep'
  }

  /** Lets nothing be admitted or switched until `#release`; resolves when `isReady`. */
  async #hold(isReady: () => boolean): Promise<void> {
    while (this.#isSwitching) await this.#change()
    this.#isSwitching = true
    while (!isReady()) await this.#change()
  }

  #release(): void {
    this.#isSwitching = false
    this.#schedule()
    this.#tell()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#watchers.add(resolve)
    })
  }

  #tell(): void {
    for (const resolve of this.#watchers) resolve()
    this.#watchers.clear()
  }
}
