import type { Score } from '../../../core/sample/sample.ts'

/** One possible reply of a judge: what it would say of a row (null: nothing), and how probable it is. */
export interface Possibility {
  readonly label: string
  readonly score: Score | null
  readonly probability: number
}

/** Rounding may add so much. */
const mostTotal = 1.01

/**
 * The mean of the scores by their probability, of value and parts. Replies without a verdict are left out; null where
 * they are the likelier half, and where the probabilities are no distribution.
 */
export function expectedScore(possibilities: readonly Possibility[]): Score | null {
  const whole = possibilities.reduce((sum, { probability }) => sum + probability, 0)
  if (!(whole <= mostTotal) || possibilities.some(({ probability }) => probability < 0)) return null
  const readable = possibilities.flatMap(({ score, probability }) => (score ? [{ score, probability }] : []))
  const total = readable.reduce((sum, { probability }) => sum + probability, 0)
  if (!(total > 0.5)) return null
  const weighted = (numberOf: (score: Score) => number): number =>
    readable.reduce((sum, { score, probability }) => sum + probability * numberOf(score), 0) / total
  const [first, ...others] = readable.map(({ score }) => score)
  const names = Object.keys(first?.parts ?? {}).filter((name) =>
    others.every(({ parts = {} }) => Object.hasOwn(parts, name)),
  )
  const values = readable.map(({ score }) => score.value)
  // Rounding must not lead out of the range.
  const value = Math.min(
    Math.max(
      weighted((score) => score.value),
      Math.min(...values),
    ),
    Math.max(...values),
  )
  const flags = new Set(
    readable.flatMap(({ score, probability }) => (probability > 0 ? (score.flags ?? []) : [])),
  )
  return {
    value,
    ...(names.length > 0 && {
      parts: Object.fromEntries(names.map((name) => [name, weighted(({ parts }) => parts?.[name] ?? 0)])),
    }),
    details: {
      probabilities: Object.fromEntries(possibilities.map(({ label, probability }) => [label, probability])),
    },
    ...(flags.size > 0 && { flags: [...flags] }),
  }
}
