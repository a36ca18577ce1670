import type { Range } from '../../contract/index.ts'
import type { Plan, PlanStep } from './plan.ts'

type Folding = Pick<Plan, 'steps' | 'formula' | 'gate' | 'arithmetic'>

/**
 * An interval that the fold of the steps' ranges stays in, with the weights of a request that sends no training step;
 * null for a formula. A rule that does not apply to a sample is not reckoned with.
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

const isLiteral = (pattern: string): boolean => !pattern.includes('*') && !pattern.startsWith('!')

/** Of these steps alone; `mayMiss`: the step may be off for another reason than its gate, `when` or skipping. */
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

/** 0 x Infinity is 0 here: a weight of 0 takes a term out. */
function hull(values: readonly number[]): Range {
  const known = values.map((value) => (Number.isNaN(value) ? 0 : value))
  return [Math.min(...known), Math.max(...known)]
}
