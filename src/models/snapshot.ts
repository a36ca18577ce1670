import type { Member } from './balance.ts'
import type { Model } from './model.ts'
import type { InstanceSnapshot, InstanceState, ModelSnapshot } from './models.ts'

/** How a model's pool is right now. */
export function snapshotOf({ config, parts }: Model): ModelSnapshot {
  const { pool, model } = parts.dispatcher
  return {
    name: model,
    serves: config.model,
    backend: config.backend,
    memory: parts.seat?.state ?? 'awake',
    waiting: pool.waiting,
    instances: pool.members.map((member): InstanceSnapshot => {
      const { instance, weight } = member
      const { address, inFlight, limit, latencyMs, calls, errors } = instance
      return { address, state: stateOf(member), weight, inFlight, limit, latencyMs, calls, errors }
    }),
  }
}

function stateOf({ instance, draining, stranger, suspect, asleep }: Member): InstanceState {
  if (draining) return 'draining'
  if (asleep) return 'asleep'
  if (stranger) return 'other-model'
  if (suspect) return 'suspect'
  if (!instance.healthy || instance.breaker.state === 'open') return 'ejected'
  return instance.breaker.state === 'half-open' ? 'trial' : 'ready'
}
