import type { Clock } from '../clock.ts'
import type { Stop } from './abort.ts'
import { abandoned, Fault } from './fault.ts'

/** A model that shares its GPU memory with others, as its group sees it. */
export interface Tenant {
  readonly model: string
  readonly idleMs: number
  readonly lingerMs: number
  readonly turnMs: number
  readonly wakeOnDemand: boolean
  /** Questions that wait for its turn; more are refused. */
  readonly maxQueue: number
  /** Give and take back the memory of all its instances. Resolve to false where that failed. */
  sleep(): Promise<boolean>
  wake(): Promise<boolean>
}

/** A tenant's hold on its group. */
export interface Seat {
  readonly state: 'unknown' | 'awake' | 'asleep'
  /** Waits until the model is awake and may take a question; `leave` must follow. Rejects with Fault. */
  enter(stop: Stop): Promise<void> | null
  leave(): void
  /** Gives the memory back once the questions under way are done. Resolves to false where that failed. */
  sleep(): Promise<boolean>
  /** Wakes the model, after its group's others have gone to sleep. Resolves to false where that failed. */
  wake(): Promise<boolean>
  /** For when no question is under way or waiting any more. */
  remove(): void
}

interface Waiter {
  readonly since: number
  readonly admit: () => void
  readonly refuse: (fault: Fault) => void
}

interface Place {
  readonly tenant: Tenant
  /** `unknown`: at the start, or after a failure; taken for awake when another needs the memory. */
  state: 'unknown' | 'awake' | 'asleep'
  active: number
  readonly waiting: Set<Waiter>
}

/** Models that are never awake together. One has the GPU; the others' questions wait for their turn, all at once. */
export class GpuGroup {
  readonly #clock: Clock
  readonly #places = new Set<Place>()
  readonly #switched: (model: string, state: 'awake' | 'asleep') => void
  #current: Place | null = null
  /** Gets no further questions: another's turn has come. */
  #isYielding = false
  #isSwitching = false
  #lastUse = 0
  #cancelTimer: (() => void) | null = null
  readonly #watchers = new Set<() => void>()
  #ended = false

  constructor(clock: Clock, switched: (model: string, state: 'awake' | 'asleep') => void) {
    this.#clock = clock
    this.#switched = switched
  }

  add(tenant: Tenant): Seat {
    const place: Place = { tenant, state: 'unknown', active: 0, waiting: new Set() }
    this.#places.add(place)
    return {
      get state() {
        return place.state
      },
      enter: (stop) => this.#enter(place, stop),
      leave: () => this.#leave(place),
      sleep: () => this.#sleep(place),
      wake: () => this.#wake(place),
      remove: () => {
        this.#places.delete(place)
        if (this.#current === place) this.#current = null
      },
    }
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
  }

  #enter(place: Place, stop: Stop): Promise<void> | null {
    if (place === this.#current && !this.#isYielding && !this.#isSwitching) {
      place.active += 1
      return null
    }
    if (!place.tenant.wakeOnDemand && place.state === 'asleep') return Promise.reject(asleep())
    if (place.waiting.size >= place.tenant.maxQueue) return Promise.reject(full())
    return new Promise((resolve, reject) => {
      const off = stop.on(() => {
        place.waiting.delete(waiter)
        reject(abandoned())
      })
      const waiter: Waiter = {
        since: this.#clock.now(),
        admit() {
          off()
          resolve()
        },
        refuse(fault) {
          off()
          reject(fault)
        },
      }
      place.waiting.add(waiter)
      this.#schedule()
    })
  }

  #leave(place: Place): void {
    place.active -= 1
    this.#lastUse = this.#clock.now()
    if (place.active > 0) return
    this.#schedule()
    this.#tell()
  }

  async #sleep(place: Place): Promise<boolean> {
    await this.#hold(() => place.active === 0)
    if (place.state !== 'asleep') return this.#switchTo(null, [place])
    this.#release()
    return true
  }

  async #wake(place: Place): Promise<boolean> {
    await this.#hold(() => place === this.#current || this.#current === null || this.#current.active === 0)
    if (place !== this.#current) return this.#switchTo(place)
    this.#release()
    return true
  }

  /** Decides what is next: more questions for the awake model, another's turn, or sleep. */
  #schedule(): void {
    if (this.#isSwitching || this.#ended) return
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const now = this.#clock.now()
    const current = this.#current
    const next = this.#longestWaiting(current)
    if (!next) {
      this.#isYielding = false
      if (current) {
        this.#admit(current)
        const { idleMs } = current.tenant
        if (idleMs > 0 && current.active === 0)
          this.#at(this.#lastUse + idleMs, () => void this.#switchTo(null, [current]))
      }
      return
    }
    if (!current) {
      void this.#switchTo(next)
      return
    }
    const turnAt = since(next) + current.tenant.turnMs
    if (now >= turnAt) this.#isYielding = true
    if (!this.#isYielding) this.#admit(current)
    if (current.active > 0) {
      if (!this.#isYielding) this.#at(turnAt, () => this.#schedule())
      return
    }
    const freeAt = this.#isYielding ? now : this.#lastUse + current.tenant.lingerMs
    if (now >= freeAt) void this.#switchTo(next)
    else this.#at(freeAt, () => this.#schedule())
  }

  #longestWaiting(but: Place | null): Place | null {
    let found: Place | null = null
    for (const place of this.#places)
      if (place !== but && place.waiting.size > 0 && (!found || since(place) < since(found))) found = place
    return found
  }

  #at(time: number, fn: () => void): void {
    this.#cancelTimer = this.#clock.after(Math.max(time - this.#clock.now(), 0), fn)
  }

  #admit(place: Place): void {
    for (const waiter of place.waiting) {
      place.waiting.delete(waiter)
      place.active += 1
      waiter.admit()
    }
  }

  /** Puts all others (or only `sleepers`) to sleep, then wakes `next`. */
  async #switchTo(next: Place | null, sleepers?: readonly Place[]): Promise<boolean> {
    this.#cancelTimer?.()
    this.#isSwitching = true
    const awake = this.#current
    this.#current = null
    let isDone = true
    for (const place of sleepers ?? this.#places)
      if (place !== next) isDone = (await this.#putToSleep(place)) && isDone
    if (!next) {
      this.#current = awake?.state === 'awake' ? awake : null
    } else if (isDone && (await next.tenant.wake())) {
      next.state = 'awake'
      this.#current = next
      this.#switched(next.tenant.model, 'awake')
    } else {
      isDone = false
      next.state = 'unknown'
      for (const waiter of next.waiting) waiter.refuse(asleep())
      next.waiting.clear()
    }
    this.#isYielding = false
    this.#lastUse = this.#clock.now()
    if (this.#current) this.#admit(this.#current)
    this.#release()
    return isDone
  }

  async #putToSleep(place: Place): Promise<boolean> {
    if (place.state === 'asleep') return true
    const isDone = await place.tenant.sleep()
    place.state = isDone ? 'asleep' : 'unknown'
    if (isDone) this.#switched(place.tenant.model, 'asleep')
    return isDone
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

const since = ({ waiting }: Place): number => {
  for (const waiter of waiting) return waiter.since
  return Number.POSITIVE_INFINITY
}

const full = (): Fault =>
  new Fault('overloaded', 'too many questions wait for this model', { remedy: 'give-up', blame: false })

const asleep = (): Fault =>
  new Fault('judge_unreachable', 'the model sleeps, or cannot be woken', { remedy: 'give-up', blame: false })
