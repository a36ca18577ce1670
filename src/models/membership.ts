import { GatewayError } from '../errors.ts'
import { addressOf, isAllowed } from './address.ts'
import type { Member } from './balance.ts'
import { watchHealth } from './health.ts'
import type { Model } from './model.ts'
import type { InstanceConfig } from './model-config.ts'
import type { Registry } from './registry.ts'

/** Which instances serve one model: those of its config, and what came and went since. */
export class Membership {
  readonly #model: Model
  readonly #registry: Registry
  readonly #probes = new Map<Member, () => void>()

  constructor(model: Model, registry: Registry) {
    this.#model = model
    this.#registry = registry
    for (const place of model.config.instances) this.#join(place)
  }

  /** Adds an instance, or takes a draining one back; its address. Throws RG_FORBIDDEN for one outside `allow`. */
  add(place: InstanceConfig): string {
    const { config, parts } = this.#model
    const address = addressOf(urlOf(place))
    if (!this.isConfigured(address) && !isAllowed(address, config.allow))
      throw new GatewayError('RG_FORBIDDEN', `${address} is not within the model's 'allow' patterns`)
    const known = this.#find(address)
    if (!known) this.#join(place)
    else if (known.draining) {
      known.draining = false
      known.instance.tell()
    }
    parts.dispatcher.pool.changed()
    return address
  }

  /** Whether the config itself names the address. */
  isConfigured(address: string): boolean {
    return this.#model.config.instances.some((own) => addressOf(urlOf(own)) === address)
  }

  /** Gives the instance no further questions; resolves when its last call for this model has come back. */
  async drain(url: string): Promise<void> {
    const member = this.#known(url)
    member.draining = true
    this.#model.parts.dispatcher.pool.changed()
    // Taken back and drained again since it was told of, it may have calls under way.
    do await idle(member)
    while (member.draining && member.inFlight > 0)
  }

  /** Keeps questions from an instance that answers wrongly, or (null) gives it questions again. */
  suspect(address: string, reason: string | null): void {
    const member = this.#find(address)
    if (!member || member.suspect === (reason !== null)) return
    const { pool, events } = this.#model.parts.dispatcher
    member.suspect = reason !== null
    if (reason === null) events.readmitted?.({ instance: address })
    else events.ejected?.({ instance: address, reason })
    pool.changed()
  }

  /** Drains the instance, then forgets it. One that was added again meanwhile stays. */
  async remove(url: string): Promise<void> {
    const member = this.#known(url)
    await this.drain(url)
    if (member.draining && member.inFlight === 0) await this.#leave(member)
  }

  get addresses(): string[] {
    return this.#model.parts.dispatcher.pool.members.map(({ instance }) => instance.address)
  }

  /** Ends the probes. */
  end(): void {
    for (const end of this.#probes.values()) end()
    this.#probes.clear()
  }

  /** Removes all instances once the model's questions are answered. */
  async retire(): Promise<void> {
    await this.#model.quiet()
    this.end()
    this.#model.parts.seat?.remove()
    await Promise.all(this.addresses.map((address) => this.remove(address)))
  }

  #find(address: string): Member | undefined {
    return this.#model.parts.dispatcher.pool.members.find(({ instance }) => instance.address === address)
  }

  #known(url: string): Member {
    const member = this.#find(addressOf(url))
    if (!member) throw new GatewayError('RG_NOT_FOUND', `${url} is no instance of this model`)
    return member
  }

  #join(place: InstanceConfig): void {
    const { config, parts } = this.#model
    const { dispatcher, backend, headers } = parts
    const { pool, clock, events } = dispatcher
    const member = this.#registry.memberOf(config, place)
    pool.add(member)
    const { interval_s, timeout_s, failures, model } = config.health
    if (interval_s === 0) return
    const end = watchHealth(
      member,
      {
        clock,
        headers,
        healthPath: backend.healthPath,
        modelsPath: model ? backend.modelsPath : '',
        names: new Set([config.model, ...config.reports_as]),
        intervalMs: interval_s * 1000,
        timeoutMs: timeout_s * 1000,
        failures,
      },
      {
        ejected: (reason) => events.ejected?.({ instance: member.instance.address, reason }),
        readmitted: () => events.readmitted?.({ instance: member.instance.address }),
        changed: () => pool.changed(),
      },
    )
    this.#probes.set(member, end)
  }

  async #leave(member: Member): Promise<void> {
    const { pool } = this.#model.parts.dispatcher
    // An admin, the file and a reload may all have waited for its last call.
    if (!pool.members.includes(member)) return
    this.#probes.get(member)?.()
    this.#probes.delete(member)
    pool.remove(member)
    await this.#registry.release(member)
  }
}

const urlOf = (place: InstanceConfig): string => (typeof place === 'string' ? place : place.url)

/** Resolves when none of the model's calls is under way at the member, or it takes questions again. */
function idle(member: Member): Promise<void> {
  const { instance } = member
  return new Promise((resolve) => {
    const check = () => {
      if (member.inFlight > 0 && member.draining) return
      instance.changed.delete(check)
      resolve()
    }
    instance.changed.add(check)
    check()
  })
}
