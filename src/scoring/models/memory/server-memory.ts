import type { Clock } from '../../../core/clock.ts'
import {
  type CalledServer,
  callsTo,
  doubtAbout,
  type KnownAnswer,
  type MemoryBackend,
  OrderFailed,
  type ServerCalls,
} from '../backends/memory-backend.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** An order to one server. */
export interface MemoryOrder extends CalledServer {
  readonly backend: MemoryBackend
  /** The served name. */
  readonly model: string
  readonly level: number
  /** Called with why an order failed or the answers are not trusted. `isNews`: not reported before. */
  failed(order: 'sleep' | 'wake', reason: string, isNews: boolean): void
}

/** One server's GPU memory. Outlives the pools that use the server, because a sleeping server does not report that it sleeps. */
export class ServerMemory {
  state: 'unknown' | 'awake' | 'asleep' = 'unknown'
  /** Why its answers are not trusted since it woke; '' if they are. */
  doubt = ''
  /** It takes no questions, because it sleeps or its state is unknown. */
  isOut = false
  /** The path that it lists as its model since it reloaded its weights; '' if it did not. */
  listedAs = ''
  #known: KnownAnswer | null = null
  #knownModel = ''
  #prepared = ''
  #level = 1
  /** Identifies the process that was put to sleep; '' if unknown. */
  #process = ''
  /** Why its process can never sleep at a level. */
  #refusal: { readonly level: number; readonly error: OrderFailed } | null = null
  #turn: Promise<unknown> = Promise.resolve()

  /** Finds out the state without changing it. Resolves to whether the server can be asked or woken. */
  find(order: MemoryOrder): Promise<boolean> {
    const find = async (calls: ServerCalls): Promise<boolean> => {
      if (this.state === 'unknown') await this.#learn(order, calls)
      if (this.state === 'awake' && this.doubt !== '')
        this.#prove(order, await order.backend.askKnown(calls, order.model))
      if (this.state === 'awake') this.#setOut(order.endpoint, false)
      return this.doubt === ''
    }
    return this.#inTurn(() => this.#ordered('wake', order, find))
  }

  /** Trusts its answers again: the canary has seen that it judges correctly. */
  trust(): void {
    this.doubt = ''
    this.#known = null
  }

  /** Resolves to whether its memory is free: it sleeps, or nothing listens at the address. */
  sleep(order: MemoryOrder): Promise<boolean> {
    return this.#inTurn(() => this.#ordered('sleep', order, (calls) => this.#sleep(order, calls)))
  }

  /** Resolves to whether it may be asked: it is awake and passes the known question. */
  wake(order: MemoryOrder): Promise<boolean> {
    return this.#inTurn(() => this.#ordered('wake', order, (calls) => this.#wake(order, calls)))
  }

  /** Forgets a final refusal, because an operator may have fixed its cause. */
  retry(): void {
    this.#refusal = null
  }

  /** Copies the known state to an endpoint that was opened later. */
  mark(endpoint: Endpoint): void {
    this.#attend(endpoint)
    const { isOut: asleep, doubt, listedAs } = this
    const isNew = endpoint.asleep !== asleep || endpoint.doubt !== doubt || endpoint.listedAs !== listedAs
    if (isNew) endpoint.mark({ asleep, doubt, listedAs })
  }

