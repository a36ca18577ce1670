/** Pairwise sum in numpy's order of additions, so that results match numpy to the last digit. */
export function sum(values: readonly number[]): number {
  return sumOf(values, 0, values.length)
}

function sumOf(values: readonly number[], from: number, count: number): number {
  if (count > 128) {
    const half = Math.floor(count / 2)
    const left = half - (half % 8)
    return sumOf(values, from, left) + sumOf(values, from + left, count - left)
  }
  const lanes = count < 8 ? 0 : count - (count % 8)
  let total = 0
  if (lanes > 0) {
    const [a, b, c, d, e, f, g, h] = laneSums(values, from, lanes)
    total = a + b + (c + d) + (e + f + (g + h))
  }
  for (let at = from + lanes; at < from + count; at++) total += values[at] ?? 0
  return total
}

type Eight = [number, number, number, number, number, number, number, number]

function laneSums(values: readonly number[], from: number, count: number): Eight {
  const lanes: Eight = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let at = 0; at < count; at++) lanes[at % 8] = (lanes[at % 8] ?? 0) + (values[from + at] ?? 0)
  return lanes
}

/** Arithmetic mean. NaN if there are no values. */
export const mean = (values: readonly number[]): number => sum(values) / values.length

/** Population variance (divided by n). NaN if there are no values. */
export function variance(values: readonly number[]): number {
  const center = mean(values)
  return mean(values.map((value) => (value - center) ** 2))
}

/** Population standard deviation. NaN if there are no values. */
export const deviation = (values: readonly number[]): number => Math.sqrt(variance(values))

/**
 * The minimum and maximum of any number of values; [Infinity, -Infinity] if there are none. `Math.min(...)`
 * fails at about 120,000 arguments.
 */
export function extent(values: Iterable<number>): [number, number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < least) least = value
    if (value > greatest) greatest = value
  }
  return [least, greatest]
}

/** The entropy of a Bernoulli variable in bits. 0 if p is not strictly between 0 and 1. */
export const binaryEntropy = (p: number): number =>
  p > 0 && p < 1 ? -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p)) : 0

/** Pearson's r of two lists of equal length. null for fewer than two pairs or a constant list. */
export function pearson(xs: readonly number[], ys: readonly number[]): number | null {
  const n = Math.min(xs.length, ys.length)
  if (n < 2) return null
  return correlationOf(spreadOf(xs.slice(0, n), ys.slice(0, n)))
}

/** Sums of squares and products around the means. The spreads of several groups may be added. */
interface Spread {
  readonly xx: number
  readonly yy: number
  readonly xy: number
}

/** The spread of pairs around their own means. */
export function spreadOf(xs: readonly number[], ys: readonly number[]): Spread {
  const { length } = xs
  let [x, y] = [0, 0]
  for (let at = 0; at < length; at += 1) {
    x += xs[at] ?? 0
    y += ys[at] ?? 0
  }
  let [xx, yy, xy] = [0, 0, 0]
  for (let at = 0; at < length; at += 1) {
    const dx = (xs[at] ?? 0) - x / length
    const dy = (ys[at] ?? 0) - y / length
    xx += dx * dx
    yy += dy * dy
    xy += dx * dy
  }
  return { xx, yy, xy }
}

/** Pearson's r, or null if one side is constant. */
export function correlationOf({ xx, yy, xy }: Spread): number | null {
  const scale = Math.sqrt(xx) * Math.sqrt(yy)
  return scale > 0 && Number.isFinite(scale) ? Math.max(-1, Math.min(1, xy / scale)) : null
}
