import type { Fields } from '../dataset/fields.ts'
import { solve } from './countdown-solver.ts'
import { type Family, type Reading, Unusable } from './family.ts'

const system =
  'You solve number puzzles. Think in <think> </think>, then write one arithmetic expression in <answer> </answer>.'

/** A number game: the numbers, each to be used once, and the value to reach. */
export const countdown: Family = {
  name: 'countdown',
  source: '{"target", "nums"} (or "numbers")',
  ability: 'math',
  steps: [{ name: 'rule', function: 'countdown' }],
  columns: { groundTruth: 'STRUCT("target" BIGINT, numbers BIGINT[])', extraInfo: {} },
  rmPrompts: 0,
  read(row, options) {
    const { target, numbers } = puzzleOf(row)
    const given = typeof row.solution === 'string' ? row.solution : null
    const found = given ?? solve(target, numbers)
    if (found === null) throw new Unusable('no expression of the numbers has the target as its value')
    return readingOf({ target, numbers, solution: found === 'unknown' ? null : found }, options.dataSource)
  },
}

/** A puzzle and an expression that solves it; null: none is known. */
interface Puzzle {
  readonly target: number
  readonly numbers: readonly number[]
  readonly solution: string | null
}

function readingOf({ target, numbers, solution }: Puzzle, dataSource = 'countdown'): Reading {
  const ask = `Use the numbers ${numbers.join(', ')}, each exactly once, with + - * / and brackets, to make ${target}.`
  return {
    dataSource,
    prompt: [
      { role: 'system', content: system },
      { role: 'user', content: ask },
    ],
    groundTruth: { target, numbers },
    extraInfo: {},
    gold: solution === null ? null : answered(solution),
    nearMiss: otherValue(target, numbers),
  }
}

const answered = (expression: string): string =>
  `<think>I combine the numbers until the value is right.</think>\n<answer>${expression}</answer>`

/** An answer with all numbers and another value: their sum, or their sum with one of them taken away. */
function otherValue(target: number, numbers: readonly number[]): string | null {
  const sum = numbers.reduce((a, b) => a + b, 0)
  if (sum !== target) return answered(numbers.join(' + '))
  const nonZero = numbers.findIndex((number) => number !== 0)
  const rest = numbers.filter((_, index) => index !== nonZero)
  return nonZero === -1 ? null : answered(`${rest.join(' + ')} - ${numbers[nonZero]}`)
}

function puzzleOf(row: Fields): { readonly target: number; readonly numbers: readonly number[] } {
  const numbers = row.nums ?? row.numbers
  if (!Array.isArray(numbers) || numbers.length < 2 || !numbers.every(isWhole))
    throw new Unusable('nums is no list of at least two whole numbers')
  if (!Number.isSafeInteger(row.target)) throw new Unusable('target is no whole number')
  return { target: row.target as number, numbers }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
