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

/** How one server is told. */
export interface MemoryOrder extends CalledServer {
  readonly backend: MemoryBackend
  /** The served name. */
  readonly model: string
  readonly level: number
  /** Why an order failed, or the server's answers are not trusted. `isNews`: it was not told before. */
  failed(order: 'sleep' | 'wake', reason: string, isNews: boolean): void
}

/** One server's GPU memory. It outlives the pools that the server belongs to: what sleeps says so to nobody. */
export class ServerMemory {
  state: 'unknown' | 'awake' | 'asleep' = 'unknown'
  /** Why its answers are not trusted since it woke; '' where they are. */
  doubt = ''
  /** It takes no questions, since it sleeps or nobody knows. */
  isOut = false
  /** The path that it lists as its model, since it read its weights again; '': it has not. */
  listedAs = ''
  #known: KnownAnswer | null = null
  #knownModel = ''
  #prepared = ''
  #level = 1
  /** What its process said of itself before it was put to sleep; '': nothing. */
  #process = ''
  /** Why its process cannot sleep at a level, whoever tells it to. */
  #refusal: { readonly level: number; readonly error: OrderFailed } | null = null
  #turn: Promise<unknown> = Promise.resolve()

  /** Finds out how it is and changes nothing there. Resolves to whether it can be asked, or woken. */
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

  /** Its answers are trusted again: others have seen that it judges. */
  trust(): void {
    this.doubt = ''
    this.#known = null
  }

  /** Resolves to whether it holds no memory any more: it sleeps, or nothing listens there. */
  sleep(order: MemoryOrder): Promise<boolean> {
    return this.#inTurn(() => this.#ordered('sleep', order, (calls) => this.#sleep(order, calls)))
  }

  /** Resolves to whether it may be asked: it is awake and still judges. */
  wake(order: MemoryOrder): Promise<boolean> {
    return this.#inTurn(() => this.#ordered('wake', order, (calls) => this.#wake(order, calls)))
  }

  /** The next order to sleep is tried although the server has refused one for good: somebody may have seen to that. */
  retry(): void {
    this.#refusal = null
  }

  /** Lays what is known over an endpoint that was opened later. */
  mark(endpoint: Endpoint): void {
    this.#attend(endpoint)
    const { isOut: asleep, doubt, listedAs } = this
    const isNew = endpoint.asleep !== asleep || endpoint.doubt !== doubt || endpoint.listedAs !== listedAs
    if (isNew) endpoint.mark({ asleep, doubt, listedAs })
  }

  /** Its process has gone. Whoever is found there next is another one, which is awake, and may have other weights. */
  #gone(): void {
    if (this.state === 'asleep') this.state = 'unknown'
    this.#known = null
    this.#refusal = null
  }

  #attend(endpoint: Endpoint): void {
    endpoint.onGone = () => this.#gone()
  }

  /** Looks whether the process that was put to sleep is still the one that runs there, where an order to another one kills it. */
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
      // From here on nobody takes a place at it; whoever has one is waited for.
      this.#setOut(endpoint, true)
      if (!(await isIdle(endpoint, order.clock, calls.leftMs)))
        throw new OrderFailed('calls are under way at it', true)
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
      // Before the order: a probe may see the new name as soon as the server has it.
      if (this.#prepared !== '') {
        this.listedAs = this.#prepared
        endpoint.mark({ listedAs: this.#prepared })
      }
      await backend.wake(calls, this.#level, this.#prepared)
      // Until it has shown that it judges.
      this.state = 'unknown'
      this.#prove(order, await backend.askKnown(calls, model))
      this.state = 'awake'
    } else if (this.doubt !== '') this.#prove(order, await backend.askKnown(calls, model))
    this.#setOut(endpoint, false)
    return this.doubt === ''
  }

  /** Finds out what can be found out. Rejects with OrderFailed where a server must be known and is not. */
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
        'it is not known whether it sleeps, and it does not answer a known question: wake it by hand or start it anew',
        true,
      )
    this.#keep(order, answer)
    this.state = 'awake'
  }

  /** The first answer is what later ones are compared with. */
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
    const doubt = answer ? doubtAbout(answer, before) : before ? 'it answers no known question any more' : ''
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
        // Whoever starts there after one that has gone is awake; what became of one that lives is not known.
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

/** Whether no call of anybody is under way at an endpoint, now or before `ms` are over. */
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
