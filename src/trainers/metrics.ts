import type { Outcome, Term } from '../core/sample/sample.ts'

/**
 * Flat: `<term>` beside `<term>_scored` 0 or 1, the same keys in every sample of a reward. null where there is no number
 * because the term or its sample failed; 0 where a valid sample's term is off, since it pays nothing.
 */
export function metricsOf(outcome: Outcome): Record<string, number | null> {
  const metrics: Record<string, number | null> = {}
  for (const term of outcome.terms) {
    metrics[term.name] = metricOf(outcome, term)
    metrics[`${term.name}_scored`] = term.status === 'scored' ? 1 : 0
  }
  return metrics
}

/** The number of a term among its sample's metrics. */
export const metricOf = ({ valid }: Outcome, term: Term): number | null => {
  if (term.status === 'scored') return term.score.value
  return valid && term.status !== 'failed' ? 0 : null
}
