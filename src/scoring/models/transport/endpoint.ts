import type { Pool } from 'undici'
import type { Clock } from '../../../core/clock.ts'
import { type Connections, type HttpMessage, openConnections, type Reply, send } from './transport.ts'
import { UpstreamError } from './upstream-error.ts'

/** How the connections of an address are opened, and when its breaker opens. */
export interface EndpointSettings {
  readonly connectMs: number
  readonly breaker: BreakerSettings
}

/** What an endpoint needs to know of a pool member at its address. */
interface EndpointMember {
  /** Questions that it may have in flight. */
  readonly limit: number
  /** Called when the state of the address has changed. */
  tell(): void
  /** A probe of the address has just found it well. */
  vouched(): void
}

/**
 * One address (scheme, host, port, path): its sockets, the breaker of its connections, and the result of /health. The state of
 * a model at the address, such as a rejected API key, belongs to PoolMember.
 */
export class Endpoint {
  /** As configured, without a trailing slash. */
  readonly address: string
  /** The path of the address, which prefixes every request path. */
  readonly basePath: string
  /** Opens when connections fail, whichever model used them. */
  readonly breaker: Breaker
  readonly members = new Set<EndpointMember>()
  /** Questions of all models in flight. */
  inFlight = 0
  /** Set by the owner of the GPU memory: it is or may be released, so only /v1/models may be requested. */
  asleep = false
  /** Set by the same owner: why answers are not trusted since the server woke; '' if they are. */
  doubt = ''
  /** Set by the same owner: the path that the server lists as its model since it reloaded its weights; '' if it did not. */
  listedAs = ''
  /** Questions that may be in flight, derived from the server's own queue. */
  maxInFlight = Number.POSITIVE_INFINITY
  /** Called when a call begins while no other is in flight. */
  onBegin: (() => void) | null = null
  /** Called when the breaker opens. */
  onBroken: (() => void) | null = null
  /** Set by the owner of the GPU memory. Called when a connection is refused: the server process is gone. */
  onGone: (() => void) | null = null
  /** The result of /health; `unknown` until it was asked. */
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

  /** Changes the settings and keeps the sockets. */
  set(settings: EndpointSettings): void {
    this.breaker.settings = settings.breaker
    this.#connections.setConnectMs(settings.connectMs)
  }

  /** Runs `fn` whenever the last call in flight ends. Call the returned function to unsubscribe. */
  onQuiet(fn: () => void): () => void {
    this.#whenQuiet.add(fn)
    return () => {
      this.#whenQuiet.delete(fn)
    }
  }

  /** Sends a probe or an order, past queue and breaker. Rejects with UpstreamError, after `ms` at the latest. */
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

  /** Sets conditions. Only the owner of the GPU memory calls this. */
  mark(conditions: Partial<Pick<Endpoint, 'asleep' | 'doubt' | 'listedAs'>>): void {
    Object.assign(this, conditions)
    this.tell()
  }

  /** Whether the server's own queue allows one more question. */
  get hasCapacity(): boolean {
    return this.inFlight < this.maxInFlight
  }

  begin(questions: number): void {
    this.inFlight += questions
    if (this.inFlight === questions) this.onBegin?.()
  }

  /** A call of this member has ended. */
  end(questions: number, member: EndpointMember): void {
    this.inFlight -= questions
    if (this.inFlight === 0) for (const fn of this.#whenQuiet) fn()
    // Other members wait for the result of the breaker's trial, or for capacity that the server's queue leaves.
    if (this.breaker.state !== 'closed' || this.maxInFlight < Number.POSITIVE_INFINITY) this.tell()
    else member.tell()
  }

  /** Sets how many questions may be in flight. */
  setMaxInFlight(questions: number): void {
    const isMore = questions > this.maxInFlight
    this.maxInFlight = questions
    if (isMore) this.tell()
  }

  /** A connection failed. `isRefused`: nothing listens at the address. */
  failed(isRefused: boolean): void {
    if (isRefused) this.onGone?.()
    this.breaker.failed(isRefused)
  }

  setHealth(health: 'ok' | 'failing'): void {
    if (this.health === health) return
    this.health = health
    this.tell()
  }

  /** Notifies the members that the state of the address has changed. */
  tell(): void {
    for (const member of this.members) member.tell()
  }

  /** Closes the sockets and aborts the calls on them. */
  async close(): Promise<void> {
    this.breaker.end()
    await this.connections.destroy()
  }
}

/** `half-open`: one question may try the server. */
type BreakerState = 'closed' | 'open' | 'half-open'

/** When a circuit breaker opens, and for how long. */
export interface BreakerSettings {
  /** Consecutive failures that open it. */
  readonly failures: number
  /** Milliseconds until one question tries again. Doubles each time, up to a minute. */
  readonly openMs: number
}

const longestOpenMs = 60_000
/** Bounds on how long a server may answer nothing but 503. */
const leastPatienceMs = 1000
const mostPatienceMs = 10_000

/** A circuit breaker: stops questions to a failing server, and lets one through at intervals until one succeeds. */
export class Breaker {
  state: BreakerState = 'closed'
  /** New settings apply from the next failure on. */
  settings: BreakerSettings
  #failures = 0
  /** Since when the server has answered only 503, and how often. */
  #refusals: { readonly since: number; count: number } | null = null
  #opened = 0
  #cancel: (() => void) | null = null
  readonly #clock: Clock
  readonly #changed: (state: BreakerState) => void

  constructor(clock: Clock, settings: BreakerSettings, changed: (state: BreakerState) => void) {
    this.#clock = clock
    this.settings = settings
    this.#changed = changed
  }

  succeeded(): void {
    this.#failures = 0
    this.#refusals = null
    if (this.state !== 'closed') this.close()
  }

  /** `atOnce`: one failure opens it. */
  failed(atOnce = false): void {
    this.#failures += 1
    this.#refusals = null
    const isEnough = atOnce || this.#failures >= this.settings.failures
    if (this.state === 'half-open' || (this.state === 'closed' && isEnough)) this.open()
  }

  /**
   * The server answered 503. A busy server does so too, but answers some questions, or says in Retry-After (`waitMs`) how
   * long to wait. A server that answers only 503 for `patienceMs` is considered down.
   */
  refused(waitMs: number, patienceMs: number): void {
    if (this.state !== 'closed') {
      this.failed()
      return
    }
    if (waitMs > 0) return
    const now = this.#clock.now()
    this.#refusals ??= { since: now, count: 0 }
    this.#refusals.count += 1
    const ms = Math.min(Math.max(patienceMs, leastPatienceMs), mostPatienceMs)
    if (this.#refusals.count >= this.settings.failures && now - this.#refusals.since >= ms) this.open()
  }

  open(): void {
    this.#cancel?.()
    this.#refusals = null
    const ms = Math.min(this.settings.openMs * 2 ** Math.min(this.#opened, 16), longestOpenMs)
    this.#opened += 1
    this.#cancel = this.#clock.after(ms, () => this.#enter('half-open'))
    this.#enter('open')
  }

  close(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#failures = 0
    this.#opened = 0
    this.#enter('closed')
  }

  /** Cancels its timer. */
  end(): void {
    this.#cancel?.()
  }

  #enter(state: BreakerState): void {
    if (this.state === state) return
    this.state = state
    this.#changed(state)
  }
}
