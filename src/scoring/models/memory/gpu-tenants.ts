import type { Clock } from '../../../core/clock.ts'
import type { ModelEvents } from '../api/events.ts'
import { GpuGroup } from './gpu-group.ts'
import type { Seat } from './gpu-tenant.ts'
import { ModelSeat, type SeatOwner, ServersTenant } from './gpu-tenant.ts'
import { ServerMemory } from './server-memory.ts'

/**
 * Whose memory is given back together: tenants, each the servers of the models that ask them. A model joins the tenant that
 * has one of its servers already, so that a reload, and a second model of the same servers, share one. The memory of each
 * server is known by its address for as long as the process lives.
 */
export class GpuTenants {
  readonly #clock: Clock
  readonly #events: ModelEvents
  readonly #groups = new Map<string, GpuGroup>()
  readonly #servers = new Map<string, ServerMemory>()
  readonly #tenants = new Set<ServersTenant>()
  readonly #seats = new Set<ModelSeat>()
  #made = 0

  constructor(clock: Clock, events: ModelEvents) {
    this.#clock = clock
    this.#events = events
  }

  /** A seat for a model whose pool has no members yet. */
  open(owner: SeatOwner): Seat {
    const seat = new ModelSeat(owner, {
      changed: () => this.#settle(seat),
      trust: (address) => this.#trust(address),
      remove: () => this.#remove(seat),
    })
    this.#seats.add(seat)
    owner.pool.membersChanged = () => this.#settle(seat)
    return seat
  }

  /** After the pool's first members have come: a tenant without servers would be one of its own. */
  settle(seat: Seat): void {
    if (seat instanceof ModelSeat) {
      seat.isSettled = true
      this.#settle(seat)
    }
  }

  /** The configs are read anew: what servers have refused for good is tried once more. */
  retry(): void {
    for (const server of this.#servers.values()) server.retry()
  }

  end(): void {
    for (const group of this.#groups.values()) group.end()
  }

  #settle(seat: ModelSeat): void {
    for (const { endpoint } of seat.members) this.#servers.get(endpoint.address)?.mark(endpoint)
    if (!seat.isSettled) return
    this.#forget()
    if (!seat.tenant) this.#join(seat)
    const { tenant } = seat
    if (!tenant) return
    // A model that never sleeps, at servers that do: its questions count, and wake them.
    for (const other of this.#seats)
      if (
        !other.tenant &&
        other.isSettled &&
        other.members.some(({ endpoint }) => tenant.has(endpoint.address))
      )
        tenant.join(other)
    tenant.changed()
  }

  #join(seat: ModelSeat): void {
    let found: ServersTenant | null = null
    let most = 0
    for (const tenant of this.#tenants) {
      const shared = seat.members.filter(({ endpoint }) => tenant.has(endpoint.address)).length
      if (shared <= most) continue
      most = shared
      found = tenant
    }
    // Without an instance yet, it is known by its name.
    if (!found && seat.members.length === 0)
      for (const tenant of this.#tenants) if (tenant.isOf(seat.owner.model)) found = tenant
    if (!found && !seat.sleeps) return
    if (!found) {
      found = new ServersTenant({
        clock: this.#clock,
        events: this.#events,
        serverOf: (address) => this.#serverOf(address),
        othersNeed: (address, own) => this.#isNeeded(address, own),
        groupOf: (name) => this.#groupOf(name),
        ownGroup: `servers ${this.#made++}`,
        group: seat.owner.config.gpu_group,
      })
      this.#tenants.add(found)
    }
    found.join(seat)
  }

  #remove(seat: ModelSeat): void {
    this.#seats.delete(seat)
    seat.owner.pool.membersChanged = () => {}
    const { tenant } = seat
    tenant?.leave(seat)
    if (tenant?.isEmpty) this.#tenants.delete(tenant)
    this.#forget()
  }

  /** What sleeps is remembered although nobody asks it now: an order too many would end it. */
  #forget(): void {
    const asked = new Set<string>()
    for (const { members } of this.#seats) for (const { endpoint } of members) asked.add(endpoint.address)
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
    for (const { members } of this.#seats)
      for (const { endpoint } of members) if (endpoint.address === address) endpoint.mark({ doubt: '' })
  }

  /** A server of two tenants, whose sets came to overlap later, sleeps when neither is awake. */
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
