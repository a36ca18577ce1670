import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../api/cancel-token.ts'
import type { ModelEvents } from '../api/events.ts'
import type { ModelConfig } from '../api/model-config.ts'
import type { Backend } from '../backends/backend.ts'
import type { InstancePool } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { GpuGroup, GpuSlot } from './gpu-group.ts'
import type { Rival, TenantSettings, TenantState } from './gpu-waiters.ts'
import type { MemoryOrder, ServerMemory } from './server-memory.ts'

/** A model's hold on the memory of its servers: what it asks is counted, and it waits where they sleep. */
export interface Seat {
  readonly state: TenantState
  /** Since when questions wait while it cannot be awake, on the clock; null: none does. */
  readonly parkedSince: number | null
  /** Waits until the model is awake and may take a question; `leave` must follow. Rejects with UpstreamError. */
  enter(stop: CancelToken): Promise<void> | null
  leave(): void
  /** For a call that neither waits nor keeps the model awake: whether it may be made now. `giveBack` must follow. */
  borrow(): boolean
  giveBack(): void
  /** Why the last order failed, with the instance; '' where it did not. */
  readonly failure: string
  /** Gives the memory back once the questions under way are done. Resolves to false where that failed. */
  sleep(): Promise<boolean>
  /** Wakes the model, after its group's others have gone to sleep. Resolves to false where that failed. */
  wake(): Promise<boolean>
  /** An instance's answers are trusted again, whatever it said to the known question. */
  trust(address: string): void
  /** For when no question is under way or waiting any more. */
  remove(): void
}

/** One reading of a model's config, and the servers that it asks. */
export interface SeatOwner {
  readonly model: string
  readonly config: ModelConfig
  readonly pool: InstancePool
  readonly memory: Backend['memory']
  readonly headers: Record<string, string>
}

/** A seat as the tenants see it. */
export class ModelSeat implements Seat {
  readonly owner: SeatOwner
  tenant: ServersTenant | null = null
  /** Its pool has the members that its config names. */
  isSettled = false
  /** Calls under way, borrowed ones too. */
  active = 0
  readonly #on: { changed(): void; trust(address: string): void; remove(): void }
  readonly #count = () => {
    this.active += 1
  }

  constructor(owner: SeatOwner, on: { changed(): void; trust(address: string): void; remove(): void }) {
    this.owner = owner
    this.#on = on
  }

  get members(): readonly PoolMember[] {
    return this.owner.pool.members
  }

  /** Whether its config says that it sleeps. */
  get sleeps(): boolean {
    const { lifecycle, gpu_group } = this.owner.config
    return lifecycle !== undefined || gpu_group !== undefined
  }

  get state(): TenantState {
    return this.tenant?.state ?? 'awake'
  }

  get parkedSince(): number | null {
    return this.tenant?.place.parking.since ?? null
  }

  get failure(): string {
    return this.tenant?.failure ?? ''
  }

  enter(stop: CancelToken): Promise<void> | null {
    const { tenant } = this
    if (tenant) return tenant.place.group.enter(tenant.place, stop, this.#count, this.owner.pool.isPatient)
    this.active += 1
    return null
  }

  leave(): void {
    this.active -= 1
    this.tenant?.left(true)
  }

  borrow(): boolean {
    const { tenant } = this
    if (tenant && !tenant.place.group.isOpen(tenant.place)) return false
    this.active += 1
    return true
  }

  giveBack(): void {
    this.active -= 1
    this.tenant?.left(false)
  }

  async sleep(): Promise<boolean> {
    this.tenant?.retry()
    return this.tenant ? this.tenant.place.group.sleep(this.tenant.place) : false
  }

  async wake(): Promise<boolean> {
    return this.tenant ? this.tenant.place.group.wake(this.tenant.place) : true
  }

  trust(address: string): void {
    this.#on.trust(address)
  }

  remove(): void {
    this.#on.remove()
  }
}

/** What a tenant knows of the rest of the house. */
export interface TenantParts {
  readonly clock: Clock
  readonly events: ModelEvents
  /** Of a tenant that shares its GPU with no other. */
  readonly ownGroup: string
  /** The gpu_group that it is in at first. */
  readonly group: string | undefined
  serverOf(address: string): ServerMemory
  othersNeed(address: string, own: ServersTenant): boolean
  groupOf(name: string): GpuGroup
}

/** The servers of the models that share them. */
export class ServersTenant implements Rival {
  readonly place: GpuSlot
  failure = ''
  readonly #parts: TenantParts
  readonly #seats = new Set<ModelSeat>()
  #groupName: string
  #moving: Promise<void> = Promise.resolve()

