import { asciiDigits, maxIntegerDigits } from '../digits.ts'
import { readInteger } from './number.ts'

/** Every run of Unicode decimal digits, left to right; null: one is longer than Python reads. */
export function digitRuns(text: string): bigint[] | null {
  const runs = (text.match(/\p{Nd}+/gu) ?? []).map(asciiDigits)
  return runs.some((run) => run.length > maxIntegerDigits) ? null : runs.map(BigInt)
}

/** A JSON value's elements, a text's characters or an object's keys as Python's int() takes them; null: one is none. */
export function pythonIntegers(value: unknown): bigint[] | null {
  if ((typeof value !== 'object' && typeof value !== 'string') || value === null) return null
  const items: unknown[] = typeof value === 'string' || Array.isArray(value) ? [...value] : Object.keys(value)
  const integers = items.map(pythonInteger)
  return integers.every((item) => item !== null) ? integers : null
}

function pythonInteger(value: unknown): bigint | null {
  if (typeof value === 'string') return readInteger(value)
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : null
}

/** Whether two lists hold the same integers, each as often. */
export function sameIntegers(a: readonly bigint[], b: readonly bigint[]): boolean {
  if (a.length !== b.length) return false
  const [x, y] = [a, b].map((list) => [...list].sort((p, q) => (p < q ? -1 : Number(p > q)))) as [
    bigint[],
    bigint[],
  ]
  return x.every((integer, i) => integer === y[i])
}
