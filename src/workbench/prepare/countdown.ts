import { GatewayError } from '../../core/errors.ts'
import { seeded } from '../../core/statistics/random.ts'
import type { Fields } from '../dataset/row.ts'
import { type Family, type ParsedRow, Unusable } from './family.ts'

const system =
  'You solve number puzzles. Think in <think> </think>, then write one arithmetic expression in <answer> </answer>.'

/** A number game: numbers to be used once each, and a target. */
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

/** A puzzle with a solution. null: none is known. */
interface Puzzle {
  readonly target: number
  readonly numbers: readonly number[]
  readonly solution: string | null
}

function readingOf({ target, numbers, solution }: Puzzle, dataSource = 'countdown'): ParsedRow {
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

/** An expression with all numbers and another value: their sum, or the sum with one number subtracted. */
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
    throw new Unusable('nums is not a list of at least two whole numbers')
  if (!Number.isSafeInteger(row.target)) throw new Unusable('target is not a whole number')
  return { target: row.target as number, numbers }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** A fraction in lowest terms with a positive denominator, and the expression that makes it. */
interface Fraction {
  readonly n: number
  readonly d: number
  readonly text: string
}

/** Enough for all puzzles of five numbers and most of six. */
const mostCombinations = 1_000_000

/**
 * Finds an expression that uses all numbers and has the target as its value. null: there is none. `unknown`:
 * the search gave up.
 */
export function solve(target: number, numbers: readonly number[]): string | null | 'unknown' {
  let left = mostCombinations
  const failed = new Set<string>()
  const search = (made: readonly Fraction[]): string | null => {
    const [first, second] = made
    if (first && !second) return first.d === 1 && first.n === target ? first.text : null
    const key = made
      .map(({ n, d }) => `${n}/${d}`)
      .sort()
      .join()
    if (failed.has(key)) return null
    for (const [i, a] of made.entries()) {
      for (const [j, b] of made.entries()) {
        if (j <= i) continue
        const rest = made.filter((_, at) => at !== i && at !== j)
        for (const one of combinations(a, b)) {
          if (--left < 0) return null
          const found = search([...rest, one])
          if (found !== null) return found
        }
      }
    }
    failed.add(key)
    return null
  }
  const found = search(numbers.map((n) => ({ n, d: 1, text: String(n) })))
  return found ?? (left < 0 ? 'unknown' : null)
}

function combinations(a: Fraction, b: Fraction): readonly Fraction[] {
  const made = (n: number, d: number, text: string): Fraction[] => {
    const divisor = commonDivisor(Math.abs(n), d)
    // Drops fractions that a double cannot represent exactly.
    return Number.isSafeInteger(n) && Number.isSafeInteger(d)
      ? [{ n: n / divisor, d: d / divisor, text }]
      : []
  }
  const divided = (x: Fraction, y: Fraction): Fraction[] => {
    const sign = Math.sign(y.n)
    return sign === 0 ? [] : made(sign * x.n * y.d, x.d * Math.abs(y.n), `(${x.text} / ${y.text})`)
  }
  return [
    ...made(a.n * b.d + b.n * a.d, a.d * b.d, `(${a.text} + ${b.text})`),
    ...made(a.n * b.n, a.d * b.d, `(${a.text} * ${b.text})`),
    ...made(a.n * b.d - b.n * a.d, a.d * b.d, `(${a.text} - ${b.text})`),
    ...made(b.n * a.d - a.n * b.d, a.d * b.d, `(${b.text} - ${a.text})`),
    ...divided(a, b),
    ...divided(b, a),
  ]
}

function commonDivisor(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return x || 1
}

export interface PuzzleSettings {
  readonly count: number
  /** The possible counts of numbers in a puzzle. */
  readonly sizes: readonly number[]
  /** Numbers are from 1 to this. */
  readonly largest: number
  /** Targets are from 1 to this. */
  readonly highest: number
  readonly seed: number
}

interface Term {
  readonly value: number
  readonly text: string
}

/** Gives up after this many draws without a new puzzle. */
const mostMisses = 20_000

/**
 * Generates distinct solvable puzzles with whole intermediate results, the same for the same settings. Throws
 * RG_COMMAND_INVALID if there are too few.
 */
export function* puzzles({ count, sizes, largest, highest, seed }: PuzzleSettings): Generator<Fields> {
  const random = seeded(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const known = new Set<string>()
  for (let missed = 0; known.size < count; missed++) {
    if (missed > mostMisses) {
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        `only ${known.size} different puzzles were found; allow larger numbers or more numbers`,
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

/** Joins two terms at a time with an operation whose result is a positive integer. */
function combined(numbers: readonly number[], below: (limit: number) => number): Term {
  const left: Term[] = numbers.map((value) => ({ value, text: String(value) }))
  while (left.length > 1) {
    const [a] = left.splice(below(left.length), 1) as [Term]
    const [b] = left.splice(below(left.length), 1) as [Term]
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
  return left[0] as Term
}
