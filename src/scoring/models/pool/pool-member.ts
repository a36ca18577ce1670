import type { AskName } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { Breaker, type BreakerSettings } from '../transport/breaker.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'
import { Capacity, type Load } from './capacity.ts'

/**
 * `joining`: no probe has seen it yet. `trial`: it failed, and one question tries it again. `other-model`: it answers, but
 * serves something else. `fails-canary`: it answers known questions wrongly. `suspect`: it takes questions and answers none.
 */
export type InstanceState =
  | 'joining'
  | 'ready'
  | 'trial'
  | 'ejected'
  | 'draining'
  | 'other-model'
  | 'fails-canary'
  | 'suspect'
  | 'asleep'

/** What a config says of one model at one address. */
export interface MemberSettings {
  /** What may be under way. */
  readonly limits: Load
  readonly weight: number
  readonly breaker: BreakerSettings
}

/**
 * One model at one address: its limit, latency and breaker, and what keeps questions from it. Each condition has one owner that
 * sets it; `state` says which of them counts. It outlives reloads, which only change its settings.
 */
export class PoolMember {
  readonly endpoint: Endpoint
  /** Opens when this model's questions fail there. */
  readonly breaker: Breaker
  /** What of this model is under way. */
  readonly capacity: Capacity
  calls = 0
  errors = 0
  /** When its last call began, on the clock. */
  lastBegan = Number.NEGATIVE_INFINITY
  /** Moving average of its good calls, milliseconds; 0: none yet. */
  latencyMs = 0
  /** Of its good calls. */
  readonly latencies = new LatencyWindow()
  /** When a call came back last, or the first of those under way began, on the clock. */
  progressAt = Number.NEGATIVE_INFINITY
  lastAsk: AskName = 'generate'
  /** Called at the beginning of a call where none was under way. */
  onBegin: (() => void) | null = null
  /** Set by the prober, as the server's list of models says; `unknown`: not asked yet. */
  probe: 'unknown' | 'ok' | 'failing' | 'other-model' = 'ok'
  /** Set by operators: takes no further questions, and goes when its last call has come back. */
  draining = false
  /** Set by the canary: why its answers are not trusted. */
  failsCanary: string | null = null
  /** Set by the watch of its progress: it takes questions and answers none. */
  suspect = false
  /** Asked by Retry-After to be left alone for a while. */
  resting = false
  /** Called when it may have become able, or unable, to take a question. */
  readonly changed = new Set<() => void>()
  readonly #clock: Clock
  readonly #told: (outBecause: string | null) => void
  #settings: MemberSettings
  #outBecause: string | null = null
  #restsUntil = Number.NEGATIVE_INFINITY
  #wake: (() => void) | null = null
  /** `told` hears why it takes no questions any more, and null when it takes them again. */
  constructor(
    endpoint: Endpoint,
    clock: Clock,
    settings: MemberSettings,
    told: (outBecause: string | null) => void,
  ) {
    this.endpoint = endpoint
    this.#clock = clock
    this.#settings = settings
    this.capacity = new Capacity(settings.limits)
    this.#told = told
    this.breaker = new Breaker(clock, settings.breaker, () => this.tell())
    endpoint.members.add(this)
  }

  get address(): string {
    return this.endpoint.address
  }

  /** The server's memory is given back, or may be. */
  get asleep(): boolean {
    return this.endpoint.asleep
  }

  get inFlight(): number {
    return this.capacity.questions
  }

  get limit(): number {
    return this.#settings.limits.questions
  }

  get weight(): number {
    return this.#settings.weight
  }

  /** Takes other settings; calls under way and what is known of it stay. */
  set(settings: MemberSettings): void {
    this.#settings = settings
    this.capacity.limits = settings.limits
    this.breaker.settings = settings.breaker
    this.tell()
  }

  /** The condition that counts most, those of operators first. */
  get state(): InstanceState {
    if (this.draining) return 'draining'
    if (this.asleep) return 'asleep'
    if (this.probe === 'other-model') return 'other-model'
    if (this.failsCanary !== null || this.endpoint.doubt) return 'fails-canary'
    if (this.suspect) return 'suspect'
    if (this.#brokenBecause() !== null) {
      const isTrial = this.breaker.state !== 'open' && this.endpoint.breaker.state !== 'open'
      const isProbedWell = this.probe !== 'failing' && this.endpoint.health !== 'failing'
      return isTrial && isProbedWell ? 'trial' : 'ejected'
    }
    return this.#isProbed() ? 'ready' : 'joining'
  }

  /** May take questions, if it works and has a place. */
  get isOpen(): boolean {
    return (
      !this.draining &&
      !this.asleep &&
      !this.suspect &&
      this.probe !== 'other-model' &&
      this.failsCanary === null &&
      !this.endpoint.doubt
    )
  }

  /** May take questions and is believed to work. */
  get isAlive(): boolean {
    return (
      this.isOpen &&
      this.#isProbed() &&
      this.breaker.state === 'closed' &&
      this.endpoint.breaker.state === 'closed'
    )
  }

  /** Nothing speaks against it, but no probe has seen it yet. */
  get isJoining(): boolean {
    return this.state === 'joining'
  }

