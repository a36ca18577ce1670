import type { Score } from '../core/sample/score.ts'
import { same, type TestRunner } from './test-runner.ts'
import type { Range, Verdict } from './verdict.ts'

/** The verdict as a score, a number having no parts; null stays. */
export const asScore = (verdict: Verdict): Score | null =>
  typeof verdict === 'number' ? { value: verdict } : verdict

/** Holds a score to the range and the parts that its function declares; gives its value, NaN for none. */
export function scoreContract(
  t: TestRunner,
  title: string,
  score: Score | null,
  { range: [low, high], parts }: { readonly range: Range; readonly parts: readonly string[] },
): number {
  const value = score?.value ?? Number.NaN
  t.ok(value >= low && value <= high, `${title}: ${value} lies in the range`)
  const reported = score?.parts ?? {}
  const undeclared = Object.keys(reported).filter((name) => !parts.includes(name))
  same(t, undeclared, [], `${title}: reports declared parts only${undeclared.map((one) => `, not ${one}`)}`)
  t.ok(Object.values(reported).every(Number.isFinite), `${title}: its parts are finite`)
  return value
}

/** Holds the best and the worst case to the ends of the range, as far as these are finite. */
export function endsContract(
  t: TestRunner,
  [low, high]: Range,
  { full, zero, within = 0 }: { readonly full: number; readonly zero: number; readonly within?: number },
): void {
  if (Number.isFinite(high))
    t.ok(high - full <= within, `full: scored ${full}, and the range ends at ${high}`)
  if (Number.isFinite(low)) t.ok(zero - low <= within, `zero: scored ${zero}, and the range begins at ${low}`)
}
