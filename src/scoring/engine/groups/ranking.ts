import { fittedStrengths, winProbability } from '../../../core/statistics/bradley-terry.ts'
import { mean } from '../../../core/statistics/summary.ts'
import type { PairSettings } from '../../plan/plan.ts'

/** Indices of two answers to compare; `first` is shown first. */
export interface Pair {
  readonly first: number
  readonly second: number
}

/**
 * The pairs of `count` answers to compare. `ring`: each with the next `neighbours` answers; `all`: each with every other. Every
 * answer is shown first about as often as second.
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

/** The length of `pairsOf`, without building the list. */
export function comparisonsOf(count: number, settings: Pick<PairSettings, 'scheme' | 'neighbours'>): number {
  const reach = reachOf(count, settings)
  return reach * 2 === count ? count * reach - count / 2 : count * reach
}

/** How far ahead an answer is compared. Beyond half the ring the pairs would repeat. */
const reachOf = (
  count: number,
  { scheme, neighbours }: Pick<PairSettings, 'scheme' | 'neighbours'>,
): number => Math.min(scheme === 'all' ? count : neighbours, Math.floor(count / 2))

/** A finished comparison; `probability` that the first is better. */
export interface Match extends Pair {
  readonly probability: number
}

/** An answer's rank. `share`: of wins, from 0 to 1; `strength`: its Bradley-Terry strength, or null. */
export interface Ranking {
  readonly share: number
  readonly strength: number | null
}

/**
 * Ranks each of `count` answers. Null for answers that no chain of matches connects to the majority of those compared: scores
 * across such a gap are not comparable. `bradley_terry`: the expected share of wins against every other answer; `mean_wins`: the
 * share of wins in its own matches. Yields between slices.
 */
export function* rankingsOf(
  count: number,
  matches: readonly Match[],
  aggregate: PairSettings['aggregate'],
): Generator<void, readonly (Ranking | null)[]> {
  const among = largestPart(count, matches)
  const rankings = new Array<Ranking | null>(count).fill(null)
  if (among.length < 2) return rankings
  const strengths = aggregate === 'bradley_terry' ? yield* strengthsOf(among, matches) : null
  const wins = strengths ? [] : sharesOf(count, matches)
  for (const [place, index] of among.entries()) {
    if (place % sharesAtOnce === sharesAtOnce - 1) yield
    const strength = strengths?.[place] ?? null
    const share =
      strengths && strength !== null ? rounded(expectedShare(strengths, place, strength)) : (wins[index] ?? 0)
    rankings[index] = { share, strength }
  }
  return rankings
}

/** The expected share of wins against the others. Builds no list: a thousand answers have a million pairs. */
function expectedShare(strengths: readonly number[], place: number, strength: number): number {
  let sum = 0
  for (let at = 0; at < strengths.length; at++)
    if (at !== place) sum += winProbability(strength, strengths[at] ?? 0)
  return sum / (strengths.length - 1)
}

/** Shares computed between two yields. */
const sharesAtOnce = 64

/** Drops digits beyond the accuracy of the fit, which depend on the order of the matches. */
const rounded = (share: number): number => Math.round(share * 1e9) / 1e9

/** The mean probability of each answer's matches, by index. */
function sharesOf(count: number, matches: readonly Match[]): readonly number[] {
  const own = Array.from({ length: count }, (): number[] => [])
  for (const { first, second, probability } of matches) {
    own[first]?.push(probability)
    own[second]?.push(1 - probability)
  }
  return own.map(mean)
}

/** Strengths in the order of `among`; ignores matches of other answers. */
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

/** The probability that this answer is better; empty if it is not in the match. */
export function probabilityOf(index: number, { first, second, probability }: Match): readonly number[] {
  if (index === first) return [probability]
  return index === second ? [1 - probability] : []
}

/** The largest connected component of the matches, ascending; empty if the two largest are equal in size. */
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
