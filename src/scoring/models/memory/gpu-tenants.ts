import type { Clock } from '../../../core/clock.ts'
import type { ModelEvents } from '../interface/events.ts'
import { GpuGroup } from './gpu-group.ts'
import { GpuLease, type LeaseOwner, ServersTenant } from './gpu-tenant.ts'
import { ServerMemory } from './server-memory.ts'

/**
 * All tenants of a process. A model joins the tenant that already has one of its servers, so a reload, and a second model on
 * the same servers, share one. The memory state of each server is kept by its address.
 */
export class GpuTenants {
  readonly #clock: Clock
  readonly #events: ModelEvents
  readonly #groups = new Map<string, GpuGroup>()
  readonly #servers = new Map<string, ServerMemory>()
  readonly #tenants = new Set<ServersTenant>()
  readonly #leases = new Set<GpuLease>()
  #made = 0

  constructor(clock: Clock, events: ModelEvents) {
    this.#clock = clock
    this.#events = events
  }

  /** Opens a lease for a model whose pool has no members yet. */
  open(owner: LeaseOwner): GpuLease {
    const lease = new GpuLease(owner, {
      changed: () => this.#settle(lease),
      trust: (address) => this.#trust(address),
      remove: () => this.#remove(lease),
    })
    this.#leases.add(lease)
    owner.pool.membersChanged = () => this.#settle(lease)
    return lease
  }

  /** Call after the pool's first members have joined: a lease without servers would get a tenant of its own. */
  settle(lease: GpuLease): void {
    lease.isSettled = true
    this.#settle(lease)
  }

  /** Call on a reload: orders that servers refused for good may be tried again. */
  retry(): void {
    for (const server of this.#servers.values()) server.retry()
  }

  end(): void {
    for (const group of this.#groups.values()) group.end()
  }

  #settle(lease: GpuLease): void {
    for (const { endpoint } of lease.members) this.#servers.get(endpoint.address)?.mark(endpoint)
    if (!lease.isSettled) return
    this.#forget()
    if (!lease.tenant) this.#join(lease)
    const { tenant } = lease
    if (!tenant) return
    // The questions of a model without a lifecycle count and wake servers that it shares with this tenant.
    for (const other of this.#leases)
      if (
        !other.tenant &&
        other.isSettled &&
        other.members.some(({ endpoint }) => tenant.has(endpoint.address))
      )
        tenant.join(other)
    tenant.changed()
  }

  #join(lease: GpuLease): void {
    let found: ServersTenant | null = null
    let most = 0
    for (const tenant of this.#tenants) {
      const shared = lease.members.filter(({ endpoint }) => tenant.has(endpoint.address)).length
      if (shared <= most) continue
      most = shared
      found = tenant
    }
    // Without instances yet, match by model name.
    if (!found && lease.members.length === 0)
      for (const tenant of this.#tenants) if (tenant.isOf(lease.owner.model)) found = tenant
    if (!found && !lease.sleeps) return
    if (!found) {
      found = new ServersTenant({
        clock: this.#clock,
        events: this.#events,
        serverOf: (address) => this.#serverOf(address),
        othersNeed: (address, own) => this.#isNeeded(address, own),
        groupOf: (name) => this.#groupOf(name),
        ownGroup: `servers ${this.#made++}`,
        group: lease.owner.config.gpu_group,
      })
      this.#tenants.add(found)
    }
    found.join(lease)
  }

  #remove(lease: GpuLease): void {
    this.#leases.delete(lease)
    lease.owner.pool.membersChanged = () => {}
    const { tenant } = lease
    tenant?.leave(lease)
    if (tenant?.isEmpty) this.#tenants.delete(tenant)
    this.#forget()
  }

  /** Remembers sleeping servers even if no model uses them: a redundant order would crash some. */
  #forget(): void {
    const asked = new Set<string>()
    for (const { members } of this.#leases) for (const { endpoint } of members) asked.add(endpoint.address)
    for (const [address, { isOut }] of this.#servers)
      if (!isOut && !asked.has(address)) this.#servers.delete(address)
  }

  #serverOf(address: string): ServerMemory {
    let server = this.#servers.get(address)
    if (!server) {
      server = new ServerMemory()
      this.#servers.set(address, server)
    }
    return server
  }

  #trust(address: string): void {
    this.#servers.get(address)?.trust()
    for (const { members } of this.#leases)
      for (const { endpoint } of members) if (endpoint.address === address) endpoint.mark({ doubt: '' })
  }

  /** If the sets of two tenants come to overlap, a shared server sleeps only while neither is awake. */
  #isNeeded(address: string, own: ServersTenant): boolean {
    for (const tenant of this.#tenants)
      if (tenant !== own && tenant.has(address) && (tenant.state === 'awake' || tenant.active > 0))
        return true
    return false
  }

  #groupOf(name: string): GpuGroup {
    let group = this.#groups.get(name)
    if (!group) {
      group = new GpuGroup(this.#clock)
      this.#groups.set(name, group)
    }
    return group
  }
}