  constructor(parts: TenantParts) {
    this.#parts = parts
    this.#groupName = this.#nameOf(parts.group)
    this.place = parts.groupOf(this.#groupName).add(this)
  }

  get state(): TenantState {
    return this.place.state
  }

  get active(): number {
    let sum = 0
    for (const { active } of this.#seats) sum += active
    return sum
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0
  }

  /** Of the latest reading that has any. */
  get settings(): TenantSettings {
    const { lifecycle } = this.#latest()?.owner.config ?? {}
    let maxQueue = 0
    for (const { owner } of this.#seats) maxQueue = Math.max(maxQueue, owner.config.max_queue)
    return {
      idleMs: (lifecycle?.sleep_after_idle_s ?? 0) * 1000,
      lingerMs: lifecycle?.linger_ms ?? 250,
      turnMs: (lifecycle?.turn_s ?? 60) * 1000,
      wakeOnDemand: lifecycle?.wake_on_demand ?? true,
      maxQueue,
    }
  }

  has(address: string): boolean {
    for (const { members } of this.#seats)
      if (members.some(({ endpoint }) => endpoint.address === address)) return true
    return false
  }

  isOf(model: string): boolean {
    for (const { owner } of this.#seats) if (owner.model === model) return true
    return false
  }

  join(seat: ModelSeat): void {
    seat.tenant = this
    this.#seats.add(seat)
    this.changed()
  }

  leave(seat: ModelSeat): void {
    seat.tenant = null
    this.#seats.delete(seat)
    if (this.isEmpty) this.place.group.remove(this.place)
    else {
      this.changed()
      // Its calls count no more, and somebody may wait for the last one.
      this.left(false)
    }
  }

  left(isUse: boolean): void {
    this.place.group.left(this.place, isUse)
  }

  /** Servers or settings are others now. */
  changed(): void {
    const name = this.#nameOf(this.#latest()?.owner.config.gpu_group)
    if (name !== this.#groupName) {
      this.#groupName = name
      const to = this.#parts.groupOf(name)
      this.#moving = this.#moving.then(() => this.place.group.move(this.place, to))
    } else this.place.group.reconsider()
    const isOdd = this.#orders().some(([server]) =>
      this.state === 'awake'
        ? server.state === 'asleep'
        : this.state === 'asleep' && server.state !== 'asleep',
    )
    if (isOdd) void this.#moving.then(() => this.place.group.align(this.place))
  }

  #nameOf(group: string | undefined): string {
    return group === undefined ? this.#parts.ownGroup : `group ${group}`
  }

  /** What a server has refused for good is tried once more. */
  retry(): void {
    for (const [server] of this.#orders()) server.retry()
  }

  async find(): Promise<TenantState | null> {
    this.failure = ''
    const orders = this.#orders()
    const found = await Promise.all(orders.map(([server, order]) => server.find(order)))
    if (!found.includes(true)) return null
    const states = orders.map(([server]) => server.state)
    if (states.includes('awake') && !states.includes('asleep')) return 'awake'
    return states.every((state) => state === 'asleep') ? 'asleep' : 'unknown'
  }

  async sleep(): Promise<TenantState> {
    this.failure = ''
    const orders = this.#orders().filter(
      ([, { endpoint }]) => !this.#parts.othersNeed(endpoint.address, this),
    )
    const done = await Promise.all(orders.map(([server, order]) => server.sleep(order)))
    if (done.every(Boolean)) return this.#seatsCanSleep() ? 'asleep' : 'unknown'
    return orders.every(([server]) => server.state === 'awake') ? 'awake' : 'unknown'
  }

  async wake(): Promise<boolean> {
    this.failure = ''
    const done = await Promise.all(this.#orders().map(([server, order]) => server.wake(order)))
    return done.includes(true)
  }

  switched(state: 'awake' | 'asleep'): void {
    const names = new Set([...this.#seats].filter(({ sleeps }) => sleeps).map(({ owner }) => owner.model))
    for (const model of names) this.#parts.events.switched?.({ model, state })
  }

  parked(isParked: boolean): void {
    const names = new Set([...this.#seats].map(({ owner }) => owner.model))
    for (const model of names) this.#parts.events.parked?.({ model, isParked })
  }

  #latest(): ModelSeat | undefined {
    let latest: ModelSeat | undefined
    for (const seat of this.#seats) if (seat.sleeps) latest = seat
    return latest
  }

  /** A kind of server that cannot sleep is one whose orders fail. */
  #seatsCanSleep(): boolean {
    return [...this.#seats].some(({ owner }) => owner.memory !== null)
  }

  /** One for each server, by the latest reading that asks it. */
  #orders(): readonly (readonly [ServerMemory, MemoryOrder])[] {
    const orders = new Map<string, readonly [ServerMemory, MemoryOrder]>()
    for (const { owner, members, sleeps } of this.#seats) {
      const { config, headers, memory, model } = owner
      if (!memory) continue
      for (const { endpoint } of members) {
        if (!sleeps && orders.has(endpoint.address)) continue
        orders.set(endpoint.address, [
          this.#parts.serverOf(endpoint.address),
          {
            clock: this.#parts.clock,
            endpoint,
            backend: memory,
            headers,
            model: config.model,
            level: config.lifecycle?.level ?? 1,
            timeoutMs: (config.lifecycle?.timeout_s ?? 120) * 1000,
            failed: (order, reason, isNews) => {
              this.failure = `${endpoint.address}: ${reason}`
              if (!isNews) return
              this.#parts.events.orderFailed?.({ model, instance: endpoint.address, order, reason })
            },
          },
        ])
      }
    }
    return [...orders.values()]
  }
}
