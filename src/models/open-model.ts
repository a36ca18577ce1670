import type { Clock } from '../clock.ts'
import { hideSecrets } from '../secrets.ts'
import type { AnswerCache } from './answer-cache.ts'
import type { Backend, BackendFactory } from './backend.ts'
import { openaiBackend } from './backend-openai.ts'
import { sglangBackend } from './backend-sglang.ts'
import { vllmBackend } from './backend-vllm.ts'
import type { ModelEvents } from './events.ts'
import type { GpuGroup, Tenant } from './gpu-group.ts'
import { Hedge } from './hedge.ts'
import { watchInstancesFile } from './instances-file.ts'
import { Membership } from './membership.ts'
import { sleepAll, wakeAll } from './memory.ts'
import { Model } from './model.ts'
import type { ModelConfig } from './model-config.ts'
import { InstancePool } from './pool.ts'
import type { Registry } from './registry.ts'
import { RetryBudget } from './retry-budget.ts'

const backends: Record<ModelConfig['backend'], BackendFactory> = {
  vllm: vllmBackend,
  sglang: sglangBackend,
  openai: openaiBackend,
}

/** What all models of a process share. */
export interface Shared {
  readonly clock: Clock
  readonly events: ModelEvents
  readonly random: () => number
  readonly cache: AnswerCache
  readonly registry: Registry
  readonly env: Readonly<Record<string, string | undefined>>
  groupOf(name: string): GpuGroup
}

/** A model with its instances. */
export interface OpenModel {
  readonly config: ModelConfig
  readonly model: Model
  readonly membership: Membership
  /** Aborts what is under way; its instances stay for others. */
  close(): void
  /** Stops its questions, lets forwarded requests end, then gives its instances back. */
  retire(): Promise<void>
}

/** Opens a model's pool; its probes start at once. `before`: the same name in an earlier reading of the configs. */
export function openModel(name: string, config: ModelConfig, shared: Shared, before?: OpenModel): OpenModel {
  const { clock, events, random, registry } = shared
  const backend = backends[config.backend](config)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const apiKey = config.api_key_env ? shared.env[config.api_key_env] : undefined
  if (apiKey) headers.authorization = `Bearer ${apiKey}`
  const pool = new InstancePool(clock, {
    maxQueue: config.max_queue,
    maxLineMs: (config.max_queue_s ?? Number.POSITIVE_INFINITY) * 1000,
    waitMs: config.wait_for_instance_s * 1000,
    random,
    affinity: config.balance !== 'least_outstanding',
  })
  const places = () => pool.members.reduce((sum, { limit }) => sum + limit, 0)
  const dispatcher = {
    model: name,
    clock,
    events,
    pool,
    budget: new RetryBudget(config.retry.budget, () => Math.max(10, places())),
    hedge:
      config.hedge.budget > 0
        ? new Hedge(clock, {
            share: config.hedge.budget,
            quantile: config.hedge.after,
            hasLine: () => pool.waiting > 0,
          })
        : null,
    timeoutMs: config.timeout_s * 1000,
    maxReplyBytes: config.max_reply_bytes,
    maxRetries: config.retry.max,
    pauseMs: config.retry.pause_ms,
    random,
  }
  const seat =
    config.lifecycle || config.gpu_group
      ? shared
          .groupOf(config.gpu_group ?? `model ${name}`)
          .add(tenantOf(name, config, { clock, headers, pool, memory: backend.memory }))
      : null
  const model = new Model(config, { dispatcher, backend, headers, cache: shared.cache, seat })
  const membership = new Membership(model, registry, before?.membership)
  const { instances_file: file } = config
  const unwatch = file
    ? watchInstancesFile(file, clock, (addresses) => follow(file, addresses, membership, shared, name))
    : () => {}
  const end = () => {
    unwatch()
    model.stop()
    dispatcher.hedge?.end()
  }
  return {
    config,
    model,
    membership,
    close() {
      end()
      pool.close()
    },
    async retire() {
      end()
      await membership.retire()
      pool.close()
    },
  }
}

/** The model as its group sees it. A kind of server that cannot sleep is one whose orders fail. */
function tenantOf(
  model: string,
  { lifecycle, max_queue }: ModelConfig,
  parts: { clock: Clock; headers: Record<string, string>; pool: InstancePool; memory: Backend['memory'] },
): Tenant {
  const { pool, memory, clock, headers } = parts
  const level = lifecycle?.level ?? 1
  const settings = { clock, headers, level, timeoutMs: (lifecycle?.timeout_s ?? 120) * 1000 }
  return {
    model,
    idleMs: (lifecycle?.sleep_after_idle_s ?? 0) * 1000,
    lingerMs: lifecycle?.linger_ms ?? 250,
    turnMs: (lifecycle?.turn_s ?? 60) * 1000,
    wakeOnDemand: lifecycle?.wake_on_demand ?? true,
    maxQueue: max_queue,
    sleep: async () => memory !== null && sleepAll(pool, memory, settings),
    wake: async () => memory !== null && wakeAll(pool, memory, settings),
  }
}

/** Makes the pool what the file says: what is missing drains and goes, what may not come is told of. */
function follow(
  file: string,
  addresses: readonly string[],
  membership: Membership,
  { events }: Shared,
  model: string,
): void {
  const wanted = new Set<string>()
  for (const address of addresses) {
    try {
      wanted.add(membership.add(address, file))
    } catch (error) {
      events.refused?.({ model, instance: hideSecrets(address), reason: (error as Error).message })
    }
  }
  for (const address of membership.addresses)
    if (!wanted.has(address) && !membership.isConfigured(address)) void membership.remove(address)
}
