import type { Model } from './model.ts'
import type { InstanceSnapshot, ModelSnapshot } from './models.ts'

/** How a model's pool is right now. */
export function snapshotOf({ config, parts, parked }: Model): ModelSnapshot {
  const { pool, model, clock } = parts.dispatcher
  return {
    name: model,
    serves: config.model,
    backend: config.backend,
    memory: parts.seat.state,
    waiting: pool.waiting,
    parked: parked && {
      questions: parked.questions,
      since: Math.round(Date.now() - (clock.now() - parked.since)),
    },
    isPatient: pool.isPatient && pool.life.hasLived,
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
