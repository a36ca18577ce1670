import type { Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import type { Fault } from './fault.ts'

/** One server at one address; shared by every model that names the address. */
export class Instance {
  /** As configured, without a slash at its end. */
  readonly address: string
  /** What of the address comes before every path. */
  readonly basePath: string
  readonly connections: Pool
  readonly breaker: Breaker
  inFlight = 0
  limit: number
  /** As its last probes say. */
  healthy = true
  /** Asked by Retry-After to be left alone for a while. */
  resting = false
  calls = 0
  errors = 0
  /** When its last call began, on the clock. */
  lastBegan = Number.NEGATIVE_INFINITY
  /** Moving average of its good calls, milliseconds; 0: none yet. */
  latencyMs = 0
  /** Called when it may have become able, or unable, to take a question. */
  readonly changed = new Set<() => void>()
  readonly #clock: Clock
  #restsUntil = Number.NEGATIVE_INFINITY
  #wake: (() => void) | null = null

  constructor(
    address: string,
    connections: Pool,
    settings: { clock: Clock; limit: number; failures: number; openMs: number },
    breakerChanged: (instance: Instance, state: BreakerState) => void,
  ) {
    this.address = address
    const { pathname } = new URL(address)
    this.basePath = pathname === '/' ? '' : pathname
    this.connections = connections
    this.limit = settings.limit
    this.#clock = settings.clock
    this.breaker = new Breaker(settings.clock, settings, (state) => {
      breakerChanged(this, state)
      this.tell()
    })
  }

  /** Believed to work. */
  get alive(): boolean {
    return this.healthy && this.breaker.state === 'closed'
  }

  /** Can take a question now. A half-open breaker lets one through. */
  get available(): boolean {
    if (!this.healthy || this.resting) return false
    if (this.breaker.state === 'closed') return this.inFlight < this.limit
    return this.breaker.state === 'half-open' && this.inFlight === 0
  }

  begin(): void {
    this.inFlight += 1
    this.calls += 1
    this.lastBegan = this.#clock.now()
  }

  /** A place that was taken and not used. */
  giveBack(): void {
    this.calls -= 1
    this.end()
  }

  end(): void {
    this.inFlight -= 1
    this.tell()
  }

  succeeded(ms: number): void {
    this.#observe(ms)
    this.breaker.succeeded()
  }

  /** It began to reply; nothing is known of how long its answers take. */
  answered(): void {
    this.breaker.succeeded()
  }

  /** A call that was given up after `ms`: it would have taken longer. */
  abandoned(ms: number): void {
    if (ms > this.latencyMs) this.#observe(ms)
  }

  /** Counts a failed call, and leaves the instance alone where that is due. */
  failed(fault: Fault): void {
    this.errors += 1
    if (fault.waitMs > 0) this.rest(fault.waitMs)
    if (fault.blame) this.breaker.failed(fault.isRefused)
    // The server answered, if not to our liking: it lives.
    else if (fault.kind !== 'cancelled') this.breaker.succeeded()
  }

  /** Takes no question for `ms`; a longer rest that was asked for before stays as long. */
  rest(ms: number): void {
    const until = this.#clock.now() + ms
    if (this.resting && until <= this.#restsUntil) return
    this.#restsUntil = until
    this.#wake?.()
    this.resting = true
    this.#wake = this.#clock.after(ms, () => {
      this.resting = false
      this.tell()
    })
  }

  setHealthy(healthy: boolean): void {
    if (this.healthy === healthy) return
    this.healthy = healthy
    this.tell()
  }

  tell(): void {
    for (const fn of this.changed) fn()
    if (this.changed.size < 2) return
    // Who is told first gets a freed place: the pools take turns.
    const [first] = this.changed
    if (first) {
      this.changed.delete(first)
      this.changed.add(first)
    }
  }

  #observe(ms: number): void {
    this.latencyMs = this.latencyMs === 0 ? ms : this.latencyMs * 0.9 + ms * 0.1
  }

  /** Ends its timers and closes its connections, with the calls on them. */
  async close(): Promise<void> {
    this.breaker.end()
    this.#wake?.()
    await this.connections.destroy()
  }
}
