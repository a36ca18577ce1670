import { sum } from './sum.ts'

/** Arithmetic mean; NaN of nothing. */
export const mean = (values: readonly number[]): number => sum(values) / values.length

/** Population variance (divided by n); NaN of nothing. */
export function variance(values: readonly number[]): number {
  const center = mean(values)
  return mean(values.map((value) => (value - center) ** 2))
}

/** Population standard deviation; NaN of nothing. */
export const deviation = (values: readonly number[]): number => Math.sqrt(variance(values))
