import type { AskName } from '../../contract/index.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import {
  type Answered,
  AskError,
  type AskRequest,
  type ForwardReply,
  type ForwardRequest,
  type Rendered,
  type WaitLimits,
} from './api/ask.ts'
import type { ModelEvents } from './api/events.ts'
import type { InstanceConfig, ModelConfig } from './api/model-config.ts'
import { countTokens } from './count-tokens.ts'
import { askError } from './dispatch/dispatch.ts'
import { answerCache } from './dispatch/shared-answers.ts'
import { forward } from './forward.ts'
import { GpuTenants } from './memory/gpu-tenants.ts'
import type { Model } from './model.ts'
import { type OpenModel, openModel, type SharedParts } from './open-model.ts'
import { QueueMemory } from './pool/capacity.ts'
import { EndpointRegistry } from './pool/endpoint-registry.ts'
import type { InstanceState } from './pool/pool-member.ts'
import type { ModelQueue } from './pool/wait-estimate.ts'

/** One instance in one model's pool. Counters are of this model there, since it joined. */
export interface InstanceSnapshot {
  readonly address: string
  readonly state: InstanceState
  readonly weight: number
  /** Questions under way. */
  readonly inFlight: number
  /** Questions that it may have under way: its limit, or fewer while a line stands in the server itself. */
  readonly limit: number
  /** Moving average of good calls; 0: none yet. */
  readonly latencyMs: number
  readonly calls: number
  readonly errors: number
}

/** One model's pool right now. */
export interface ModelSnapshot {
  readonly name: string
  /** The name that its servers serve. */
  readonly serves: string
  readonly backend: string
  /** `unknown`: it was not asked yet; models without lifecycle and gpu_group are `awake`. */
  readonly memory: 'awake' | 'asleep' | 'unknown'
  /** Questions in line for an instance. */
  readonly waiting: number
  /** Questions that wait because no instance can be asked, and since when (milliseconds since the epoch); null: none does. */
  readonly parked: { readonly questions: number; readonly since: number } | null
  /** Its questions would wait for an instance as long as they may, and one has lived. */
  readonly isPatient: boolean
  readonly instances: readonly InstanceSnapshot[]
}

/** Reward models by global name. Methods that take a name throw RG_NOT_FOUND for one that is not there. */
export interface Models {
  readonly names: readonly string[]
  /** Rejects with AskError only. One question's callers share one upstream call; it is aborted when all have gone. */
  ask<A extends AskName>(request: AskRequest<A>): Promise<Answered<A>>
  /** How the model's line stands: whether a question that came now would have to wait, and how long. */
  queue(model: string): ModelQueue
  /** Questions of the model wait because no instance of it can be asked; costs less than `line`. */
  isParked(model: string): boolean
  /**
   * Milliseconds that surely are enough for the answers to `ahead` questions, or to those under way if they are more, and to
   * `more` behind them; costs less than `line`. Infinity: nothing so simple can be said.
   */
  answerBoundMs(model: string, ahead: number, more: number): number
  /** Tokens of a question, as the model's config says to count them. Rejects with AskError. */
  countTokens(model: string, input: Rendered, patience: WaitLimits): Promise<number>
  /** Passes a client's request on to an instance, streams included. Rejects with AskError. */
  forward(model: string, request: ForwardRequest): Promise<ForwardReply>
  /** Adds an instance, or takes a draining one back. Throws RG_FORBIDDEN for an address outside the model's `allow`. */
  addInstance(model: string, place: InstanceConfig): void
  /** No further questions for the instance; resolves when its calls have come back. */
  drainInstance(model: string, address: string): Promise<void>
  /** Drains, then forgets. */
  removeInstance(model: string, address: string): Promise<void>
  /** No further questions for the instance, with the reason; null: it may have them again. Nothing where it is not there. */
  suspect(model: string, address: string, reason: string | null): void
  /** Gives back the GPU memory of all instances when their calls are done. Throws RG_REQUEST_INVALID without a lifecycle. */
  sleep(model: string): Promise<void>
  wake(model: string): Promise<void>
  /** The models of other configs; those that are the same, and all instances, are shared. This one stays open. */
  next(configs: Readonly<Record<string, ModelConfig>>): Models
  /** How every pool is right now. */
  snapshot(): readonly ModelSnapshot[]
  /** Waits for nothing: aborts what is in flight, except at models that a later or earlier one shares. */
  close(): Promise<void>
}

/** An open model, and how many readings of the configs use it. */
interface SharedModel {
  readonly open: OpenModel
  users: number
}

/** The models of one reading of the configs after the other: a reload shares what stays the same with what drains. */
export class ModelRegistry {
  readonly #shared: SharedParts
  #alive = 0

  constructor(shared: SharedParts) {
    this.#shared = shared
  }