  /** The process is gone. The next one at the address is awake and may have other weights. */
  #gone(): void {
    if (this.state === 'asleep') this.state = 'unknown'
    this.#known = null
    this.#refusal = null
  }

  #attend(endpoint: Endpoint): void {
    endpoint.onGone = () => this.#gone()
  }

  /** For fragile servers: checks that the process that was put to sleep still runs, since an order would crash a new one. */
  async #recognize({ backend }: MemoryOrder, calls: ServerCalls): Promise<void> {
    if (this.state !== 'asleep' || !backend.isFragile || this.#process === '') return
    const process = await backend.processOf(calls)
    if (process !== '' && process !== this.#process) this.#gone()
  }

  async #sleep(order: MemoryOrder, calls: ServerCalls): Promise<boolean> {
    const { endpoint, backend, level } = order
    await this.#recognize(order, calls)
    if (this.state === 'unknown') await this.#learn(order, calls)
    if (this.state === 'asleep') {
      this.#setOut(endpoint, true)
      return true
    }
    if (this.#refusal?.level === level) throw this.#refusal.error
    this.#prepared = await backend.prepare(calls, level)
    if (this.state === 'awake' && this.doubt === '' && !this.#knownOf(order.model))
      this.#keep(order, await backend.askKnown(calls, order.model))
    const wasOut = this.isOut
    try {
      // From here on the pool gives out no slot at it; calls in flight are waited for.
      this.#setOut(endpoint, true)
      if (!(await isIdle(endpoint, order.clock, calls.leftMs)))
        throw new OrderFailed('calls are in flight at the server', true)
      this.#level = level
      this.#process = await backend.processOf(calls)
      await backend.sleep(calls, level)
    } catch (error) {
      if (error instanceof OrderFailed && error.isUnchanged) this.#setOut(endpoint, wasOut)
      throw error
    }
    this.state = 'asleep'
    return true
  }

  async #wake(order: MemoryOrder, calls: ServerCalls): Promise<boolean> {
    const { endpoint, backend, model } = order
    await this.#recognize(order, calls)
    if (this.state === 'unknown') {
      this.#level = order.level
      await this.#learn(order, calls)
    }
    if (this.state !== 'awake') {
      this.#setOut(endpoint, true)
      // Before the order, because a probe may see the new name as soon as the server has it.
      if (this.#prepared !== '') {
        this.listedAs = this.#prepared
        endpoint.mark({ listedAs: this.#prepared })
      }
      await backend.wake(calls, this.#level, this.#prepared)
      // Unknown until it has answered the known question.
      this.state = 'unknown'
      this.#prove(order, await backend.askKnown(calls, model))
      this.state = 'awake'
    } else if (this.doubt !== '') this.#prove(order, await backend.askKnown(calls, model))
    this.#setOut(endpoint, false)
    return this.doubt === ''
  }

  /** Finds out the state if possible. Rejects with OrderFailed if a fragile server's state stays unknown. */
  async #learn(order: MemoryOrder, calls: ServerCalls): Promise<void> {
    const { backend, model } = order
    const asleep = await backend.isAsleep(calls)
    if (asleep !== null) {
      this.state = asleep ? 'asleep' : 'awake'
      return
    }
    if (!backend.isFragile) return
    const answer = await backend.askKnown(calls, model).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.isRefused) throw error
      return null
    })
    if (!answer)
      throw new OrderFailed(
        'it is unknown whether the server sleeps, and it does not answer a known question: wake it manually or restart it',
        true,
      )
    this.#keep(order, answer)
    this.state = 'awake'
  }

  /** Keeps the first answer, which later ones are compared with. */
  #keep(order: MemoryOrder, answer: KnownAnswer | null): void {
    if (this.#knownModel !== order.model) this.#known = null
    this.#knownModel = order.model
    if (!answer) return
    const constant = doubtAbout(answer, null)
    if (constant !== '') {
      this.#doubt(order, constant)
      throw new OrderFailed(constant, true)
    }
    this.#known ??= answer
  }

  #knownOf(model: string): KnownAnswer | null {
    return this.#knownModel === model ? this.#known : null
  }

  #prove(order: MemoryOrder, answer: KnownAnswer | null): void {
    const before = this.#knownOf(order.model)
    const doubt = answer ? doubtAbout(answer, before) : before ? 'it no longer answers a known question' : ''
    this.#doubt(order, doubt)
    if (doubt !== '') order.failed('wake', doubt, true)
    else this.#keep(order, answer)
  }

  #setOut(endpoint: Endpoint, out: boolean): void {
    this.isOut = out
    endpoint.mark({ asleep: out })
  }

  #doubt({ endpoint }: MemoryOrder, doubt: string): void {
    this.doubt = doubt
    endpoint.mark({ doubt })
  }

  async #ordered(
    name: 'sleep' | 'wake',
    order: MemoryOrder,
    work: (calls: ServerCalls) => Promise<boolean>,
  ): Promise<boolean> {
    this.#attend(order.endpoint)
    try {
      return await work(callsTo(order))
    } catch (error) {
      if (!(error instanceof OrderFailed || error instanceof UpstreamError)) throw error
      const isGone = error instanceof UpstreamError && error.isRefused
      const isAsItWas = error instanceof OrderFailed && error.isUnchanged && this.state === 'awake'
      if (!isAsItWas) {
        // A process that starts later is awake; the state of one that still runs is unknown.
        this.state = 'unknown'
        this.#setOut(order.endpoint, !(isGone && name === 'wake'))
      }
      if (isGone && name === 'sleep') return true
      const isNews = error !== this.#refusal?.error
      if (error instanceof OrderFailed && error.isFinal) this.#refusal = { level: order.level, error }
      order.failed(name, error.message, isNews)
      return false
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** Resolves to true once no call is in flight at an endpoint, or to false after `ms`. */
function isIdle(endpoint: Endpoint, clock: Clock, ms: number): Promise<boolean> {
  if (endpoint.inFlight === 0) return Promise.resolve(true)
  return new Promise((resolve) => {
    const over = (idle: boolean) => {
      off()
      cancel()
      resolve(idle)
    }
    const cancel = clock.after(ms, () => over(false))
    const off = endpoint.onQuiet(() => over(true))
  })
}
