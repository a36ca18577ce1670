import { type Instruments, overheadBuckets, secondBuckets } from './instruments.ts'

/** What the HTTP face tells. */
export interface RequestMetrics {
  /** Called once a request of a route has been answered; `overheadSeconds`: null where it was not measured. */
  answered(route: string, status: number, seconds: number, overheadSeconds: number | null): void
  /** A request of a wire that got the outcome of an earlier one with the same bytes. */
  repeated(wire: string): void
  /** A request that went beyond its key's own limits. */
  keyRefused(key: string, why: 'in_flight' | 'samples' | 'rate'): void
}

/** Of requests over HTTP, by route pattern, never by address. */
export function requestMetrics(make: Instruments): RequestMetrics {
  const requests = make.histogram(
    'request_duration_seconds',
    'Time of a request.',
    ['route', 'status'],
    secondBuckets,
  )
  const overheads = make.histogram(
    'request_overhead_seconds',
    'Time of a request in which it waited neither for a model nor for other answers of its group: what the gateway itself took.',
    ['route'],
    overheadBuckets,
  )
  const repeats = make.counter(
    'repeats_total',
    'Requests of a wire that got the outcome of an earlier one with the same bytes.',
    ['wire'],
  )
  const refusals = make.counter('key_refusals_total', "Requests beyond their key's own limits.", [
    'key',
    'why',
  ])
  return {
    answered(route, status, seconds, overheadSeconds) {
      requests(seconds, route, String(status))
      if (overheadSeconds !== null) overheads(overheadSeconds, route)
    },
    repeated: (wire) => repeats(1, wire),
    keyRefused: (key, why) => refusals(1, key, why),
  }
}
