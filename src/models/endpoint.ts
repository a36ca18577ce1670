import type { Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { Breaker, type BreakerSettings } from './breaker.ts'
import { type Connections, openConnections } from './transport.ts'

/** What the members at one address want of its sockets. */
export interface EndpointSettings {
  readonly connectMs: number
  readonly breaker: BreakerSettings
}

/** A model at an address, as the address sees it. */
export interface EndpointMember {
  /** Hears that the state of the address has changed. */
  tell(): void
}

/**
 * One address (scheme, host, port, path): its sockets, the breaker of the connection, and what its /health says. What is true
 * of a model there, such as a key that it refuses, belongs to the PoolMember.
 */
export class Endpoint {
  /** As configured, without a slash at its end. */
  readonly address: string
  /** What of the address comes before every path. */
  readonly basePath: string
  /** Opens when connections fail, whichever model asked. */
  readonly breaker: Breaker
  readonly members = new Set<EndpointMember>()
  /** Calls of all models. */
  inFlight = 0
  /** Set by the owner of its GPU memory: it is given back, or may be, so only /v1/models may be asked. */
  asleep = false
  /** Set by the same: why its answers are not trusted since it woke; '' where they are. */
  doubt = ''
  /** Set by the same: the path that it lists as its model since it read its weights again; '' where it did not. */
  listedAs = ''
  /** As its /health says; `unknown`: not asked yet. */
  health: 'unknown' | 'ok' | 'failing' = 'ok'
  readonly #connections: Connections
  readonly #whenQuiet = new Set<() => void>()

  constructor(address: string, clock: Clock, settings: EndpointSettings, connections = openConnections) {
    this.address = address
    const { origin, pathname } = new URL(address)
    this.basePath = pathname === '/' ? '' : pathname
    this.#connections = connections(origin, settings.connectMs)
    this.breaker = new Breaker(clock, settings.breaker, () => this.tell())
  }

  get connections(): Pool {
    return this.#connections.pool
  }

  /** Takes other settings; its sockets stay. */
  set(settings: EndpointSettings): void {
    this.breaker.settings = settings.breaker
    this.#connections.setConnectMs(settings.connectMs)
  }

  /** A call has come back. */
  ended(): void {
    this.inFlight -= 1
    if (this.inFlight > 0) return
    for (const fn of this.#whenQuiet) fn()
  }

  /** Runs `fn` whenever the last call has come back, until the returned function is called. */
  onQuiet(fn: () => void): () => void {
    this.#whenQuiet.add(fn)
    return () => {
      this.#whenQuiet.delete(fn)
    }
  }

  /** Sets conditions that the owner of its GPU memory sets alone. */
  mark(conditions: Partial<Pick<Endpoint, 'asleep' | 'doubt' | 'listedAs'>>): void {
    Object.assign(this, conditions)
    this.tell()
  }

  setHealth(health: 'ok' | 'failing'): void {
    if (this.health === health) return
    this.health = health
    this.tell()
  }

  /** Tells its members that its own state has changed. */
  tell(): void {
    for (const member of this.members) member.tell()
  }

  /** Closes its sockets, with the calls on them. */
  async close(): Promise<void> {
    this.breaker.end()
    await this.connections.destroy()
  }
}
