/**
 * Python's operators between a program's value and an expected one, both as case_value.py encodes them. Objects of the program decide nothing: where
 * Python would ask them, or would raise, the answer is null, and nothing passes.
 */

import type { Expected, ValueOperator, Within } from '../../contract/execution.ts'
import { entriesOf, identityOf, itemsOf, membersOf, numberOf, sameValues } from './compare.ts'

/** Whether a program's value passes. `wanted`: the value of `expected.python`. */
export function meets(
  given: unknown,
  expected: Extract<Expected, { readonly python: string }>,
  wanted: unknown,
): boolean {
  if (given === undefined) return false
  if ('operator' in expected) return holds(given, expected.operator, wanted) === true
  if ('within' in expected) return isWithin(given, wanted, expected.within)
  return sameValues(given, wanted, expected.tolerance)
}

function holds(given: unknown, operator: ValueOperator, wanted: unknown): boolean | null {
  if (operator === 'is' || operator === 'is not')
    return wanted === null || typeof wanted === 'boolean' ? (given === wanted) === (operator === 'is') : null
  if (operator === '!=') return not(areEqual(given, wanted))
  if (operator === 'in') return isIn(given, wanted)
  if (operator === 'not in') return not(isIn(given, wanted))
  const [a, b] = [numberOf(given), numberOf(wanted)]
  if (a === null || b === null) return null
  if (operator === '<') return a < b
  if (operator === '<=') return a <= b
  return operator === '>' ? a > b : a >= b
}

const not = (answer: boolean | null): boolean | null => (answer === null ? null : !answer)

/** `wanted` holds no NaN and no objects. */
function areEqual(given: unknown, wanted: unknown): boolean | null {
  const name = identityOf(given)
  return name === null ? compared(given, wanted) : name === identityOf(wanted)
}

/** The same for a value with NaN or objects in it: false where these do not count. At most as long as `wanted`. */
function compared(given: unknown, wanted: unknown): boolean | null {
  const [a, b] = [numberOf(given), numberOf(wanted)]
  if (a !== null && b !== null) return a <= b && a >= b
  if (wanted === null || given === null || typeof given === 'string') return given === wanted
  const [some, others] = [itemsOf(given), itemsOf(wanted)]
  if (some && others && Array.isArray(given) === Array.isArray(wanted)) {
    if (some.length !== others.length) return false
    let answer: boolean | null = true
    for (const [at, other] of others.entries()) {
      const one = compared(some[at], other)
      if (one === false) return false
      answer &&= one
    }
    return answer
  }
  for (const partsOf of [membersOf, entriesOf]) {
    const [parts, wantedParts] = [partsOf(given), partsOf(wanted)]
    if (parts && wantedParts) return parts.length === wantedParts.length ? null : false
  }
  return a !== null || some || membersOf(given) || entriesOf(given) ? false : null
}

function isIn(given: unknown, wanted: unknown): boolean | null {
  if (typeof wanted === 'string')
    return typeof given === 'string' && !halfCharacter.test(given) ? holdsText(wanted, given) : null
  const [set, dict] = [membersOf(wanted), entriesOf(wanted)]
  // Python looks for a set in a set as if it were frozen.
  if ((set && !membersOf(given) && !isHashable(given)) || (dict && !isHashable(given))) return null
  const items = set ?? dict?.map(([key]) => key) ?? itemsOf(wanted)
  if (!items) return null
  const name = identityOf(given)
  if (name !== null) return items.some((item) => identityOf(item) === name)
  const answers = items.map((item) => compared(given, item))
  return answers.includes(null) ? null : answers.includes(true)
}

/** Texts up to this product of their lengths are searched by JavaScript, which takes a minute for a megabyte that is chosen for it. */
const mostSteps = 1_000_000

/** Whether a text holds another one, by the algorithm of Knuth, Morris and Pratt. */
function holdsText(text: string, piece: string): boolean {
  if (text.length * piece.length <= mostSteps) return text.includes(piece)
  if (piece.length > text.length) return false
  const borders = new Int32Array(piece.length)
  const longer = (matched: number, sign: number): number => {
    let length = matched
    while (length > 0 && piece.charCodeAt(length) !== sign) length = borders[length - 1] ?? 0
    return piece.charCodeAt(length) === sign ? length + 1 : 0
  }
  for (let at = 1; at < piece.length; at++) borders[at] = longer(borders[at - 1] ?? 0, piece.charCodeAt(at))
  let matched = 0
  for (let at = 0; at < text.length && matched < piece.length; at++)
    matched = longer(matched, text.charCodeAt(at))
  return matched === piece.length
}

/** A piece of a character that JavaScript would find in it. */
const halfCharacter = /^[\udc00-\udfff]|[\ud800-\udbff]$/

/** A set may be frozen, which nobody knows here. */
function isHashable(value: unknown): boolean {
  if (value === null || typeof value === 'string' || numberOf(value) !== null) return true
  return !Array.isArray(value) && (itemsOf(value)?.every(isHashable) ?? false)
}

function isWithin(given: unknown, wanted: unknown, { absolute, relative, exclusive }: Within): boolean {
  const [a, b] = [numberOf(given), numberOf(wanted)]
  if (a === null || b === null) return false
  const [x, y] = [Number(a), Number(b)]
  const areWhole = relative === undefined && isInteger(given) && isInteger(wanted)
  const difference = areWhole ? magnitude(BigInt(a) - BigInt(b)) : Math.abs(x - y)
  if (!areWhole && !(Number.isFinite(x) && Number.isFinite(y))) return false
  if (relative !== undefined && difference <= relative * Math.max(Math.abs(x), Math.abs(y))) return true
  return exclusive ? difference < absolute : difference <= absolute
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

/** Of Python's `int` or `bool`. */
const isInteger = (value: unknown): boolean =>
  typeof value !== 'object' || (value !== null && !('float' in value))
