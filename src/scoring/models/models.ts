/**
 * Models by name: asks them, forwards requests to them, manages their instances and their GPU memory. Each reading of the configs
 * has its own Models object; a model that stays the same is shared between them.
 */

import type { AskName } from '../../contract/index.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { countTokens } from './count-tokens.ts'
import { answerCache } from './dispatch/answer-cache.ts'
import { askError } from './dispatch/dispatch.ts'
import { forward } from './forward.ts'
import {
  type Answered,
  AskError,
  type AskRequest,
  type ForwardReply,
  type ForwardRequest,
  type Rendered,
  type WaitLimits,
} from './interface/ask.ts'
import type { ModelEvents } from './interface/events.ts'
import type { InstanceConfig, ModelConfig } from './interface/model-config.ts'
import { GpuTenants } from './memory/gpu-tenants.ts'
import type { Model } from './model.ts'
import { type OpenModel, openModel, type SharedParts } from './open-model.ts'
import type { ModelQueue } from './pool/balance.ts'
import { QueueMemory } from './pool/capacity.ts'
import { EndpointRegistry } from './pool/endpoint-registry.ts'
import type { InstanceState } from './pool/pool-member.ts'

/** Settings that all models of a process share. */
export interface ModelsOptions {
  readonly clock: Clock
  readonly events?: ModelEvents
  /** Uniform in [0, 1). Replaced in tests. */
  readonly random?: () => number
  /** The answer cache of all models together. */
  readonly cache?: { readonly bytes: number; readonly ttlMs: number }
  /** Memory for parked questions; two fifths of the heap by default. */
  readonly maxParkedBytes?: number | undefined
  /** The environment that api_key_env is read from. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Share of the heap. The rows that these questions belong to may take as much again. */
const parkedHeapShare = 0.4

const defaultCache = { bytes: 64 * 1024 * 1024, ttlMs: 3_600_000 }

/** Opens the pools of all models by global name. Starts probes without waiting for them. */
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
  return new Models(configs, { shared, open: 0 }, new Map())
}

/** Reward models by global name. Methods that take a name throw RG_NOT_FOUND for an unknown one. */
export class Models {
  readonly #process: Process
  readonly #models = new Map<string, SharedModel>()
  #closing: Promise<void> | null = null

  /** `before`: the models before a reload, which are still open. Unchanged ones are shared. */
  constructor(
    configs: Readonly<Record<string, ModelConfig>>,
    process: Process,
    before: ReadonlyMap<string, SharedModel>,
  ) {
    this.#process = process
    process.open += 1
    try {
      for (const [name, config] of Object.entries(configs)) {
        const known = before.get(name)
        const isSame = known && JSON.stringify(known.open.config) === JSON.stringify(config)
        const held = isSame ? known : { open: openModel(name, config, process.shared, known?.open), users: 0 }
        held.users += 1
        this.#models.set(name, held)
      }
    } catch (error) {
      void this.close()
      throw error
    }
  }

