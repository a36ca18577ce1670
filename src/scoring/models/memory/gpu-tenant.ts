import type { Clock } from '../../../core/clock.ts'
import type { Backend } from '../backends/backend.ts'
import type { CancelToken } from '../interface/cancel-token.ts'
import type { ModelEvents } from '../interface/events.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import type { InstancePool } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { GpuGroup, GpuSlot } from './gpu-group.ts'
import type { GpuTenant, TenantSettings, TenantState } from './gpu-waiters.ts'
import type { MemoryOrder, ServerMemory } from './server-memory.ts'

/** A model of one loaded config, and its servers. */
export interface LeaseOwner {
  readonly model: string
  readonly config: ModelConfig
  readonly pool: InstancePool
  readonly memory: Backend['memory']
  readonly headers: Record<string, string>
}

/** A model's lease on the GPU memory of its servers: its questions are counted, and wait while the servers sleep. */
export class GpuLease {
  readonly owner: LeaseOwner
  tenant: ServersTenant | null = null
  /** Its pool has all members that its config names. */
  isSettled = false
  /** Calls in flight, including borrowed ones. */
  active = 0
  readonly #on: { changed(): void; trust(address: string): void; remove(): void }
  readonly #count = () => {
    this.active += 1
  }

  constructor(owner: LeaseOwner, on: { changed(): void; trust(address: string): void; remove(): void }) {
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

  /** Since when questions wait while the model cannot be awake, on the clock; null: none waits. */
  get parkedSince(): number | null {
    return this.tenant?.slot.parking.since ?? null
  }

  /** Why the last order failed, with the instance; '' if it did not. */
  get failure(): string {
    return this.tenant?.failure ?? ''
  }

  /** Waits until the model is awake and may take a question; null: it is. `leave` must follow. Rejects with UpstreamError. */
  enter(stop: CancelToken): Promise<void> | null {
    const { tenant } = this
    if (tenant) return tenant.slot.group.enter(tenant.slot, stop, this.#count, this.owner.pool.isPatient)
    this.active += 1
    return null
  }

  leave(): void {
    this.active -= 1
    this.tenant?.left(true)
  }

  /** For a call that neither waits nor keeps the model awake. False: it may not be made now. `giveBack` must follow a true. */
  borrow(): boolean {
    const { tenant } = this
    if (tenant && !tenant.slot.group.isOpen(tenant.slot)) return false
    this.active += 1
    return true
  }

  giveBack(): void {
    this.active -= 1
    this.tenant?.left(false)
  }

  /** Releases the memory once the questions in flight are done. Resolves to false if that failed. */
  async sleep(): Promise<boolean> {
    this.tenant?.retry()
    return this.tenant ? this.tenant.slot.group.sleep(this.tenant.slot) : false
  }

  /** Wakes the model after the others of its group have gone to sleep. Resolves to false if that failed. */
  async wake(): Promise<boolean> {
    return this.tenant ? this.tenant.slot.group.wake(this.tenant.slot) : true
  }

  /** Trusts an instance's answers again, whatever it said to the known question. */
  trust(address: string): void {
    this.#on.trust(address)
  }

  /** Call only when no question is in flight or waiting. */
  remove(): void {
    this.#on.remove()
  }
}

/** What a tenant needs from GpuTenants. */
interface TenantParts {
  readonly clock: Clock
  readonly events: ModelEvents
  /** Name of the group for a tenant that shares its GPU with no other. */
  readonly ownGroup: string
  /** The initial gpu_group. */
  readonly group: string | undefined
  serverOf(address: string): ServerMemory
  othersNeed(address: string, own: ServersTenant): boolean
  groupOf(name: string): GpuGroup
}

/** A set of servers, and the leases of the models that share them. */
export class ServersTenant implements GpuTenant {
  readonly slot: GpuSlot
  failure = ''
  readonly #parts: TenantParts
  readonly #leases = new Set<GpuLease>()
  #groupName: string
  #moving: Promise<void> = Promise.resolve()

  constructor(parts: TenantParts) {
    this.#parts = parts
    this.#groupName = this.#nameOf(parts.group)
    this.slot = parts.groupOf(this.#groupName).add(this)
  }

  get state(): TenantState {
    return this.slot.state
  }

  get active(): number {
    let sum = 0
    for (const { active } of this.#leases) sum += active
    return sum
  }

  get isEmpty(): boolean {
    return this.#leases.size === 0
  }

  /** From the latest config that has a lifecycle or gpu_group. */
  get settings(): TenantSettings {
    const { lifecycle } = this.#latest()?.owner.config ?? {}
    let maxQueue = 0
    for (const { owner } of this.#leases) maxQueue = Math.max(maxQueue, owner.config.max_queue)
    return {
      idleMs: (lifecycle?.sleep_after_idle_s ?? 0) * 1000,
      lingerMs: lifecycle?.linger_ms ?? 250,
      turnMs: (lifecycle?.turn_s ?? 60) * 1000,
      wakeOnDemand: lifecycle?.wake_on_demand ?? true,
      maxQueue,
    }
  }

  has(address: string): boolean {
    for (const { members } of this.#leases)
      if (members.some(({ endpoint }) => endpoint.address === address)) return true
    return false
  }

  isOf(model: string): boolean {
    for (const { owner } of this.#leases) if (owner.model === model) return true
    return false
  }

  join(lease: GpuLease): void {
    lease.tenant = this
    this.#leases.add(lease)
    this.changed()
  }

  leave(lease: GpuLease): void {
    lease.tenant = null
    this.#leases.delete(lease)
    if (this.isEmpty) this.slot.group.remove(this.slot)
    else {
      this.changed()
      // Its calls no longer count, and a switch may wait for the last one.
      this.left(false)
    }
  }

  left(isUse: boolean): void {
    this.slot.group.left(this.slot, isUse)
  }

  /** Call when servers or settings have changed. */
  changed(): void {
    const name = this.#nameOf(this.#latest()?.owner.config.gpu_group)
    if (name !== this.#groupName) {
      this.#groupName = name
      const to = this.#parts.groupOf(name)
      this.#moving = this.#moving.then(() => this.slot.group.move(this.slot, to))
    } else this.slot.group.reconsider()
    const isOdd = this.#orders().some(([server]) =>
      this.state === 'awake'
        ? server.state === 'asleep'
        : this.state === 'asleep' && server.state !== 'asleep',
    )
    if (isOdd) void this.#moving.then(() => this.slot.group.align(this.slot))
  }

  #nameOf(group: string | undefined): string {
    return group === undefined ? this.#parts.ownGroup : `group ${group}`
  }

  /** Lets orders that a server refused for good be tried again. */
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
    if (done.every(Boolean)) return this.#leasesCanSleep() ? 'asleep' : 'unknown'
    return orders.every(([server]) => server.state === 'awake') ? 'awake' : 'unknown'
  }

  async wake(): Promise<boolean> {
    this.failure = ''
    const done = await Promise.all(this.#orders().map(([server, order]) => server.wake(order)))
    return done.includes(true)
  }

  switched(state: 'awake' | 'asleep'): void {
    const names = new Set([...this.#leases].filter(({ sleeps }) => sleeps).map(({ owner }) => owner.model))
    for (const model of names) this.#parts.events.switched?.({ model, state })
  }

  parked(isParked: boolean): void {
    const names = new Set([...this.#leases].map(({ owner }) => owner.model))
    for (const model of names) this.#parts.events.parked?.({ model, isParked })
  }

  #latest(): GpuLease | undefined {
    let latest: GpuLease | undefined
    for (const lease of this.#leases) if (lease.sleeps) latest = lease
    return latest
  }

  /** For servers that cannot sleep, every order fails. */
  #leasesCanSleep(): boolean {
    return [...this.#leases].some(({ owner }) => owner.memory !== null)
  }

  /** One order for each server, from the latest config that uses it. */
  #orders(): readonly (readonly [ServerMemory, MemoryOrder])[] {
    const orders = new Map<string, readonly [ServerMemory, MemoryOrder]>()
    for (const { owner, members, sleeps } of this.#leases) {
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
