import type { AskName } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { Breaker, type BreakerSettings, type Endpoint } from '../transport/endpoint.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'
import { Capacity, type Load } from './capacity.ts'

/**
 * `joining`: not probed yet. `trial`: it failed, and one question tries it again. `other-model`: it serves another model.
 * `fails-canary`: it answers known questions wrongly. `suspect`: it accepts questions and answers none.
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

/** The settings of one model at one address. */
export interface MemberSettings {
  /** What may be in flight. */
  readonly limits: Load
  readonly weight: number
  readonly breaker: BreakerSettings
  /** Whether the health of its address tells if its questions are answered: a service names the path itself. */
  readonly trustsHealth?: boolean
}

/**
 * One model at one address: its limits, latency, circuit breaker, and the conditions that keep questions away from it. Each
 * condition is set by one owner; `state` says which one counts. Outlives reloads, which only change its settings.
 */
export class PoolMember {
  readonly endpoint: Endpoint
  /** Opens when this model's questions fail at the address. */
  readonly breaker: Breaker
  /** What this model has in flight at the address. */
  readonly capacity: Capacity
  calls = 0
  errors = 0
  /** When its last call began, on the clock. */
  lastBegan = Number.NEGATIVE_INFINITY
  /** Moving average of successful calls, milliseconds; 0 if there was none. */
  latencyMs = 0
  /** Latencies of successful calls. */
  readonly latencies = new LatencyWindow()
  /** When the last call ended or, if none has since, the first call in flight began; on the clock. */
  progressAt = Number.NEGATIVE_INFINITY
  lastAsk: AskName | 'execute' = 'generate'
  /** Called when a call begins while no other is in flight. */
  onBegin: (() => void) | null = null
  /** Set by the probe of the server's list of models; `unknown` until the first one. */
  probe: 'unknown' | 'ok' | 'failing' | 'other-model' = 'ok'
  /** Set by operators: takes no more questions and leaves when its last call has ended. */
  draining = false
  /** Set by the canary: why its answers are not trusted. */
  failsCanary: string | null = null
  /** Set by the watchdog: it accepts questions and answers none. */
  suspect = false
  /** Backing off because of a Retry-After. */
  resting = false
  /** Called when it may have become able, or unable, to take a question. */
  readonly changed = new Set<() => void>()
  readonly #clock: Clock
  readonly #told: (outBecause: string | null) => void
  #settings: MemberSettings
  #outBecause: string | null = null
  /** Whether each failure since the last answer was a reply, so that its question may be the cause. */
  #onlyReplies = true
  #restsUntil = Number.NEGATIVE_INFINITY
  #wake: (() => void) | null = null
  /** `told` is called with the reason when it stops taking questions, and with null when it takes them again. */
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
    this.breaker = new Breaker(clock, settings.breaker, (state) => {
      if (state === 'open' && this.#settings.trustsHealth) endpoint.onBroken?.()
      this.tell()
    })
    endpoint.members.add(this)
  }

  get address(): string {
    return this.endpoint.address
  }

  /** The server's GPU memory is or may be released. */
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

  /** Changes the settings; calls in flight and known state stay. */
  set(settings: MemberSettings): void {
    this.#settings = settings
    this.capacity.limits = settings.limits
    this.breaker.settings = settings.breaker
    this.tell()
  }

  /** The most important condition; those of operators come first. */
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

  /** May take questions if it works and has a free slot. */
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

  /** Its first probe is still due. */
  get isJoining(): boolean {
    return this.state === 'joining'
  }

  /** Can take a question now if it is small enough. A half-open breaker lets one call through. */
  get isFree(): boolean {
    if (!this.isOpen || this.resting || !this.#isProbed()) return false
    const { endpoint } = this
    if (endpoint.breaker.state !== 'closed' && (endpoint.breaker.state === 'open' || endpoint.inFlight > 0))
      return false
    // One question is always allowed: other clients' requests in the server's queue must not lock this model out forever.
    if (this.inFlight === 0) return this.breaker.state !== 'open'
    if (this.breaker.state !== 'closed') return false
    return this.capacity.hasFree && endpoint.hasCapacity
  }

  /** Takes a slot; `end` or `giveBack` with the same load must follow. */
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

  /** Releases an unused slot; does not count as a call. */
  giveBack(load: Load): void {
    this.calls -= 1
    this.end(load)
  }

  /** Some reply arrived. */
  progressed(): void {
    this.progressAt = this.#clock.now()
  }

  succeeded(ms: number): void {
    this.#observe(ms)
    this.answered()
  }

  /** It began to reply; the latency is unknown. */
  answered(): void {
    this.progressed()
    this.#onlyReplies = true
    this.breaker.succeeded()
    this.endpoint.breaker.succeeded()
  }

  /**
   * A probe found the address well. A service whose own health is good is not broken by five 500s in a row: else whoever writes the
   * responses could keep it out.
   */
  vouched(): void {
    if (!this.#settings.trustsHealth || this.breaker.state === 'closed') return
    if (this.#onlyReplies) this.breaker.succeeded()
  }

  /** A call was abandoned after `ms`; it would have taken longer. */
  abandoned(ms: number): void {
    if (ms > this.latencyMs) this.#observe(ms)
  }

  /** Counts a failed call and opens a breaker or backs off if due. */
  failed(fault: UpstreamError): void {
    this.errors += 1
    if (fault.waitMs > 0) this.rest(fault.waitMs)
    if (fault.kind === 'cancelled' || fault.isHang) return
    if (fault.blame && !fault.isAboutContent) this.#onlyReplies = false
    if (fault.isConnection) return void this.endpoint.failed(fault.isRefused)
    // An error reply shows that the connection works; a timeout shows nothing.
    if (fault.kind !== 'judge_timeout') {
      this.progressed()
      this.endpoint.breaker.succeeded()
    }
    if (fault.isUnavailable) this.breaker.refused(fault.waitMs, 2 * this.latencyMs)
    else if (fault.blame) this.breaker.failed()
    else this.breaker.succeeded()
  }

  /** Takes no questions for `ms`, or until an earlier, longer back-off ends. */
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

  /** Sets conditions and notifies the pools. Each condition has one owner that sets it. */
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
    // The pool that is notified first gets a freed slot, so pools take turns.
    const [first] = this.changed
    if (first) {
      this.changed.delete(first)
      this.changed.add(first)
    }
  }

  /** Cancels its timers. */
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

/** The latencies of recent answers. */
export class LatencyWindow {
  readonly #window: number[] = []
  #next = 0
  #sorted: readonly number[] = []
  #unseen = 0

  /** Records an answer's latency. */
  observe(ms: number): void {
    this.#window[this.#next] = ms
    this.#next = (this.#next + 1) % windowSize
    this.#unseen += 1
  }

  /** The quantile in milliseconds; null for fewer than 20 answers. */
  quantile(share: number): number | null {
    if (this.#window.length < leastSamples) return null
    // Sorting for each answer would cost more than the estimate is worth.
    if (this.#sorted.length === 0 || this.#unseen >= 16) {
      this.#sorted = this.#window.toSorted((a, b) => a - b)
      this.#unseen = 0
    }
    const at = Math.min(this.#sorted.length - 1, Math.floor(this.#sorted.length * share))
    return this.#sorted[at] ?? null
  }
}