  get names(): readonly string[] {
    return [...this.#models.keys()]
  }

  /** Only rejects with AskError. Callers of equal questions share one call, which is aborted when all have left. */
  ask<A extends AskName>(request: AskRequest<A>): Promise<Answered<A>> {
    const found = this.#models.get(request.model)
    if (found) return found.open.model.ask(request)
    const failure = { kind: 'judge_rejected', retryable: false, detail: 'there is no such model' } as const
    return Promise.reject(new AskError(failure))
  }

  /** The model's queue: whether a question that came now would wait, and how long. */
  queue(model: string): ModelQueue {
    return this.#open(model).model.queue
  }

  /** Whether the model's questions are parked because no instance can be asked. Cheaper than `queue`. */
  isParked(model: string): boolean {
    return this.#open(model).model.isParked
  }

  /**
   * An upper bound on the milliseconds until `ahead` questions, or those in flight if they are more, and `more` behind them are
   * answered. Cheaper than `queue`. Infinity if there is no simple bound.
   */
  answerBoundMs(model: string, ahead: number, more: number): number {
    return this.#open(model).model.answerBoundMs(ahead, more)
  }

  /** Counts a question's tokens by the method in the model's config. Rejects with AskError. */
  async countTokens(model: string, input: Rendered, limits: WaitLimits): Promise<number> {
    return countTokens(this.#open(model).model, input, limits)
  }

  /** Forwards a client's request, streaming or not, to an instance. Rejects with AskError. */
  async forward(model: string, request: ForwardRequest): Promise<ForwardReply> {
    const found = this.#open(model).model
    try {
      return await forward(found, request)
    } catch (error) {
      throw askError(error)
    }
  }

  /** Adds an instance or takes a draining one back. Throws RG_FORBIDDEN for an address outside the model's `allow`. */
  addInstance(model: string, instance: InstanceConfig): void {
    this.#open(model).membership.add(instance)
  }

  /** Stops sending questions to the instance. Resolves when its calls have ended. */
  async drainInstance(model: string, address: string): Promise<void> {
    return this.#open(model).membership.drain(address)
  }

  /** Drains the instance, then removes it. */
  async removeInstance(model: string, address: string): Promise<void> {
    return this.#open(model).membership.remove(address)
  }

  /** Stops sending questions to the instance, for a reason; null resumes. Ignores an unknown instance. */
  suspect(model: string, address: string, reason: string | null): void {
    this.#open(model).membership.suspect(address, reason)
  }

  /** Releases the GPU memory of all instances once their calls have ended. Throws RG_REQUEST_INVALID without a lifecycle. */
  sleep(model: string): Promise<void> {
    return this.#switch(model, 'sleep')
  }

  wake(model: string): Promise<void> {
    return this.#switch(model, 'wake')
  }

  /** Opens the models of new configs. Unchanged models and all instances are shared. This object stays open. */
  next(configs: Readonly<Record<string, ModelConfig>>): Models {
    this.#process.shared.tenants.retry()
    return new Models(configs, this.#process, this.#models)
  }

  /** The current state of every pool. */
  snapshot(): readonly ModelSnapshot[] {
    return [...this.#models.values()].map(({ open }) => snapshotOf(open.model))
  }

  /** Aborts calls in flight without waiting, except for models that another Models object shares. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #open(name: string): OpenModel {
    const found = this.#models.get(name)
    if (found) return found.open
    throw new GatewayError(
      'RG_NOT_FOUND',
      `there is no model '${name}'${didYouMean(name, this.#models.keys())}`,
    )
  }

  async #switch(name: string, to: 'sleep' | 'wake'): Promise<void> {
    const { config, model } = this.#open(name)
    const { lease, backend } = model.parts
    if ((!config.lifecycle && !config.gpu_group) || !backend.memory)
      throw new GatewayError('RG_REQUEST_INVALID', `the model '${name}' has no lifecycle in its config`)
    if (await lease[to]()) return
    const what =
      to === 'sleep' ? `not every instance of '${name}' fell asleep` : `no instance of '${name}' woke up`
    const why = lease.failure === '' ? '' : `: ${lease.failure}`
    throw new GatewayError('RG_MODEL_FAILED', `${what}${why}`)
  }

  async #close(): Promise<void> {
    const { shared } = this.#process
    this.#process.open -= 1
    const isLast = this.#process.open === 0
    const retired: Promise<void>[] = []
    for (const held of this.#models.values()) {
      held.users -= 1
      if (held.users > 0) continue
      if (isLast) held.open.close()
      else retired.push(held.open.retire())
    }
    await Promise.all(retired)
    if (!isLast) return
    shared.tenants.end()
    await shared.registry.close()
  }
}

/** An open model, and how many Models objects use it. */
interface SharedModel {
  readonly open: OpenModel
  users: number
}

/** What all Models objects of a process share, and how many of them are open. */
interface Process {
  readonly shared: SharedParts
  open: number
}

/** One instance in one model's pool. Its counters count this model's calls since the instance joined. */
export interface InstanceSnapshot {
  readonly address: string
  readonly state: InstanceState
  readonly weight: number
  /** Questions in flight. */
  readonly inFlight: number
  /** Questions that it may have in flight: its configured limit, or fewer while the server's own queue is long. */
  readonly limit: number
  /** Moving average of successful calls; 0 if there was none. */
  readonly latencyMs: number
  readonly calls: number
  readonly errors: number
}

/** The current state of one model's pool. */
export interface ModelSnapshot {
  readonly name: string
  /** The model name that its servers serve. */
  readonly serves: string
  readonly backend: string
  /** `unknown` until the first question. Always `awake` without lifecycle and gpu_group. */
  readonly memory: 'awake' | 'asleep' | 'unknown'
  /** Questions queued for an instance. */
  readonly waiting: number
  /** Questions parked because no instance can be asked, and since when (milliseconds since the epoch); null if none is. */
  readonly parked: { readonly questions: number; readonly since: number } | null
  /** Its questions wait for an instance until their deadline, and one has been alive. */
  readonly isPatient: boolean
  /** How long a question waits for an instance, in seconds; null: until its deadline. */
  readonly waitSeconds: number | null
  readonly instances: readonly InstanceSnapshot[]
}

/** The current state of a model's pool. */
function snapshotOf({ config, parts, parked }: Model): ModelSnapshot {
  const { pool, model, clock } = parts.dispatcher
  return {
    name: model,
    serves: config.service ? config.service.path : config.model,
    backend: config.backend,
    memory: parts.lease.state,
    waiting: pool.waiting,
    parked: parked && {
      questions: parked.questions,
      since: Math.round(Date.now() - (clock.now() - parked.since)),
    },
    isPatient: pool.isPatient && pool.liveness.hasLived,
    waitSeconds: config.wait_for_instance === 'deadline' ? null : config.wait_for_instance,
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
