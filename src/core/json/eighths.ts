import { depthLimit, numberEighths, valueEighths } from './limits.ts'

/** Far below any count. */
const unknown = Number.NEGATIVE_INFINITY

/** How much a value counts; negative: a number in it may be a rounded one, or it is very deep. */
export function eighthsOf(value: unknown, depth = 0): number {
  if (typeof value === 'number') return Math.abs(value) < 2 ** 53 ? numberEighths : unknown
  if (value === null || typeof value === 'boolean') return numberEighths
  if (typeof value !== 'object') return valueEighths
  if (depth === depthLimit) return unknown
  let eighths = valueEighths
  if (Array.isArray(value)) {
    for (const item of value) eighths += eighthsOf(item, depth + 1)
    return eighths
  }
  for (const key in value)
    eighths += valueEighths + eighthsOf((value as Record<string, unknown>)[key], depth + 1)
  return eighths
}
