import type { ModelSnapshot } from '../../../scoring/gateway/gateway.ts'

/** A model's pool as the admin API and the page tell of it. */
export interface ShownModel {
  readonly name: string
  readonly serves: string
  readonly backend: string
  readonly memory: string
  readonly waiting: number
  /** Questions that wait because no instance can be asked. */
  readonly parked: number
  /** Since when, as in ISO 8601; null: none does. */
  readonly parked_since: string | null
  readonly instances: readonly ShownInstance[]
}

/** One instance of a model; `latency_ms` is rounded to a tenth. */
export interface ShownInstance {
  readonly address: string
  readonly state: string
  readonly weight: number
  readonly in_flight: number
  readonly limit: number
  readonly latency_ms: number
  readonly calls: number
  readonly errors: number
}

/** A pool right now in the words of the API. */
export function shownModel({
  name,
  serves,
  backend,
  memory,
  waiting,
  parked,
  instances,
}: ModelSnapshot): ShownModel {
  return {
    name,
    serves,
    backend,
    memory,
    waiting,
    parked: parked?.questions ?? 0,
    parked_since: parked ? new Date(parked.since).toISOString() : null,
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
