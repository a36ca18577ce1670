import type { Clock } from '../clock.ts'
import { answerCache } from './answer-cache.ts'
import type { BackendFactory } from './backend.ts'
import { vllmBackend } from './backend-vllm.ts'
import type { Member } from './balance.ts'
import type { ModelEvents } from './events.ts'
import { watchHealth } from './health.ts'
import { Instance } from './instance.ts'
import { Model } from './model.ts'
import type { InstanceConfig, ModelConfig } from './model-config.ts'
import { AskError, type InstanceSnapshot, type ModelSnapshot, type Models } from './models.ts'
import { InstancePool } from './pool.ts'
import { RetryBudget } from './retry-budget.ts'
import { connections } from './transport.ts'

export interface ModelsOptions {
  readonly clock: Clock
  readonly events?: ModelEvents
  /** Uniform in [0, 1); for tests. */
  readonly random?: () => number
  /** Kept answers of all models together. */
  readonly cache?: { readonly bytes: number; readonly ttlMs: number }
  /** Where api_key_env is looked up. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const backends: Record<string, BackendFactory> = { vllm: vllmBackend }

const defaultCache = { bytes: 64 * 1024 * 1024, ttlMs: 3_600_000 }

/** Opens the pools of all models by global name. Probes start at once; nothing is waited for. */
export function openModels(configs: Readonly<Record<string, ModelConfig>>, options: ModelsOptions): Models {
  const { clock, events = {}, random = Math.random } = options
  const cache = answerCache(clock, options.cache ?? defaultCache)
  const instances = new Map<string, Instance>()
  const models = new Map<string, Model>()
  const endings: (() => void)[] = []

  /** One for each address in the process: what breaks for one model is broken for all. */
  const instanceAt = (address: string, limit: number, config: ModelConfig): Instance => {
    const known = instances.get(address)
    if (known) {
      known.limit = Math.max(known.limit, limit)
      return known
    }
    const pool = connections(address, {
      connectMs: config.connect_timeout_s * 1000,
      maxReplyBytes: config.max_reply_bytes,
    })
    const { failures, open_s } = config.breaker
    const made = new Instance(
      address,
      pool,
      { clock, limit, failures, openMs: open_s * 1000 },
      (_instance, state) => {
        if (state === 'open') events.ejected?.({ instance: address, reason: 'its calls fail' })
        if (state === 'closed') events.readmitted?.({ instance: address })
      },
    )
    instances.set(address, made)
    return made
  }

  const memberOf = (config: ModelConfig, place: InstanceConfig): Member => {
    const { url, weight, max_in_flight } =
      typeof place === 'string' ? { url: place, weight: 1, max_in_flight: undefined } : place
    const instance = instanceAt(new URL(url).origin, max_in_flight ?? config.max_in_flight, config)
    return { instance, weight, draining: false, stranger: false }
  }

  for (const [name, config] of Object.entries(configs)) {
    const backend = (backends[config.backend] as BackendFactory)(config)
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    const apiKey = config.api_key_env ? options.env?.[config.api_key_env] : undefined
    if (apiKey) headers.authorization = `Bearer ${apiKey}`
    const pool = new InstancePool(clock, {
      maxQueue: config.max_queue,
      waitMs: config.wait_for_instance_s * 1000,
      random,
    })
    for (const place of config.instances) pool.add(memberOf(config, place))
    const dispatcher = {
      model: name,
      clock,
      events,
      pool,
      budget: new RetryBudget(config.retry.budget, () =>
        Math.max(
          10,
          pool.members.reduce((sum, { instance }) => sum + instance.limit, 0),
        ),
      ),
      timeoutMs: config.timeout_s * 1000,
      maxRetries: config.retry.max,
      pauseMs: config.retry.pause_ms,
      random,
    }
    models.set(name, new Model(config, { dispatcher, backend, headers, cache }))
    if (config.health.interval_s > 0)
      for (const member of pool.members)
        endings.push(
          watchHealth(
            member,
            {
              clock,
              headers,
              healthPath: backend.healthPath,
              modelsPath: config.health.model ? backend.modelsPath : '',
              names: new Set([config.model, ...config.reports_as]),
              intervalMs: config.health.interval_s * 1000,
              timeoutMs: config.health.timeout_s * 1000,
              failures: config.health.failures,
            },
            {
              ejected: (reason) => events.ejected?.({ instance: member.instance.address, reason }),
              readmitted: () => events.readmitted?.({ instance: member.instance.address }),
              changed: () => pool.changed(),
            },
          ),
        )
  }

  return {
    names: [...models.keys()],
    async ask(request) {
      const model = models.get(request.model)
      if (!model)
        throw new AskError({ kind: 'judge_rejected', retryable: false, detail: 'there is no such model' })
      return model.ask(request)
    },
    snapshot: () => [...models.values()].map(snapshotOf),
    async close() {
      for (const end of endings) end()
      for (const model of models.values()) {
        model.stop()
        model.dispatcher.pool.close()
      }
      await Promise.all([...instances.values()].map((instance) => instance.close()))
    },
  }
}

function snapshotOf({ config, dispatcher }: Model): ModelSnapshot {
  const { pool, model } = dispatcher
  return {
    name: model,
    serves: config.model,
    backend: config.backend,
    waiting: pool.waiting,
    instances: pool.members.map((member): InstanceSnapshot => {
      const { instance, weight, draining, stranger } = member
      const { address, inFlight, limit, latencyMs, calls, errors, healthy, breaker } = instance
      const state = draining
        ? 'draining'
        : stranger
          ? 'other-model'
          : !healthy || breaker.state === 'open'
            ? 'ejected'
            : breaker.state === 'half-open'
              ? 'trial'
              : 'ready'
      return { address, state, weight, inFlight, limit, latencyMs, calls, errors }
    }),
  }
}
