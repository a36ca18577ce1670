import type { z } from 'zod'
import type { Range } from '../../contract/index.ts'
import { memoizeByObject } from '../../core/memoize.ts'
import type { Term } from '../../core/sample/sample.ts'
import type { Plan, PlanStep } from './plan.ts'
import type { weightSchedule } from './reward-config.ts'

/** How a plan's terms fold into a reward: rounding, the first term, the two operations, and the score of a term. */
export interface Arithmetic {
  rounded(value: number): number
  started(weight: number, score: number): number
  readonly combined: Readonly<Record<'add' | 'mul', (value: number, weight: number, score: number) => number>>
  /** null: the term does not change the value. */
  scoreOf(term: Term): number | null
}

const { fround } = Math

/**
 * `strict`: double precision. `published`: as in VeRL-with-RMs, with float32 after every operation, `mul` from left to
 * right, and score 0 for a term behind a closed gate.
 */
export const arithmetics: Readonly<Record<Plan['arithmetic'], Arithmetic>> = {
  strict: {
    rounded: (value) => value,
    started: (weight, score) => weight * score,
    combined: {
      add: (value, weight, score) => value + weight * score,
      mul: (value, weight, score) => value * (weight * score),
    },
    scoreOf: (term) => (term.status === 'scored' ? term.score.value : null),
  },
  published: {
    rounded: fround,
    started: (weight, score) => fround(fround(weight) * fround(score)),
    combined: {
      add: (value, weight, score) => fround(value + fround(fround(weight) * fround(score))),
      mul: (value, weight, score) => fround(fround(value * fround(weight)) * fround(score)),
    },
    scoreOf: (term) => {
      if (term.status === 'scored') return term.score.value
      return term.status === 'off' && term.why === 'gate' ? 0 : null
    },
  },
}

type Schedule = z.output<typeof weightSchedule>

/** A step's weight by training step: a constant or a schedule. */
export function weightOf(weight: number | Schedule): PlanStep['weight'] {
  if (typeof weight === 'number') return () => weight
  const { points, between, without_step } = weight
  return (trainingStep) =>
    trainingStep === undefined ? without_step : weightAt(points, between, trainingStep)
}

function weightAt(points: Schedule['points'], between: Schedule['between'], step: number): number {
  const next = points.findIndex(([at]) => at > step)
  const [start, low] = points[next === -1 ? points.length - 1 : Math.max(0, next - 1)] ?? [0, 0]
  const [end, high] = points[next] ?? [start, low]
  if (between === 'hold' || step <= start || end === start) return low
  return low + ((high - low) * (step - start)) / (end - start)
}

type Folding = Pick<Plan, 'steps' | 'formula' | 'gate' | 'arithmetic'>

/**
 * Bounds of the reward, with the weights for no training step; null for a formula. Assumes that every rule applies to the
 * sample.
 */
export function rewardRange(plan: Folding): Range | null {
  const { steps, formula } = plan
  if (formula) return null
  const sources = new Set(steps.flatMap(({ dataSource }) => dataSource?.patterns.filter(isLiteral) ?? []))
  const named = [...sources].map((source) => {
    const matching = steps.filter(({ dataSource }) => dataSource === null || dataSource.matches(source))
    return foldedRange(plan, matching, () => false)
  })
  const open = steps.filter(({ dataSource }) => dataSource === null || !dataSource.patterns.every(isLiteral))
  const unnamed = foldedRange(plan, open, ({ dataSource }) => dataSource !== null)
  const ranges = [...named, unnamed].filter((range) => range !== null)
  return ranges.length === 0 ? null : hull(ranges.flat())
}

/** Whether values can be scaled by a range: its ends are finite and differ. */
export const isBounded = ([low, high]: Range): boolean =>
  Number.isFinite(low) && Number.isFinite(high) && high > low

/** The range that rewards are scaled by: `rewardRange` if it is bounded, otherwise null. */
export const declaredRange = memoizeByObject((plan: Folding): Range | null => {
  const range = rewardRange(plan)
  return range && isBounded(range) ? range : null
})

const isLiteral = (pattern: string): boolean => !pattern.includes('*') && !pattern.startsWith('!')

/** Bounds over these steps. `mayMiss`: the step may also be off for a reason other than gate, `when` or skipping. */
function foldedRange(
  { gate, arithmetic }: Folding,
  steps: readonly PlanStep[],
  mayMiss: (step: PlanStep) => boolean,
): Range | null {
  let reward: Range | null = null
  let mayBeEmpty = true
  for (const step of steps) {
    if (step.critique) continue
    const weight = step.weight(undefined)
    const term = hull(step.function.range.map((end) => weight * end))
    const isGated = step.gated && gate !== null
    const off = isGated || mayMiss(step) || mayBeOff(step)
    const folded = reward ? combined(step.op, reward, term) : term
    const started = mayBeEmpty ? term : []
    const untouched = off && reward ? reward : []
    const zeroed = arithmetic === 'published' && isGated && step.op === 'mul' ? [0] : []
    reward = hull([...folded, ...started, ...untouched, ...zeroed])
    mayBeEmpty = mayBeEmpty && off
  }
  return reward
}

const mayBeOff = ({ when, onUnreadable, ask }: PlanStep): boolean =>
  when !== null || (ask !== null && onUnreadable === 'skip')

function combined(op: PlanStep['op'], [low, high]: Range, [least, most]: Range): Range {
  if (op === 'add') return [low + least, high + most]
  return hull([low * least, low * most, high * least, high * most])
}

/** 0 x Infinity counts as 0, because a weight of 0 removes a term. */
function hull(values: readonly number[]): Range {
  const known = values.map((value) => (Number.isNaN(value) ? 0 : value))
  return [Math.min(...known), Math.max(...known)]
}
