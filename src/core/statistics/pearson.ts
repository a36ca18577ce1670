/** Pearson's r of two lists of equal length; null of fewer than two pairs, and where one list is constant. */
export function pearson(xs: readonly number[], ys: readonly number[]): number | null {
  const n = Math.min(xs.length, ys.length)
  if (n < 2) return null
  return correlationOf(spreadOf(xs.slice(0, n), ys.slice(0, n)))
}

/** Sums of squares and products around the means; those of several groups may be added. */
interface Spread {
  readonly xx: number
  readonly yy: number
  readonly xy: number
}

/** Of pairs around their own means. */
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

/** Pearson's r; null where one side does not vary. */
export function correlationOf({ xx, yy, xy }: Spread): number | null {
  const scale = Math.sqrt(xx) * Math.sqrt(yy)
  return scale > 0 && Number.isFinite(scale) ? Math.max(-1, Math.min(1, xy / scale)) : null
}
