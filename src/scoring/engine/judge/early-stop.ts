import type { Votes } from '../../plan/plan.ts'

/**
 * The least number of further draws that could settle the aggregate; 0 where none of the `remaining` can change it.
 * `values`: what the valid draws of `asked` in all said so far.
 */
export function drawsToSettle(
  values: readonly number[],
  remaining: number,
  asked: number,
  { aggregate, min }: Pick<Votes, 'aggregate' | 'min'>,
): number {
  if (remaining === 0 || values.length + remaining < Math.min(min, asked)) return 0
  if (aggregate === 'mean') return remaining
  if (aggregate !== 'median') {
    const voters = aggregate === 'quorum' ? asked : values.length + remaining
    if ((largestCount(values) + remaining) * 2 <= voters) return 0
  }
  const hopeful = [...values]
  const favourite = mostFrequent(values) ?? 0
  for (let more = 0; more < remaining; more++) {
    const isEnough = hopeful.length >= Math.min(min, asked)
    if (isEnough && isSettled(hopeful, remaining - more, asked, aggregate)) return more
    hopeful.push(favourite)
  }
  return remaining
}

/** Whether further draws, valid or not, leave the aggregate as it is. */
function isSettled(
  values: readonly number[],
  remaining: number,
  asked: number,
  aggregate: Exclude<Votes['aggregate'], 'mean'>,
): boolean {
  if (aggregate === 'median') {
    const sorted = [...values].sort((a, b) => a - b)
    // The median moves farthest where all that is to come lies on one side.
    const most = sorted.length + remaining
    const low = middle(sorted, most, -remaining)
    const high = middle(sorted, most, 0)
    return low !== null && low === high
  }
  return largestCount(values) * 2 > (aggregate === 'quorum' ? asked : values.length + remaining)
}

/** The median of `count` values, of which `sorted` are those from `shift` places on; null: it hangs on others. */
function middle(sorted: readonly number[], count: number, shift: number): number | null {
  const upper = sorted[(count >> 1) + shift]
  const lower = sorted[((count - 1) >> 1) + shift]
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2
}

function mostFrequent(values: readonly number[]): number | null {
  let [best, most]: [number | null, number] = [null, 0]
  for (const [value, count] of countsOf(values)) if (count > most) [best, most] = [value, count]
  return best
}

const largestCount = (values: readonly number[]): number => Math.max(0, ...countsOf(values).values())

function countsOf(values: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
