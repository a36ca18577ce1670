import type { Clock } from '../../core/clock.ts'
import { heapShare } from '../../core/heap-share.ts'
import type { ModelEvents } from './api/events.ts'
import type { ModelConfig } from './api/model-config.ts'
import { answerCache } from './dispatch/answer-cache.ts'
import { GpuTenants } from './memory/gpu-tenants.ts'
import { ModelRegistry } from './model-registry.ts'
import type { Models } from './models.ts'
import type { Shared } from './open-model.ts'
import { EndpointRegistry } from './pool/endpoint-registry.ts'
import { LineMemory } from './pool/line-memory.ts'

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
  const shared: Shared = {
    clock,
    events,
    random,
    env,
    lineMemory: new LineMemory(options.maxParkedBytes ?? heapShare(parkedHeapShare)),
    registry: new EndpointRegistry(clock, events),
    cache: answerCache(clock, options.cache ?? defaultCache),
    tenants: new GpuTenants(clock, events),
  }
  return new ModelRegistry(shared).open(configs, new Map())
}
