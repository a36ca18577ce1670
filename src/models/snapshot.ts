import type { Model } from './model.ts'
import type { InstanceSnapshot, ModelSnapshot } from './models.ts'

/** How a model's pool is right now. */
export function snapshotOf({ config, parts }: Model): ModelSnapshot {
  const { pool, model } = parts.dispatcher
  return {
    name: model,
    serves: config.model,
    backend: config.backend,
    memory: parts.seat.state,
    waiting: pool.waiting,
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
        limit: Math.min(limit, endpoint.mostInFlight),
        latencyMs,
        calls,
        errors,
      }),
    ),
  }
}
