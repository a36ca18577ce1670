import type { Outcome } from '../sample/outcome.ts'

/** Flat and finite: `<term>` beside `<term>_scored` 0 or 1, so that a 0 never stands for a failure. The same keys in every sample of a reward. */
export function metricsOf(outcome: Outcome): Record<string, number> {
  return Object.fromEntries(
    outcome.terms.flatMap((term) => {
      const scored = term.status === 'scored'
      return [
        [term.name, scored ? term.score.value : 0],
        [`${term.name}_scored`, scored ? 1 : 0],
      ]
    }),
  )
}