  /** The models of these configs; `before` are those of an earlier reading that is still open. */
  open(configs: Readonly<Record<string, ModelConfig>>, before: ReadonlyMap<string, SharedModel>): Models {
    const own = new Map<string, SharedModel>()
    this.#alive += 1
    try {
      for (const [name, config] of Object.entries(configs)) {
        const known = before.get(name)
        const isSame = known && JSON.stringify(known.open.config) === JSON.stringify(config)
        const held = isSame ? known : { open: openModel(name, config, this.#shared, known?.open), users: 0 }
        held.users += 1
        own.set(name, held)
      }
    } catch (error) {
      void this.#close(own)
      throw error
    }
    let closing: Promise<void> | null = null
    return {
      ...asked(own),
      next: (later) => {
        this.#shared.tenants.retry()
        return this.open(later, own)
      },
      close: () => {
        closing ??= this.#close(own)
        return closing
      },
    }
  }

  async #close(own: ReadonlyMap<string, SharedModel>): Promise<void> {
    this.#alive -= 1
    const isLast = this.#alive === 0
    const retired: Promise<void>[] = []
    for (const held of own.values()) {
      held.users -= 1
      if (held.users > 0) continue
      if (isLast) held.open.close()
      else retired.push(held.open.retire())
    }
    await Promise.all(retired)
    if (!isLast) return
    this.#shared.tenants.end()
    await this.#shared.registry.close()
  }
}

/** What can be asked of open models, by their names. */
function asked(own: ReadonlyMap<string, SharedModel>): Omit<Models, 'next' | 'close'> {
  const named = (name: string): OpenModel => {
    const found = own.get(name)
    if (found) return found.open
    throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'${didYouMean(name, own.keys())}`)
  }
  const switched = async (name: string, to: 'sleep' | 'wake'): Promise<void> => {
    const { config, model } = named(name)
    const { lease, backend } = model.parts
    if ((!config.lifecycle && !config.gpu_group) || !backend.memory)
      throw new GatewayError('RG_REQUEST_INVALID', `the model '${name}' has no lifecycle in its config`)
    if (await lease[to]()) return
    const what =
      to === 'sleep' ? `not every instance of '${name}' fell asleep` : `no instance of '${name}' woke up`
    const why = lease.failure === '' ? '' : `: ${lease.failure}`
    throw new GatewayError('RG_MODEL_FAILED', `${what}${why}`)
  }
  return {
    get names() {
      return [...own.keys()]
    },
    ask(request) {
      const found = own.get(request.model)
      if (found) return found.open.model.ask(request)
      const failure = { kind: 'judge_rejected', retryable: false, detail: 'there is no such model' } as const
      return Promise.reject(new AskError(failure))
    },
    queue: (model) => named(model).model.queue,
    isParked: (model) => named(model).model.isParked,
    answerBoundMs: (model, ahead, more) => named(model).model.answerBoundMs(ahead, more),
    countTokens: async (model, input, patience) => countTokens(named(model).model, input, patience),
    async forward(model, request) {
      const found = named(model).model
      try {
        return await forward(found, request)
      } catch (error) {
        throw askError(error)
      }
    },
    addInstance(model, place) {
      named(model).membership.add(place)
    },
    drainInstance: async (model, address) => named(model).membership.drain(address),
    removeInstance: async (model, address) => named(model).membership.remove(address),
    suspect: (model, address, reason) => named(model).membership.suspect(address, reason),
    sleep: (model) => switched(model, 'sleep'),
    wake: (model) => switched(model, 'wake'),
    snapshot: () => [...own.values()].map(({ open }) => snapshotOf(open.model)),
  }
}

/** What all models of a process share. */
export interface ModelsOptions {
  readonly clock: Clock
  readonly events?: ModelEvents
  /** Uniform in [0, 1); for tests. */
  readonly random?: () => number
  /** Kept answers of all models together. */
  readonly cache?: { readonly bytes: number; readonly ttlMs: number }
  /** Of memory that questions may take which wait while no instance can be asked; absent: two fifths of the heap. */
  readonly maxParkedBytes?: number | undefined
  /** Where api_key_env is looked up. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Of the heap; rows in work, which these questions belong to, have as much. */
const parkedHeapShare = 0.4

const defaultCache = { bytes: 64 * 1024 * 1024, ttlMs: 3_600_000 }

/** Opens the pools of all models by global name. Probes start at once; nothing is waited for. */
export function openModels(configs: Readonly<Record<string, ModelConfig>>, options: ModelsOptions): Models {
  const { clock, events = {}, random = Math.random, env = {} } = options
  const shared: SharedParts = {
    clock,
    events,
    random,
    env,
    queueMemory: new QueueMemory(options.maxParkedBytes ?? heapShare(parkedHeapShare)),
    registry: new EndpointRegistry(clock, events),
    cache: answerCache(clock, options.cache ?? defaultCache),
    tenants: new GpuTenants(clock, events),
  }
  return new ModelRegistry(shared).open(configs, new Map())
}

/** How a model's pool is right now. */
export function snapshotOf({ config, parts, parked }: Model): ModelSnapshot {
  const { pool, model, clock } = parts.dispatcher
  return {
    name: model,
    serves: config.model,
    backend: config.backend,
    memory: parts.lease.state,
    waiting: pool.waiting,
    parked: parked && {
      questions: parked.questions,
      since: Math.round(Date.now() - (clock.now() - parked.since)),
    },
    isPatient: pool.isPatient && pool.liveness.hasLived,
    instances: pool.members.map(
      ({
        address,
        endpoint,
        state,
        weight,
        inFlight,
        limit,
        latencyMs,
        calls,
        errors,
      }): InstanceSnapshot => ({
        address,
        state,
        weight,
        inFlight,
        limit: Math.min(limit, endpoint.maxInFlight),
        latencyMs,
        calls,
        errors,
      }),
    ),
  }
}