  /** Can take a question now, if it is small enough. A half-open breaker lets one call through. */
  get isFree(): boolean {
    if (!this.isOpen || this.resting || !this.#isProbed()) return false
    const { endpoint } = this
    if (endpoint.breaker.state !== 'closed' && (endpoint.breaker.state === 'open' || endpoint.inFlight > 0))
      return false
    // One question is always let in: another's line at the server must not keep this model out for ever.
    if (this.inFlight === 0) return this.breaker.state !== 'open'
    if (this.breaker.state !== 'closed') return false
    return this.capacity.hasFree && endpoint.hasCapacity
  }

  /** Takes a place; `end` or `giveBack` with the same load must follow. */
  begin(load: Load, now = this.#clock.now()): void {
    const wasIdle = this.inFlight === 0
    this.capacity.enter(load)
    this.calls += 1
    this.lastBegan = now
    this.endpoint.begin(load.questions)
    if (!wasIdle) return
    this.progressAt = this.lastBegan
    this.onBegin?.()
  }

  end(load: Load): void {
    this.capacity.leave(load)
    this.endpoint.end(load.questions, this)
  }

  /** A place that was taken and not used. */
  giveBack(load: Load): void {
    this.calls -= 1
    this.end(load)
  }

  /** Something of what was asked there came back. */
  progressed(): void {
    this.progressAt = this.#clock.now()
  }

  succeeded(ms: number): void {
    this.#observe(ms)
    this.answered()
  }

  /** It began to reply; nothing is known of how long its answers take. */
  answered(): void {
    this.progressed()
    this.breaker.succeeded()
    this.endpoint.breaker.succeeded()
  }

  /** A call that was given up after `ms`: it would have taken longer. */
  abandoned(ms: number): void {
    if (ms > this.latencyMs) this.#observe(ms)
  }

  /** Counts a failed call, and leaves the member alone where that is due. */
  failed(fault: UpstreamError): void {
    this.errors += 1
    if (fault.waitMs > 0) this.rest(fault.waitMs)
    if (fault.kind === 'cancelled' || fault.isHang) return
    if (fault.isConnection) return void this.endpoint.failed(fault.isRefused)
    // It answered, if not to our liking; a call without an answer says nothing of the connection.
    if (fault.kind !== 'judge_timeout') {
      this.progressed()
      this.endpoint.breaker.succeeded()
    }
    if (fault.isUnavailable) this.breaker.refused(fault.waitMs, 2 * this.latencyMs)
    else if (fault.blame) this.breaker.failed()
    else this.breaker.succeeded()
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

  /** Sets conditions, each of which one owner sets alone, and tells of what follows. */
  mark(conditions: Partial<Pick<PoolMember, 'probe' | 'draining' | 'failsCanary' | 'suspect'>>): void {
    Object.assign(this, conditions)
    this.tell()
  }

  tell(): void {
    const outBecause = this.#whyOut()
    if (outBecause !== this.#outBecause) {
      const isFirst = this.#outBecause === null
      this.#outBecause = outBecause
      if (isFirst || outBecause === null) this.#told(outBecause)
    }
    for (const fn of this.changed) fn()
    if (this.changed.size < 2) return
    // Who is told first gets a freed place: the pools take turns.
    const [first] = this.changed
    if (first) {
      this.changed.delete(first)
      this.changed.add(first)
    }
  }

  /** Ends its timers. */
  close(): void {
    this.breaker.end()
    this.#wake?.()
    this.endpoint.members.delete(this)
  }

  #isProbed(): boolean {
    return this.probe === 'ok' && this.endpoint.health === 'ok'
  }

  #whyOut(): string | null {
    if (this.probe === 'other-model') return 'it serves another model'
    if (this.failsCanary !== null) return this.failsCanary
    if (this.endpoint.doubt) return this.endpoint.doubt
    return this.suspect ? 'its calls make no progress' : this.#brokenBecause()
  }

  #brokenBecause(): string | null {
    if (this.endpoint.health === 'failing' || this.probe === 'failing') return 'its health probe fails'
    if (this.endpoint.breaker.state !== 'closed') return 'its connections fail'
    return this.breaker.state !== 'closed' ? 'its calls fail' : null
  }

  #observe(ms: number): void {
    this.latencies.observe(ms)
    this.latencyMs = this.latencyMs === 0 ? ms : this.latencyMs * 0.9 + ms * 0.1
  }
}

const windowSize = 256
const leastSamples = 20

/** How long the latest answers took. */
export class LatencyWindow {
  readonly #window: number[] = []
  #next = 0
  #sorted: readonly number[] = []
  #unseen = 0

  /** Counts an answer that took so many milliseconds. */
  observe(ms: number): void {
    this.#window[this.#next] = ms
    this.#next = (this.#next + 1) % windowSize
    this.#unseen += 1
  }

  /** What this share of them took at most, milliseconds; null: fewer than 20 came. */
  quantile(share: number): number | null {
    if (this.#window.length < leastSamples) return null
    // Sorting for every answer would cost more than the estimate is worth.
    if (this.#sorted.length === 0 || this.#unseen >= 16) {
      this.#sorted = this.#window.toSorted((a, b) => a - b)
      this.#unseen = 0
    }
    const at = Math.min(this.#sorted.length - 1, Math.floor(this.#sorted.length * share))
    return this.#sorted[at] ?? null
  }
}
