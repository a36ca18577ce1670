import { fittedStrengths, winProbability } from '../../../core/statistics/bradley-terry.ts'
import { mean } from '../../../core/statistics/summary.ts'
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

/** A comparison that was made: the probability that the first is better. */
export interface Match extends Pair {
  readonly probability: number
}

/** How one of the compared stands. `share`: of wins, 0 to 1; `strength`: Bradley-Terry's, else null. */
export interface Ranking {
  readonly share: number
  readonly strength: number | null
}

/**
 * Where each of `count` stands after these matches. null where no chain of matches leads to most of the others that were
 * compared at all: numbers on both sides of such a gap do not compare.
 * `bradley_terry`: the share is that of wins to be expected against each of the others; `mean_wins`: that of its matches. Yields between its pieces.
 */
export function* rankingsOf(
  count: number,
  matches: readonly Match[],
  aggregate: PairSettings['aggregate'],
): Generator<void, readonly (Ranking | null)[]> {
  const among = largestPart(count, matches)
  const standings = new Array<Ranking | null>(count).fill(null)
  if (among.length < 2) return standings
  const strengths = aggregate === 'bradley_terry' ? yield* strengthsOf(among, matches) : null
  const wins = strengths ? [] : sharesOf(count, matches)
  for (const [place, index] of among.entries()) {
    if (place % sharesAtOnce === sharesAtOnce - 1) yield
    const strength = strengths?.[place] ?? null
    const share =
      strengths && strength !== null ? rounded(expectedShare(strengths, place, strength)) : (wins[index] ?? 0)
    standings[index] = { share, strength }
  }
  return standings
}

/** Of wins against each of the others. No list is made: a thousand answers have a million of them. */
function expectedShare(strengths: readonly number[], place: number, strength: number): number {
  let sum = 0
  for (let at = 0; at < strengths.length; at++)
    if (at !== place) sum += winProbability(strength, strengths[at] ?? 0)
  return sum / (strengths.length - 1)
}

/** Shares that are counted between two yields. */
const sharesAtOnce = 64

/** Beyond the accuracy of the fit, where the order of the matches would show. */
const rounded = (share: number): number => Math.round(share * 1e9) / 1e9

/** By index: the mean probability of its matches. */
function sharesOf(count: number, matches: readonly Match[]): readonly number[] {
  const own = Array.from({ length: count }, (): number[] => [])
  for (const { first, second, probability } of matches) {
    own[first]?.push(probability)
    own[second]?.push(1 - probability)
  }
  return own.map(mean)
}

/** Strengths in the order of `among`; matches of others are left out. */
function* strengthsOf(
  among: readonly number[],
  matches: readonly Match[],
): Generator<void, readonly number[]> {
  const places = new Map(among.map((index, place) => [index, place]))
  const comparisons = matches.flatMap(({ first, second, probability }) => {
    const [a, b] = [places.get(first), places.get(second)]
    if (a === undefined || b === undefined) return []
    return [{ first: a, second: b, wins: probability, losses: 1 - probability }]
  })
  return yield* fittedStrengths(among.length, comparisons)
}

/** The probability that this one is better, of a match that it is in. */
export function probabilityOf(index: number, { first, second, probability }: Match): readonly number[] {
  if (index === first) return [probability]
  return index === second ? [1 - probability] : []
}

/** The largest set that chains of matches connect, ascending; empty where two are equally large. */
function largestPart(count: number, matches: readonly Pair[]): readonly number[] {
  const neighbours = Array.from({ length: count }, (): number[] => [])
  for (const { first, second } of matches) {
    neighbours[first]?.push(second)
    neighbours[second]?.push(first)
  }
  const seen = new Set<number>()
  const parts: number[][] = []
  for (let start = 0; start < count; start++) {
    if (seen.has(start)) continue
    const part = [start]
    seen.add(start)
    for (const index of part) {
      for (const next of neighbours[index] ?? []) {
        if (seen.has(next)) continue
        seen.add(next)
        part.push(next)
      }
    }
    parts.push(part)
  }
  parts.sort((a, b) => b.length - a.length)
  const [largest = [], other = []] = parts
  return largest.length === other.length ? [] : largest.sort((a, b) => a - b)
}
