import type { Clock } from '../../core/clock.ts'
import { backendOf } from './backends/backend-of.ts'
import type { AnswerCache } from './dispatch/answer-cache.ts'
import { RetryBudget } from './dispatch/dispatch.ts'
import { Hedge } from './dispatch/hedge.ts'
import type { ModelEvents } from './interface/events.ts'
import type { ModelConfig } from './interface/model-config.ts'
import { follow, Membership, watchInstancesFile } from './membership.ts'
import type { GpuLease } from './memory/gpu-tenant.ts'
import type { GpuTenants } from './memory/gpu-tenants.ts'
import { Model } from './model.ts'
import type { QueueMemory } from './pool/capacity.ts'
import type { EndpointRegistry } from './pool/endpoint-registry.ts'
import { InstancePool } from './pool/pool.ts'

/** What all models of a process share. */
export interface SharedParts {
  readonly clock: Clock
  readonly events: ModelEvents
  readonly random: () => number
  readonly cache: AnswerCache
  readonly queueMemory: QueueMemory
  readonly registry: EndpointRegistry
  readonly env: Readonly<Record<string, string | undefined>>
  readonly tenants: GpuTenants
}

/** A model with its instances. */
export interface OpenModel {
  readonly config: ModelConfig
  readonly model: Model
  readonly membership: Membership
  /** Aborts what is in flight. Instances that others share stay open. */
  close(): void
  /** Cancels its questions, lets forwarded requests end, then releases its instances. */
  retire(): Promise<void>
}

/** Opens a model's pool and starts its probes. `before`: the model of that name before a reload. */
export function openModel(
  name: string,
  config: ModelConfig,
  shared: SharedParts,
  before?: OpenModel,
): OpenModel {
  const { clock, events, random } = shared
  const backend = backendOf(config)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const apiKey = config.api_key_env ? shared.env[config.api_key_env] : undefined
  if (apiKey) headers.authorization = `Bearer ${apiKey}`
  const pool = new InstancePool(clock, {
    maxQueue: config.max_queue,
    maxLineMs: (config.max_queue_wait_s ?? Number.POSITIVE_INFINITY) * 1000,
    waitMs: isPatient(config) ? Number.POSITIVE_INFINITY : Number(config.wait_for_instance) * 1000,
    random,
    affinity: config.balance !== 'least_outstanding',
    hasLived: before?.model.parts.dispatcher.pool.liveness.hasLived ?? false,
    parked: (isParked) => events.parked?.({ model: name, isParked }),
  })
  const places = () => pool.members.reduce((sum, { limit }) => sum + limit, 0)
  const dispatcher = {
    model: name,
    clock,
    events,
    pool,
    queueMemory: shared.queueMemory,
    budget: new RetryBudget(config.retry.budget, () => Math.max(10, places())),
    hedge:
      config.hedge.budget > 0
        ? new Hedge(clock, {
            share: config.hedge.budget,
            quantile: config.hedge.quantile,
            hasLine: () => pool.waiting > 0,
          })
        : null,
    timeoutMs: config.timeout_s * 1000,
    maxReplyBytes: config.max_reply_bytes,
    maxRetries: config.retry.max,
    pauseMs: config.retry.pause_ms,
    random,
  }
  const lease = shared.tenants.open({ model: name, config, pool, memory: backend.memory, headers })
  const model = new Model(config, { dispatcher, backend, headers, cache: shared.cache, lease: lease })
  const membership = joined(model, shared, lease, before)
  const { instances_file: file } = config
  const unwatch = file
    ? watchInstancesFile(file, clock, (addresses) => follow(file, addresses, membership, events, name))
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

const isPatient = ({ wait_for_instance: wait }: ModelConfig): boolean => wait === 'deadline'

/** Opens the servers of a model. If that throws, nothing of the model stays open. */
function joined(
  model: Model,
  { registry, tenants }: SharedParts,
  lease: GpuLease,
  before?: OpenModel,
): Membership {
  try {
    const membership = new Membership(model, registry, before?.membership)
    tenants.settle(lease)
    return membership
  } catch (error) {
    lease.remove()
    throw error
  }
}
