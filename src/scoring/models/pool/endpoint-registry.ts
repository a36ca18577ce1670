import type { Clock } from '../../../core/clock.ts'
import type { WatchedServer } from '../backends/backend.ts'
import { addressOf } from '../interface/address.ts'
import type { ModelEvents } from '../interface/events.ts'
import type { InstanceConfig, ModelConfig } from '../interface/model-config.ts'
import { Endpoint, type EndpointSettings } from '../transport/endpoint.ts'
import { type ProbeSettings, watchEndpoint, watchMember } from './health.ts'
import { type MemberSettings, PoolMember } from './pool-member.ts'
import { type ProgressSettings, type QueueMetrics, watchProgress, watchServerQueue } from './watch-server.ts'

/** The settings of a pool. */
export type PoolConfig = Pick<
  ModelConfig,
  | 'model'
  | 'served_model_aliases'
  | 'health'
  | 'breaker'
  | 'max_in_flight'
  | 'max_tokens_in_flight'
  | 'timeout_s'
  | 'connect_timeout_s'
> & { readonly backend: string }

/** A model or a sandbox of one loaded config, and how its servers are asked. */
export interface MemberOwner {
  readonly model: string
  readonly config: PoolConfig
  readonly headers: Record<string, string>
  readonly backend: WatchedServer
}

interface Wanted extends MemberSettings {
  readonly connectMs: number
  /** null: no probes. */
  readonly probe: ProbeSettings | null
  /** null: the server's own queue is not watched. */
  readonly line: QueueMetrics | null
  /** null: progress is not watched. */
  readonly progress: Omit<ProgressSettings, 'p99'> | null
}

interface MemberEntry {
  readonly member: PoolMember
  /** Settings by owner; those of the last owner apply. */
  readonly wanted: Map<MemberOwner, Wanted>
  inForce: Wanted
  endProbe: () => void
  endWatch: () => void
}

interface EndpointEntry {
  readonly endpoint: Endpoint
  readonly members: Map<string, MemberEntry>
  endProbe: (() => void) | null
  endLine: (() => void) | null
}

/**
 * All addresses of a process and the models at each: one set of sockets per address, one pool member per model there. Both
 * outlive reloads: a reload changes their settings, and what no model uses any more is closed.
 */
export class EndpointRegistry {
  readonly #clock: Clock
  readonly #events: ModelEvents
  readonly #endpoints = new Map<string, EndpointEntry>()

  constructor(clock: Clock, events: ModelEvents) {
    this.#clock = clock
    this.#events = events
  }

  /** Gets or opens the member for the owner's model at an instance and applies the owner's settings. `release` must follow. */
  memberOf(owner: MemberOwner, place: InstanceConfig): PoolMember {
    const url = typeof place === 'string' ? place : place.url
    const address = addressOf(url)
    const wanted = this.#wantedBy(owner, place)
    const held = this.#endpoints.get(address) ?? this.#opened(address, wanted)
    const key = keyOf(owner)
    let entry = held.members.get(key)
    if (entry) {
      entry.wanted.delete(owner)
      entry.wanted.set(owner, wanted)
    } else {
      entry = this.#joined(held, owner, wanted)
      held.members.set(key, entry)
    }
    this.#apply(held, entry, key)
    return entry.member
  }

  /** Ends the owner's use. A member closes with its last owner, an address with its last member. */
  async release(owner: MemberOwner, member: PoolMember): Promise<void> {
    const { address } = member
    const held = this.#endpoints.get(address)
    const entry = held?.members.get(keyOf(owner))
    if (!held || !entry || entry.member !== member) return
    entry.wanted.delete(owner)
    if (entry.wanted.size > 0) {
      this.#apply(held, entry, keyOf(owner))
      return
    }
    held.members.delete(keyOf(owner))
    entry.endProbe()
    entry.endWatch()
    member.close()
    if (held.members.size > 0) {
      this.#merge(held)
      return
    }
    this.#endpoints.delete(address)
    held.endProbe?.()
    held.endLine?.()
    await held.endpoint.close()
  }

