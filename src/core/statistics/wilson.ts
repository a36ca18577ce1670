/**
 * Wilson's score interval of a share: `successes` of `trials`, with `z` standard deviations (1.96: 95 %). [0, 1] of no
 * trial. Wilson 1927.
 */
export function wilson(successes: number, trials: number, z = 1.96): readonly [low: number, high: number] {
  if (trials === 0) return [0, 1]
  const share = successes / trials
  const scale = 1 + z ** 2 / trials
  const center = (share + z ** 2 / (2 * trials)) / scale
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2))
  return [Math.max(0, center - reach), Math.min(1, center + reach)]
}
