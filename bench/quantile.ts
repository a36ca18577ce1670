import { quantile as quantileOfSorted } from '../src/core/statistics/intervals.ts'

/** The value below which this share of numbers in any order lies; NaN of nothing. */
export const quantile = (values: readonly number[], share: number): number =>
  quantileOfSorted(
    [...values].sort((a, b) => a - b),
    share,
  )

/** Half of the numbers lie below it. */
export const median = (values: readonly number[]): number => quantile(values, 0.5)