  async close(): Promise<void> {
    const all = [...this.#endpoints.values()]
    this.#endpoints.clear()
    await Promise.all(
      all.map(({ endpoint, members, endProbe, endLine }) => {
        endProbe?.()
        endLine?.()
        for (const entry of members.values()) {
          entry.endProbe()
          entry.endWatch()
          entry.member.close()
        }
        return endpoint.close()
      }),
    )
  }

  /** Opens the sockets of an address. Overridden in benchmarks. */
  protected connect(address: string, settings: EndpointSettings): Endpoint {
    return new Endpoint(address, this.#clock, settings)
  }

  #opened(address: string, { connectMs, breaker, probe }: Wanted): EndpointEntry {
    const held = {
      endpoint: this.connect(address, { connectMs, breaker }),
      members: new Map(),
      endProbe: null,
      endLine: null,
    }
    if (probe && probe.healthPath !== '') held.endpoint.health = 'unknown'
    this.#endpoints.set(address, held)
    return held
  }

  #joined({ endpoint }: EndpointEntry, owner: MemberOwner, wanted: Wanted): MemberEntry {
    const { model } = owner
    const instance = endpoint.address
    const member = new PoolMember(endpoint, this.#clock, wanted, (reason) => {
      if (reason === null) this.#events.readmitted?.({ model, instance })
      else this.#events.ejected?.({ model, instance, reason })
    })
    return {
      member,
      wanted: new Map([[owner, wanted]]),
      inForce: wanted,
      endProbe: probed(member, wanted.probe),
      endWatch: this.#watched(member, keyOf(owner), wanted),
    }
  }

  #watched(member: PoolMember, key: string, { progress }: Wanted): () => void {
    if (progress === null) return () => {}
    const p99 = () => member.latencies.quantile(0.99) ?? this.#p99Of(key)
    return watchProgress(member, { ...progress, p99 })
  }

  /** The p99 latency of a model at its slowest server; null if unknown. */
  #p99Of(key: string): number | null {
    let slowest: number | null = null
    for (const { members } of this.#endpoints.values()) {
      const ms = members.get(key)?.member.latencies.quantile(0.99) ?? null
      if (ms !== null) slowest = Math.max(slowest ?? 0, ms)
    }
    return slowest
  }

  /** Applies the settings of the member's last owner. */
  #apply(held: EndpointEntry, entry: MemberEntry, key: string): void {
    const { member } = entry
    const wanted = [...entry.wanted.values()].at(-1)
    if (wanted && wanted !== entry.inForce) {
      const isSameProbe = JSON.stringify(probeFacts(wanted)) === JSON.stringify(probeFacts(entry.inForce))
      entry.inForce = wanted
      member.set(wanted)
      if (!isSameProbe) {
        entry.endProbe()
        // The last known state holds until the new probe's first result.
        const { probe } = member
        entry.endProbe = probed(member, wanted.probe)
        entry.endWatch()
        entry.endWatch = this.#watched(member, key, wanted)
        member.mark({ probe: wanted.probe === null ? 'ok' : probe })
      }
    }
    this.#merge(held)
  }

  /** An address uses the longest timeouts and the shortest probe interval of its members. */
  #merge(held: EndpointEntry): void {
    const all = [...held.members.values()].map(({ inForce }) => inForce)
    const { endpoint } = held
    endpoint.set({
      connectMs: Math.max(...all.map(({ connectMs }) => connectMs)),
      breaker: {
        failures: Math.max(...all.map(({ breaker }) => breaker.failures)),
        openMs: Math.min(...all.map(({ breaker }) => breaker.openMs)),
      },
    })
    const line = all.find((one) => one.line !== null)?.line
    held.endLine?.()
    held.endLine = line ? watchServerQueue(endpoint, this.#clock, line) : null
    const isProbed = healthProbes(held).length > 0
    if (isProbed && held.endProbe === null)
      held.endProbe = watchEndpoint(endpoint, () => {
        const probes = healthProbes(held)
        return {
          clock: this.#clock,
          healthPath: probes[0]?.healthPath ?? '/health',
          intervalMs: Math.min(...probes.map(({ intervalMs }) => intervalMs)),
          timeoutMs: Math.max(...probes.map(({ timeoutMs }) => timeoutMs)),
          failures: Math.max(...probes.map(({ failures }) => failures)),
        }
      })
    else if (!isProbed && held.endProbe !== null) {
      held.endProbe()
      held.endProbe = null
      endpoint.setHealth('ok')
    }
  }

  #wantedBy({ config, headers, backend }: MemberOwner, place: InstanceConfig): Wanted {
    const own = typeof place === 'string' ? null : place
    const { interval_s, timeout_s, failures, model: isNamed, server_line } = config.health
    const { healthPath, modelsPath, namesModels } = backend
    const names = isNamed && namesModels ? new Set([config.model, ...config.served_model_aliases]) : null
    const isAsked = names !== null || healthPath === ''
    const { stalled_after_s: stalledSeconds } = config.health
    return {
      progress:
        interval_s === 0 || stalledSeconds === 0 || backend.ping?.path === ''
          ? null
          : {
              clock: this.#clock,
              backend,
              headers,
              stalledMs: stalledSeconds * 1000,
              timeoutMs: config.timeout_s * 1000,
            },
      limits: {
        questions: own?.max_in_flight ?? config.max_in_flight,
        tokens: own?.max_tokens_in_flight ?? config.max_tokens_in_flight ?? Number.POSITIVE_INFINITY,
      },
      line:
        interval_s === 0 || !server_line || !backend.queueMetrics
          ? null
          : { headers, names: backend.queueMetrics },
      weight: own?.weight ?? 1,
      trustsHealth: config.backend === 'service' && backend.healthPath !== '',
      breaker: { failures: config.breaker.failures, openMs: config.breaker.open_s * 1000 },
      connectMs: config.connect_timeout_s * 1000,
      probe:
        interval_s === 0
          ? null
          : {
              clock: this.#clock,
              headers,
              healthPath,
              modelsPath: isAsked ? modelsPath : '',
              names,
              intervalMs: interval_s * 1000,
              timeoutMs: timeout_s * 1000,
              failures,
            },
    }
  }
}

const healthProbes = ({ members }: EndpointEntry): readonly ProbeSettings[] =>
  [...members.values()].flatMap(({ inForce: { probe } }) => (probe && probe.healthPath !== '' ? [probe] : []))

function probed(member: PoolMember, probe: ProbeSettings | null): () => void {
  if (probe && probe.modelsPath !== '') return watchMember(member, probe)
  member.probe = 'ok'
  return () => {}
}

/** The settings whose change restarts probe and watchdog. */
const probeFacts = ({ probe, progress }: Wanted): unknown => [
  probe && { ...probe, clock: null, names: probe.names && [...probe.names] },
  progress && [progress.stalledMs, progress.timeoutMs],
]

/** A model with another served name or API key is another member. */
const keyOf = ({ model, config, headers }: MemberOwner): string =>
  JSON.stringify([model, config.backend, config.model, config.served_model_aliases, headers])
