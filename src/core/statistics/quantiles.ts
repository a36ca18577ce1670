/** The value below which this share of sorted numbers lies, between neighbours linearly; NaN of nothing. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN]
  return low + (high - low) * (at - Math.floor(at))
}

/** The standard normal distribution's share below z, within 1e-7 (Abramowitz and Stegun 7.1.26). */
export function normalShare(z: number): number {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const tail = (series * Math.exp(-x * x)) / 2
  return z > 0 ? 1 - tail : tail
}

/** Student's t at which the upper tail is 2.5 %, for so many degrees of freedom, at least 1; within 1 % from 2 on. */
export function studentT(freedom: number): number {
  const z = 1.959964
  if (freedom === 1) return 12.706
  if (freedom === 2) return 4.303
  const [one, two, three] = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ]
  return z + one / freedom + two / freedom ** 2 + three / freedom ** 3
}
