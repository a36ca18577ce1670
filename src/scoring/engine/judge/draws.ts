import type { Score } from '../../../core/sample/sample.ts'
import { deviation, mean } from '../../../core/statistics/summary.ts'
import type { Votes } from '../../plan/plan.ts'

/** One score made of several, and the population standard deviation of their values. */
export interface Aggregate {
  readonly score: Score
  readonly spread: number
}

/**
 * null where fewer than `votes.min` of `asked` draws are valid, or where a majority or quorum is not reached.
 * Parts are those of the draw nearest to the aggregate; flags are joined.
 */
export function aggregated(scores: readonly Score[], asked: number, votes: Votes): Aggregate | null {
  const [first] = scores
  if (!first || scores.length < Math.min(votes.min, asked)) return null
  if (scores.length === 1 && asked === 1) return { score: first, spread: 0 }
  const values = scores.map(({ value }) => value)
  const value = combinedValue(values, asked, votes.aggregate)
  if (value === null) return null
  const nearest = scores.reduce((best, score) =>
    Math.abs(score.value - value) < Math.abs(best.value - value) ? score : best,
  )
  const flags = [...new Set(scores.flatMap((score) => score.flags ?? []))]
  return { score: { ...nearest, value, flags }, spread: deviation(values) }
}

function combinedValue(
  values: readonly number[],
  asked: number,
  aggregate: Votes['aggregate'],
): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  switch (aggregate) {
    case 'mean':
      return mean(values)
    case 'median':
      return sorted.length % 2 === 1
        ? (sorted[middle] ?? null)
        : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
    case 'majority':
      return mostFrequent(values, values.length)
    case 'quorum':
      return mostFrequent(values, asked)
  }
}

/** The value that more than half of `of` draws agree on; null where there is none. */
function mostFrequent(values: readonly number[], of: number): number | null {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  for (const [value, count] of counts) if (count * 2 > of) return value
  return null
}
