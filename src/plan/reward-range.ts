import type { Range } from '../contract/index.ts'
import type { Plan, PlanStep } from './plan.ts'

/**
 * The narrowest interval that the fold of the steps' ranges is known to stay in, with the weights of a request that
 * sends no training step; null for a formula. A rule that does not apply to a sample is not reckoned with.
 */
export function rewardRange({ steps, formula, gate, arithmetic }: Plan): Range | null {
  if (formula) return null
  let reward: Range | null = null
  let mayBeEmpty = true
  for (const step of steps) {
    if (step.critique) continue
    const weight = step.weight(undefined)
    const term = hull(step.function.range.map((end) => weight * end))
    const folded = reward ? combined(step.op, reward, term) : term
    const withStart = mayBeEmpty && reward ? hull([...folded, ...term]) : folded
    const isGated = step.gated && gate !== null
    const off = mayBeOff(step, isGated)
    const zeroed = arithmetic === 'reference' && isGated && reward && step.op === 'mul' ? [0] : []
    reward = hull([...withStart, ...(off && reward ? reward : []), ...zeroed])
    mayBeEmpty = mayBeEmpty && off
  }
  return reward
}

const mayBeOff = ({ when, dataSource, onUnreadable, ask }: PlanStep, isGated: boolean): boolean =>
  isGated || when !== null || dataSource !== null || (ask !== null && onUnreadable === 'skip')

function combined(op: PlanStep['op'], [low, high]: Range, [least, most]: Range): Range {
  if (op === 'add') return [low + least, high + most]
  return hull([low * least, low * most, high * least, high * most])
}

/** 0 x Infinity is 0 here: a weight of 0 takes a term out. */
function hull(values: readonly number[]): Range {
  const known = values.map((value) => (Number.isNaN(value) ? 0 : value))
  return [Math.min(...known), Math.max(...known)]
}
