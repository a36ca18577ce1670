import type { PairSettings } from '../../plan/plan.ts'

/** Two answers to be compared, by their places; `first` is shown first. */
export interface Pair {
  readonly first: number
  readonly second: number
}

/**
 * Which of `count` answers are compared. `ring`: each with the next `neighbours` ones; `all`: each with each.
 * Every answer is shown first about as often as second.
 */
export function pairsOf(
  count: number,
  { scheme, neighbours }: Pick<PairSettings, 'scheme' | 'neighbours'>,
): Pair[] {
  const reach = reachOf(count, { scheme, neighbours })
  const pairs: Pair[] = []
  for (let step = 1; step <= reach; step++) {
    const around = step * 2 === count ? step : count
    for (let first = 0; first < around; first++) pairs.push({ first, second: (first + step) % count })
  }
  return pairs
}

/** How many pairs that are. */
export function comparisonsOf(count: number, settings: Pick<PairSettings, 'scheme' | 'neighbours'>): number {
  const reach = reachOf(count, settings)
  return reach * 2 === count ? count * reach - count / 2 : count * reach
}

/** How many places ahead an answer is compared with another; beyond half the ring the same pairs come again. */
const reachOf = (
  count: number,
  { scheme, neighbours }: Pick<PairSettings, 'scheme' | 'neighbours'>,
): number => Math.min(scheme === 'all' ? count : neighbours, Math.floor(count / 2))
