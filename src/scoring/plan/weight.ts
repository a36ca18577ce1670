import type { z } from 'zod'
import type { PlanStep } from './plan.ts'
import type { weightSchedule } from './reward-config.ts'

type Schedule = z.output<typeof weightSchedule>

/** A constant, or a schedule over the training step. */
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
