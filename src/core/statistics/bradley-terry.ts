import { drained } from '../slices.ts'

/** The result of comparing two players. Fractions count. */
interface Comparison {
  readonly first: number
  readonly second: number
  readonly wins: number
  /** Wins of the second player. */
  readonly losses: number
}

/** The probability that a player of strength `a` beats one of strength `b`. */
export const winProbability = (a: number, b: number): number => 1 / (1 + Math.exp(b - a))

const rounds = 100
const flat = 1e-11

/**
 * Bradley-Terry strengths of `count` players, as natural logarithms with mean 0 (Bradley and Terry 1952).
 * Maximises the likelihood minus `ridge` times the squared strengths with Newton's method. The ridge keeps an
 * unbeaten player finite.
 */
export const bradleyTerry = (count: number, comparisons: readonly Comparison[], ridge?: number): number[] =>
  drained(fittedStrengths(count, comparisons, ridge))

/**
 * Like `bradleyTerry`, but yields between rounds. Eight comparisons for each of a thousand players take 0.2
 * s.
 */
export function* fittedStrengths(
  count: number,
  comparisons: readonly Comparison[],
  ridge = 0.01,
): Generator<void, number[]> {
  const fit = { count, comparisons, ridge }
  let strengths = new Array<number>(count).fill(0)
  let height = likelihood(fit, strengths)
  for (let round = 0; round < rounds; round++) {
    const slope = slopeAt(fit, strengths)
    if (slope.every((value) => Math.abs(value) < flat)) break
    const step = yield* newtonStep(fit, strengths, slope)
    const gain = dot(slope, step)
    let length = 1
    let next = moved(strengths, step, length)
    let reached = likelihood(fit, next)
    // If the full step overshoots, a shorter step still climbs, because the likelihood is concave.
    while (reached < height + 1e-4 * length * gain - 1e-12 * (1 + Math.abs(height)) && length > 1e-9) {
      length /= 2
      next = moved(strengths, step, length)
      reached = likelihood(fit, next)
    }
    strengths = next
    height = reached
  }
  return strengths
}

interface Fit {
  readonly count: number
  readonly comparisons: readonly Comparison[]
  readonly ridge: number
}

/** The log likelihood minus the ridge term. */
function likelihood({ comparisons, ridge }: Fit, strengths: readonly number[]): number {
  let sum = -ridge * dot(strengths, strengths)
  for (const { first, second, wins, losses } of comparisons) {
    const lead = at(strengths, first) - at(strengths, second)
    sum -= wins * softplus(-lead) + losses * softplus(lead)
  }
  return sum
}

function slopeAt({ comparisons, ridge }: Fit, strengths: readonly number[]): number[] {
  const slope = strengths.map((strength) => -2 * ridge * strength)
  for (const { first, second, wins, losses } of comparisons) {
    const expected = winProbability(at(strengths, first), at(strengths, second))
    const pull = wins * (1 - expected) - losses * expected
    slope[first] = at(slope, first) + pull
    slope[second] = at(slope, second) - pull
  }
  return slope
}

/**
 * Solves curvature x step = slope by conjugate gradients. Each product costs one pass over the comparisons.
 */
function* newtonStep(
  fit: Fit,
  strengths: readonly number[],
  slope: readonly number[],
): Generator<void, number[]> {
  const { comparisons, ridge, count } = fit
  const bends = comparisons.map(({ first, second, wins, losses }) => {
    const expected = winProbability(at(strengths, first), at(strengths, second))
    return (wins + losses) * expected * (1 - expected)
  })
  const curved = (vector: readonly number[]): number[] => {
    const product = vector.map((value) => 2 * ridge * value)
    for (const [index, { first, second }] of comparisons.entries()) {
      const bend = at(bends, index) * (at(vector, first) - at(vector, second))
      product[first] = at(product, first) + bend
      product[second] = at(product, second) - bend
    }
    return product
  }
  let step = new Array<number>(count).fill(0)
  let rest = [...slope]
  let direction = [...slope]
  let left = dot(rest, rest)
  for (let turn = 0; turn < 4 * count && left > 1e-26; turn++) {
    if (turn % turnsAtOnce === turnsAtOnce - 1) yield
    const product = curved(direction)
    const length = left / dot(direction, product)
    step = moved(step, direction, length)
    rest = moved(rest, product, -length)
    const after = dot(rest, rest)
    direction = moved(rest, direction, after / left)
    left = after
  }
  return step
}

/** Passes over the comparisons between two yields. */
const turnsAtOnce = 8

const softplus = (value: number): number => Math.max(value, 0) + Math.log1p(Math.exp(-Math.abs(value)))

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * at(b, index), 0)

const moved = (from: readonly number[], along: readonly number[], length: number): number[] =>
  from.map((value, index) => value + length * at(along, index))

const at = (values: readonly number[], index: number): number => values[index] ?? 0
