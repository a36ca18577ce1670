import type { ModelState } from '../../gateway/gateway.ts'
import type { ShownModel } from '../inspector/messages.ts'

/** A model's state as the admin API tells it. */
export function writeModel({ name, serves, backend, memory, waiting, instances }: ModelState): ShownModel {
  return {
    name,
    serves,
    backend,
    memory,
    waiting,
    instances: instances.map((instance) => ({
      address: instance.address,
      state: instance.state,
      weight: instance.weight,
      in_flight: instance.inFlight,
      limit: instance.limit,
      latency_ms: Math.round(instance.latencyMs * 10) / 10,
      calls: instance.calls,
      errors: instance.errors,
    })),
  }
}
