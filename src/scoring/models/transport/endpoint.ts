import type { Pool } from 'undici'
import type { Clock } from '../../../core/clock.ts'
import { Breaker, type BreakerSettings } from './breaker.ts'
import { type Connections, type HttpMessage, openConnections, type Reply, send } from './transport.ts'
import { UpstreamError } from './upstream-error.ts'

/** What the members at one address want of its sockets. */
export interface EndpointSettings {
  readonly connectMs: number
  readonly breaker: BreakerSettings
}

/** A model at an address, as the address sees it. */
export interface EndpointMember {
  /** Questions that it may have under way. */
  readonly limit: number
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
  /** Questions of all models under way. */
  inFlight = 0
  /** Set by the owner of its GPU memory: it is given back, or may be, so only /v1/models may be asked. */
  asleep = false
  /** Set by the same: why its answers are not trusted since it woke; '' where they are. */
  doubt = ''
  /** Set by the same: the path that it lists as its model since it read its weights again; '' where it did not. */
  listedAs = ''
  /** As many as it may have under way, as its server's own line has it. */
  maxInFlight = Number.POSITIVE_INFINITY
  /** Called at the beginning of a call where none was under way. */
  onBegin: (() => void) | null = null
  /** Called when the breaker of its connection opens. */
  onBroken: (() => void) | null = null
  /** Set by the owner of its GPU memory, who hears that nothing listens there: the process has gone. */
  onGone: (() => void) | null = null
  /** As its /health says; `unknown`: not asked yet. */
  health: 'unknown' | 'ok' | 'failing' = 'ok'
  readonly #clock: Clock
  readonly #connections: Connections
  readonly #whenQuiet = new Set<() => void>()

  constructor(address: string, clock: Clock, settings: EndpointSettings, connections = openConnections) {
    this.address = address
    this.#clock = clock
    const { origin, pathname } = new URL(address)
    this.basePath = pathname === '/' ? '' : pathname
    this.#connections = connections(origin, settings.connectMs)
    this.breaker = new Breaker(clock, settings.breaker, (state) => {
      this.tell()
      if (state === 'open') this.onBroken?.()
    })
  }

  get connections(): Pool {
    return this.#connections.pool
  }

  /** Takes other settings; its sockets stay. */
  set(settings: EndpointSettings): void {
    this.breaker.settings = settings.breaker
    this.#connections.setConnectMs(settings.connectMs)
  }

  /** Runs `fn` whenever the last call has come back, until the returned function is called. */
  onQuiet(fn: () => void): () => void {
    this.#whenQuiet.add(fn)
    return () => {
      this.#whenQuiet.delete(fn)
    }
  }

  /**
   * The reply to a message beside all lines and breakers, such as a probe's or an order's. Rejects with UpstreamError, at the latest
   * after `ms`.
   */
  async replyTo(message: HttpMessage, ms: number, maxReplyBytes: number): Promise<Reply> {
    const exchange = send(this.connections, message, { basePath: this.basePath, maxReplyBytes })
    const cancel = this.#clock.after(ms, () =>
      exchange.abort(new UpstreamError('judge_timeout', 'no answer in time')),
    )
    try {
      return await exchange.reply
    } catch (error) {
      if (error instanceof UpstreamError && error.isRefused) this.onGone?.()
      throw error
    } finally {
      cancel()
    }
  }

  /** Sets conditions that the owner of its GPU memory sets alone. */
  mark(conditions: Partial<Pick<Endpoint, 'asleep' | 'doubt' | 'listedAs'>>): void {
    Object.assign(this, conditions)
    this.tell()
  }

  /** Whether its server's own line lets a further question in. */
  get hasCapacity(): boolean {
    return this.inFlight < this.maxInFlight
  }

  begin(questions: number): void {
    this.inFlight += questions
    if (this.inFlight === questions) this.onBegin?.()
  }

  /** A call of this member has come back. */
  end(questions: number, member: EndpointMember): void {
    this.inFlight -= questions
    if (this.inFlight === 0) for (const fn of this.#whenQuiet) fn()
    // Others at the address wait for its trial, or for what its server's own line leaves.
    if (this.breaker.state !== 'closed' || this.maxInFlight < Number.POSITIVE_INFINITY) this.tell()
    else member.tell()
  }

  /** Sets how many it may have under way. */
  setMaxInFlight(questions: number): void {
    const isMore = questions > this.maxInFlight
    this.maxInFlight = questions
    if (isMore) this.tell()
  }

  /** A connection of a call has failed. `isRefused`: nothing listens there. */
  failed(isRefused: boolean): void {
    if (isRefused) this.onGone?.()
    this.breaker.failed(isRefused)
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
