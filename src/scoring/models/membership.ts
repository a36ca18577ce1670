import { readFile } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { addressOf, isAllowed, readAddresses } from './interface/address.ts'
import type { ModelEvents } from './interface/events.ts'
import type { InstanceConfig } from './interface/model-config.ts'
import type { Model } from './model.ts'
import type { EndpointRegistry, MemberOwner } from './pool/endpoint-registry.ts'
import type { PoolMember } from './pool/pool-member.ts'

/** The servers of one model: those of its config, and those added and removed since. */
export class Membership {
  readonly #model: Model
  readonly #registry: EndpointRegistry
  readonly #owner: MemberOwner
  /** Addresses that the config does not name. `file`: the instances_file that lists it; undefined if an operator added it. */
  readonly #added = new Map<string, { readonly place: InstanceConfig; readonly file: string | undefined }>()

  /** `before`: the membership before a reload. Added instances stay, and draining ones keep draining. */
  constructor(model: Model, registry: EndpointRegistry, before?: Membership) {
    this.#model = model
    this.#registry = registry
    const { config, parts } = model
    const { headers, dispatcher, backend } = parts
    this.#owner = { model: dispatcher.model, config, headers, backend }
    for (const place of config.instances) this.#join(place)
    for (const [address, { place, file }] of before === undefined ? [] : before.#added) {
      const isKept = file === undefined || file === config.instances_file
      if (isKept && !this.#find(address) && isAllowed(address, config.allow)) {
        this.#added.set(address, { place, file })
        this.#join(place)
      }
    }
  }

  /**
   * Adds an instance or takes a draining one back. Returns its address. `file`: the instances_file that lists it. Throws
   * RG_FORBIDDEN for an address outside `allow`.
   */
  add(place: InstanceConfig, file?: string): string {
    const address = addressOf(urlOf(place))
    if (!this.isConfigured(address)) {
      if (!isAllowed(address, this.#model.config.allow))
        throw new GatewayError('RG_FORBIDDEN', `${address} is not within the model's 'allow' patterns`)
      this.#added.set(address, { place, file })
    }
    const member = this.#find(address) ?? this.#join(place)
    if (member.draining) member.mark({ draining: false })
    return address
  }

  /** Whether the config itself names the address. */
  isConfigured(address: string): boolean {
    return this.#model.config.instances.some((own) => addressOf(urlOf(own)) === address)
  }

  /** Stops sending questions to the instance. Resolves when its last call for this model has ended. */
  async drain(url: string): Promise<void> {
    const member = this.#known(url)
    member.mark({ draining: true })
    // If it was taken back and drained again meanwhile, it may have new calls in flight.
    do await idle(member)
    while (member.draining && member.inFlight > 0)
  }

  /** Stops sending questions to an instance that answers wrongly; null resumes. */
  suspect(address: string, reason: string | null): void {
    // A canary tests a judge more thoroughly than the known question after a sleep.
    if (reason === null) this.#model.parts.lease.trust(address)
    this.#find(address)?.mark({ failsCanary: reason })
  }

  /** Drains the instance, then removes it. One that was added again meanwhile stays. */
  async remove(url: string): Promise<void> {
    const member = this.#known(url)
    this.#added.delete(member.address)
    await this.drain(url)
    if (member.draining && member.inFlight === 0) await this.#leave(member)
  }

  get addresses(): string[] {
    return this.#model.parts.dispatcher.pool.members.map(({ address }) => address)
  }

  /** Releases all instances once the model's questions are answered. */
  async retire(): Promise<void> {
    await this.#model.quiet()
    this.#model.parts.lease.remove()
    const { members } = this.#model.parts.dispatcher.pool
    await Promise.all([...members].map((member) => this.#leave(member)))
  }

  #find(address: string): PoolMember | undefined {
    return this.#model.parts.dispatcher.pool.members.find((member) => member.address === address)
  }

  #known(url: string): PoolMember {
    const member = this.#find(addressOf(url))
    if (!member) throw new GatewayError('RG_NOT_FOUND', `${url} is no instance of this model`)
    return member
  }

  #join(place: InstanceConfig): PoolMember {
    const member = this.#registry.memberOf(this.#owner, place)
    this.#model.parts.dispatcher.pool.add(member)
    return member
  }

  async #leave(member: PoolMember): Promise<void> {
    const { pool } = this.#model.parts.dispatcher
    // An operator, the instances_file and a reload may all have waited for its last call.
    if (!pool.members.includes(member)) return
    pool.remove(member)
    await this.#registry.release(this.#owner, member)
  }
}

const urlOf = (place: InstanceConfig): string => (typeof place === 'string' ? place : place.url)

/** Resolves when none of the model's calls is in flight at the member, or it takes questions again. */
function idle(member: PoolMember): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (member.inFlight > 0 && member.draining) return
      member.changed.delete(check)
      resolve()
    }
    member.changed.add(check)
    check()
  })
}

const intervalMs = 2000

/** Calls `changed` with the addresses now and after each change, until ended. An unreadable file changes nothing. */
export function watchInstancesFile(
  path: string,
  clock: Clock,
  changed: (addresses: readonly string[]) => void,
): () => void {
  let last = ''
  let ended = false
  let cancel = () => {}
  const look = async (): Promise<void> => {
    try {
      const text = await readFile(path, 'utf8')
      if (ended) return
      const addresses = text === last ? null : readAddresses(text)
      if (addresses) {
        last = text
        changed(addresses)
      }
    } catch {
      // The file may not exist yet, or just now.
    }
    if (!ended) cancel = clock.after(intervalMs, () => void look())
  }
  void look()
  return () => {
    ended = true
    cancel()
  }
}

/** Reconciles the pool with the instances_file: removes missing addresses; rejected ones emit `refused`. */
export function follow(
  file: string,
  addresses: readonly string[],
  membership: Membership,
  events: ModelEvents,
  model: string,
): void {
  const wanted = new Set<string>()
  for (const address of addresses) {
    try {
      wanted.add(membership.add(address, file))
    } catch (error) {
      events.refused?.({ model, instance: hideSecrets(address), reason: (error as Error).message })
    }
  }
  for (const address of membership.addresses)
    if (!wanted.has(address) && !membership.isConfigured(address)) void membership.remove(address)
}
