import type { ReloadEvents } from '../../gateway/reloads.ts'
import type { Instruments } from './instruments.ts'

/** Counts reloads by what became of them. */
export function reloadMetrics(make: Instruments): Required<ReloadEvents> {
  const reloads = make.counter('reloads_total', 'Reloads, by whether what was read is served.', ['result'])
  for (const result of ['served', 'refused']) reloads(0, result)
  return { ended: (refusal) => reloads(1, refusal === null ? 'served' : 'refused') }
}
