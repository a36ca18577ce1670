/** Rewards of a response's length. Lengths are counts of tokens, words or characters, 0 and up. */

const clip = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high)

/** The scores at length 0 and at the longest length. */
export type Slope = readonly [short: number, long: number]

/** Half a cosine from `short` at 0 to `long` at `longest`, and `long` beyond. Not `flat`: beyond, the cosine turns back. */
export function cosineOfLength(length: number, longest: number, [short, long]: Slope, flat = true): number {
  const share = flat ? Math.min(length / longest, 1) : length / longest
  return long + ((short - long) * (1 + Math.cos(Math.PI * share))) / 2
}

/** 1 at the goal, and `alpha` less for each unit away from it (`at_most`: above it), down to 0. */
export function nearGoal(length: number, goal: number, alpha: number, form: 'exact' | 'at_most'): number {
  const away = form === 'exact' ? Math.abs(length - goal) : Math.max(length - goal, 0)
  return Math.max(0, 1 - alpha * away)
}

/** The settings of L1's reward, as its authors name them. */
export interface L1Settings {
  readonly alpha: number
  /** `sum`: adds the length term to the correctness. `product`: multiplies. */
  readonly combine: 'sum' | 'product'
  readonly sigmoid: boolean
}

/**
 * L1's published reward (arXiv 2503.04697). A goal of 0 and up is to be met exactly, a negative one is a maximum, and -1 is
 * none. With `sigmoid`, the exact one grows with the distance, as published.
 */
export function l1Reward(length: number, goal: number, isRight: boolean, settings: L1Settings): number {
  const { alpha, combine, sigmoid } = settings
  if (goal === -1) return Number(isRight)
  const term = sigmoid ? l1Sigmoid(length, goal, alpha) : l1Line(length, goal, alpha)
  return combine === 'product' ? Math.max(0, term) * Number(isRight) : term + Number(isRight)
}

const l1Line = (length: number, goal: number, alpha: number): number =>
  goal < 0 ? (clip(-alpha * (length + goal), -1, 1) + 1) / 2 : -alpha * Math.abs(length - goal)

function l1Sigmoid(length: number, goal: number, alpha: number): number {
  const away = goal < 0 ? -goal - length : Math.abs(goal - length)
  const met = goal < 0 && length <= -goal ? 0.1 : 0
  return clip(1 / (1 + Math.exp(-alpha * away)) + met, 0, 1)
}

/**
 * Kimi k1.5's length reward (arXiv 2501.12599): 0.5 for the shortest answer of the group to -0.5 for the longest; a wrong one
 * gains nothing by it. 0 for all if all are equally long.
 */
export function kimiLengths(lengths: readonly number[], isRight: readonly boolean[]): readonly number[] {
  const [least, most] = extremes(lengths)
  if (least === most) return lengths.map(() => 0)
  return lengths.map((length, at) => {
    const term = 0.5 - (length - least) / (most - least)
    return isRight[at] ? term : Math.min(0, term)
  })
}

function extremes(lengths: readonly number[]): readonly [least: number, most: number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const length of lengths) [least, most] = [Math.min(least, length), Math.max(most, length)]
  return [least, most]
}

/** What an answer may exceed the others' length by, and what more costs. */
export interface Allowance {
  /** Which quantile of the lengths is the reference, 0 to 1. */
  readonly quantile: number
  /** Allowed above the reference, as a share of it. */
  readonly slack: number
  /** The penalty of one reference length above what is allowed. */
  readonly rate: number
  /** The largest penalty. */
  readonly most: number
}

/** 0 for lengths within the allowance over the group's reference, and down to `-most` beyond. One length alone is its own reference. */
export function excessPenalties(
  lengths: readonly number[],
  { quantile, slack, rate, most }: Allowance,
): readonly number[] {
  const sorted = [...lengths].sort((a, b) => a - b)
  const place = quantile * (sorted.length - 1)
  const [below = 0, above = below] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  const reference = below + (above - below) * (place - Math.floor(place))
  return lengths.map((length) => {
    const excess = length - reference * (1 + slack)
    return excess <= 0 ? 0 : -Math.min(most, (rate * excess) / Math.max(reference, 1))
  })
}

/** The part of a soft overlong penalty that a length has run into, in units of the penalty; 0 and up. */
export function overlongShare(
  length: number,
  longest: number,
  buffer: number,
  formula: 'trl' | 'ms-swift' | 'verl',
): number {
  const excess = Math.max(length - (longest - buffer), 0)
  if (formula === 'trl' && length > longest) return 1
  return excess === 0 ? 0 : excess / buffer
}
