import type { Clock } from '../clock.ts'
import type { AskName, Asks } from '../contract/index.ts'
import type { AnswerCache } from './answer-cache.ts'
import type { Backend, Settings } from './backend.ts'
import { type Dispatched, type Dispatcher, dispatch, Undone, type Work } from './dispatch.ts'
import { Fault } from './fault.ts'
import { Flight } from './flight.ts'
import type { ModelConfig } from './model-config.ts'
import { type Answered, AskError, type AskRequest } from './models.ts'
import { readObject } from './reply.ts'

type AnyAnswer = Asks[AskName]['answer']

/** One reward model: questions in, answers out. Equal questions share a call, kept answers need none. */
export class Model {
  readonly config: ModelConfig
  readonly dispatcher: Dispatcher
  readonly #backend: Backend
  readonly #headers: Record<string, string>
  readonly #cache: AnswerCache
  readonly #clock: Clock
  readonly #identity: string
  readonly #flights = new Map<string, Flight<Dispatched<AnyAnswer>>>()

  constructor(
    config: ModelConfig,
    parts: { dispatcher: Dispatcher; backend: Backend; headers: Record<string, string>; cache: AnswerCache },
  ) {
    this.config = config
    this.dispatcher = parts.dispatcher
    this.#backend = parts.backend
    this.#headers = parts.headers
    this.#cache = parts.cache
    this.#clock = parts.dispatcher.clock
    this.#identity = JSON.stringify([parts.dispatcher.model, config.model, config.revision])
  }

  async ask<A extends AskName>(request: AskRequest<A>): Promise<Answered<A>> {
    const settings = this.#settings(request)
    const key = this.#keyOf(request, settings)
    const isKept = this.#isKept(request.ask, settings)
    const { events, model } = this.dispatcher
    if (isKept) {
      const kept = this.#cache.get(key)
      if (kept) {
        events.answered?.({ model, source: 'cache' })
        return answered({ ...kept, attempts: 0 }, 'cache')
      }
    }
    try {
      if (request.signal.aborted) throw new Fault('cancelled', 'the client has gone')
      if (request.deadline <= this.#clock.now()) throw this.#late()
      let flight = this.#flights.get(key)
      const source = flight && !flight.stop.stopped ? 'joined' : 'call'
      if (!flight || source === 'call') flight = this.#start(key, request, settings, isKept)
      const done = await flight.join(this.#clock, request.deadline, request.signal, () => this.#late())
      events.answered?.({ model, source })
      return answered(done, source)
    } catch (error) {
      throw askError(error)
    }
  }

  /** Stops everything under way. */
  stop(): void {
    for (const flight of this.#flights.values()) flight.stop.stop()
  }

  #start<A extends AskName>(
    key: string,
    { ask, input }: AskRequest<A>,
    settings: Settings,
    isKept: boolean,
  ): Flight<Dispatched<AnyAnswer>> {
    const { path, body } = this.#backend.translate(ask, input, settings)
    const work: Work<AnyAnswer> = {
      ask,
      message: { method: 'POST', path, headers: this.#headers, body },
      read: (reply) => this.#backend.read(ask, readObject(reply), input),
    }
    const flight: Flight<Dispatched<AnyAnswer>> = new Flight(async (stop) => {
      try {
        const done = await dispatch(this.dispatcher, work, stop)
        if (isKept) this.#cache.set(key, done)
        return done
      } finally {
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
      }
    })
    this.#flights.set(key, flight)
    return flight
  }

  #settings({ sampling, reply, draw }: AskRequest): Settings {
    return { sampling: { ...this.config.sampling, ...sampling } as Settings['sampling'], reply, draw }
  }

  #keyOf({ ask, key, draw }: AskRequest, { sampling, reply }: Settings): string {
    const how = reply ? JSON.stringify([sampling, reply]) : JSON.stringify(sampling)
    return `${key} ${draw} ${ask} ${this.#identity} ${how}`
  }

  /** Only generated text differs from one time to the next. */
  #isKept(ask: AskName, { sampling }: Settings): boolean {
    if (this.config.cache !== 'auto') return this.config.cache === 'always'
    return ask !== 'generate' || sampling.temperature === 0
  }

  #late(): Fault {
    return this.dispatcher.pool.isDead
      ? new Fault('judge_unreachable', 'no instance of the model answers')
      : new Fault('deadline', 'the time for this request is over')
  }
}

function answered<A extends AskName>(
  done: { answer: AnyAnswer; instance: string; attempts: number; prompt: number; completion: number },
  source: Answered['source'],
): Answered<A> {
  const { instance, attempts, prompt, completion } = done
  const answer = done.answer as Asks[A]['answer']
  return { answer, instance, source, attempts, tokens: { prompt, completion } }
}

const retryable = new Set(['judge_unreachable', 'judge_timeout', 'overloaded', 'deadline', 'cancelled'])

function askError(error: unknown): AskError {
  const fault = error instanceof Undone ? error.fault : error
  if (!(fault instanceof Fault)) throw error
  const failure = { kind: fault.kind, retryable: retryable.has(fault.kind), detail: fault.message }
  const attempts = error instanceof Undone ? error.attempts : []
  return new AskError(attempts.length > 0 ? { ...failure, attempts } : failure)
}
