import { GatewayError } from '../../core/errors.ts'
import { seeded } from '../../core/statistics/random.ts'
import type { Fields } from '../dataset/fields.ts'

/** What puzzles are made of. */
export interface PuzzleSettings {
  readonly count: number
  /** How many numbers a puzzle has, one of these. */
  readonly sizes: readonly number[]
  /** Numbers are 1 to this. */
  readonly largest: number
  /** Targets are 1 to this. */
  readonly highest: number
  readonly seed: number
}

interface Made {
  readonly value: number
  readonly text: string
}

/** Draws in a row that give nothing else than puzzles which are there already. */
const patience = 20_000

/** Different puzzles with whole steps and a solution, the same for the same settings. Throws RG_COMMAND_INVALID for too many. */
export function* puzzles({ count, sizes, largest, highest, seed }: PuzzleSettings): Generator<Fields> {
  const random = seeded(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const known = new Set<string>()
  for (let missed = 0; known.size < count; missed++) {
    if (missed > patience) {
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        `only ${known.size} different puzzles were found; allow larger numbers, or more of them`,
      )
    }
    const numbers = Array.from({ length: sizes[below(sizes.length)] ?? 3 }, () => 1 + below(largest))
    const made = combined(numbers, below)
    const key = `${made.value}: ${[...numbers].sort((a, b) => a - b).join()}`
    if (made.value < 1 || made.value > highest || known.has(key)) continue
    known.add(key)
    missed = 0
    yield { target: made.value, nums: numbers, solution: made.text }
  }
}

/** Joins two at a time by an operation that gives a whole number from 1 on. */
function combined(numbers: readonly number[], below: (limit: number) => number): Made {
  const left: Made[] = numbers.map((value) => ({ value, text: String(value) }))
  while (left.length > 1) {
    const [a] = left.splice(below(left.length), 1) as [Made]
    const [b] = left.splice(below(left.length), 1) as [Made]
    const [high, low] = a.value >= b.value ? [a, b] : [b, a]
    const ways: readonly (readonly [string, number])[] = [
      ['+', high.value + low.value],
      ['*', high.value * low.value],
      ...(high.value > low.value ? [['-', high.value - low.value] as const] : []),
      ...(high.value % low.value === 0 ? [['/', high.value / low.value] as const] : []),
    ]
    const [sign, value] = ways[below(ways.length)] ?? ['+', high.value + low.value]
    left.push({ value, text: `(${high.text} ${sign} ${low.text})` })
  }
  return left[0] as Made
}
