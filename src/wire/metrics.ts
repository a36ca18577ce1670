import type { Outcome } from '../sample/outcome.ts'

/** Flat and finite: `<term>` beside `<term>_scored` 0 or 1, so that a 0 never stands for a failure. The same keys in every sample of a reward. */
export function metricsOf(outcome: Outcome): Record<string, number> {
  const metrics: Record<string, number> = {}
  for (const term of outcome.terms) {
    const scored = term.status === 'scored'
    metrics[term.name] = scored ? term.score.value : 0
    metrics[`${term.name}_scored`] = scored ? 1 : 0
  }
  return metrics
}
