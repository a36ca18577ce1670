import type { Clock } from '../clock.ts'
import { addressOf } from './address.ts'
import { Member } from './balance.ts'
import type { ModelEvents } from './events.ts'
import { Instance } from './instance.ts'
import type { InstanceConfig, ModelConfig } from './model-config.ts'
import { connections } from './transport.ts'

/** The instances of all models: one for each address in the process, since what breaks for one model is broken for all. */
export class Registry {
  readonly #clock: Clock
  readonly #events: ModelEvents
  readonly #instances = new Map<string, { instance: Instance; limits: Map<Member, number> }>()

  constructor(clock: Clock, events: ModelEvents) {
    this.#clock = clock
    this.#events = events
  }

  /** A place in a model's pool; `release` must follow. */
  memberOf(config: ModelConfig, place: InstanceConfig): Member {
    const { url, weight, max_in_flight } =
      typeof place === 'string' ? { url: place, weight: 1, max_in_flight: undefined } : place
    const entry = this.#entryOf(addressOf(url), config)
    const { instance, limits } = entry
    const member = new Member(instance, weight)
    limits.set(member, max_in_flight ?? config.max_in_flight)
    instance.limit = Math.max(...limits.values())
    return member
  }

  /** Closes the instance when its last user has gone; calls under way on it have ended by then, or end now. */
  async release(member: Member): Promise<void> {
    const { instance } = member
    const entry = this.#instances.get(instance.address)
    if (!entry || entry.instance !== instance) return
    entry.limits.delete(member)
    if (entry.limits.size > 0) {
      instance.limit = Math.max(...entry.limits.values())
      return
    }
    this.#instances.delete(instance.address)
    await instance.close()
  }

  async close(): Promise<void> {
    const all = [...this.#instances.values()]
    this.#instances.clear()
    await Promise.all(all.map(({ instance }) => instance.close()))
  }

  #entryOf(address: string, config: ModelConfig): { instance: Instance; limits: Map<Member, number> } {
    let entry = this.#instances.get(address)
    if (!entry) {
      entry = { instance: this.#opened(address, config), limits: new Map() }
      this.#instances.set(address, entry)
    }
    return entry
  }

  #opened(address: string, config: ModelConfig): Instance {
    const { failures, open_s } = config.breaker
    const pool = connections(new URL(address).origin, {
      connectMs: config.connect_timeout_s * 1000,
      maxReplyBytes: config.max_reply_bytes,
    })
    const settings = { clock: this.#clock, limit: 1, failures, openMs: open_s * 1000 }
    return new Instance(address, pool, settings, (_instance, state) => {
      if (state === 'open') this.#events.ejected?.({ instance: address, reason: 'its calls fail' })
      if (state === 'closed') this.#events.readmitted?.({ instance: address })
    })
  }
}
