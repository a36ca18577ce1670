import type { Instruments } from './instruments.ts'

/** What is told of reloads, as the gateway tells it; it stands above this room. */
export interface ReloadMetrics {
  /** `refusal`: why what was served stays; null: what was read is served. */
  ended(refusal: unknown): void
}

/** Counts reloads by what became of them. */
export function reloadMetrics(make: Instruments): ReloadMetrics {
  const reloads = make.counter('reloads_total', 'Reloads, by whether what was read is served.', ['result'])
  for (const result of ['served', 'refused']) reloads(0, result)
  return { ended: (refusal) => reloads(1, refusal === null ? 'served' : 'refused') }
}
