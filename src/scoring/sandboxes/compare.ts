/** Compares what a program gave with what was expected. The program wrote it and may have tried to cheat. */

import type { Expected } from '../../contract/execution.ts'
import { ExactNumber, type JsonValue, readJson } from '../../grading/json/json.ts'
import { entriesOf, isRare, itemsOf, membersOf, numberOf } from './case-value.ts'

/** What a case printed and gave. `value`: as case_value.py encodes it. */
export interface Given {
  readonly stdout: string
  readonly value?: unknown
}

/** Whether a program that ended well gave what was expected. `wanted`: the value of `expected.python`. */
export function passes(expected: Compared | undefined, { stdout, value }: Given, wanted: unknown): boolean {
  if (expected === undefined) return true
  if ('exact' in expected) return withoutBreaks(stdout) === withoutBreaks(expected.exact)
  if ('stdout' in expected) return equalLines(stdout, expected.stdout, expected.tolerance ?? 0)
  if (value === undefined) return false
  if ('atol' in expected) return sameForEvalPlus(value, wanted, expected.atol)
  if ('python' in expected) return sameValues(value, wanted, expected.tolerance)
  const read = readJson(expected.json)
  return read !== null && equalValues(value, read.value, expected.tolerance ?? 0)
}

/** What the gateway compares itself. */
export type Compared = Exclude<Expected, { readonly holds: string }>

/** Without the line breaks at its end. An expression that is anchored there would start again at each break before it. */
function withoutBreaks(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end -= text[end - 2] === '\r' ? 2 : 1
  return text.slice(0, end)
}

function equalLines(given: string, wanted: string, tolerance: number): boolean {
  const [some, others] = [linesOf(given), linesOf(wanted)]
  return (
    some.length === others.length && some.every((line, at) => equalWords(line, others[at] ?? '', tolerance))
  )
}

/** Lines without blanks at their ends and without blank lines at the end. */
function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim())
  while (lines.at(-1) === '') lines.pop()
  return lines
}

function equalWords(given: string, wanted: string, tolerance: number): boolean {
  if (given === wanted) return true
  const [some, others] = [given.split(/\s+/), wanted.split(/\s+/)]
  return (
    some.length === others.length && some.every((word, at) => equalWord(word, others[at] ?? '', tolerance))
  )
}

const numeral = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,9})?$/

function equalWord(given: string, wanted: string, tolerance: number): boolean {
  if (given === wanted) return true
  if (!numeral.test(given) || !numeral.test(wanted)) return false
  if (tolerance > 0 && isNear(Number(given), Number(wanted), tolerance)) return true
  const [some, other] = [readNumeral(given), readNumeral(wanted)]
  return some !== null && other !== null && some.compare(other) === 0
}

/** `.5` and `5.` are numbers too. */
const readNumeral = (text: string): ExactNumber | null => ExactNumber.read(text.replace(/^([-+]?)\./, '$10.'))

/** Infinity is near nothing: a share of it would allow every number, and numbers that overflow would all be one. */
const isNear = (a: number, b: number, tolerance: number): boolean =>
  Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b))

/** Whether two values are equal as Python compares. */
export function sameValues(given: unknown, wanted: unknown, tolerance = 0): boolean {
  const name = identityOf(wanted)
  if (name !== null && identityOf(given) === name) return true
  return tolerance > 0 && nearValues(given, wanted, tolerance)
}

/** Numbers within the tolerance, in lists and tuples of the same kind and in dicts of the same keys. */
function nearValues(given: unknown, wanted: unknown, tolerance: number): boolean {
  const [some, other] = [numberOf(given), numberOf(wanted)]
  if (some !== null && other !== null)
    return isNear(Number(some), Number(other), tolerance) || sameValues(given, wanted)
  const [items, others] = [itemsOf(given), itemsOf(wanted)]
  if (items && others)
    return (
      Array.isArray(given) === Array.isArray(wanted) &&
      items.length === others.length &&
      items.every((item, at) => nearValues(item, others[at], tolerance))
    )
  const [entries, wantedEntries] = [entriesOf(given), entriesOf(wanted)]
  if (!entries || !wantedEntries) return sameValues(given, wanted)
  const named = new Map(entries.map(([key, value]) => [identityOf(key), value]))
  return (
    entries.length === wantedEntries.length &&
    wantedEntries.every(
      ([key, value]) =>
        named.has(identityOf(key)) && nearValues(named.get(identityOf(key)), value, tolerance),
    )
  )
}

/** What EvalPlus takes where a task names none, for floats alone. */
const usualAtol = 1e-6
/** As numpy.testing.assert_allclose has it. */
const rtol = 1e-7

/** Equal, or near as numpy.allclose has it and of one type. */
function sameForEvalPlus(given: unknown, wanted: unknown, atol: number): boolean {
  if (sameValues(given, wanted)) return true
  const allowed = atol > 0 ? atol : areFloats(wanted) ? usualAtol : 0
  return allowed > 0 && kindOf(given) === kindOf(wanted) && areClose(given, wanted, allowed)
}

const kindOf = (value: unknown): string =>
  typeof value !== 'object' || value === null
    ? typeof value
    : Array.isArray(value)
      ? 'list'
      : (Object.keys(value)[0] ?? '').replace(/^int$/, 'number')

/** A float, or a list or tuple of floats. */
function areFloats(value: unknown): boolean {
  const items = itemsOf(value)
  return items
    ? items.length > 0 && items.every((item) => kindOf(item) === 'float')
    : kindOf(value) === 'float'
}

function areClose(given: unknown, wanted: unknown, atol: number): boolean {
  const [some, other] = [numberOf(given), numberOf(wanted)]
  if (some !== null && other !== null) {
    const [a, b] = [Number(some), Number(other)]
    return a === b || (Number.isFinite(b) && Math.abs(a - b) <= atol + rtol * Math.abs(b))
  }
  const [items, others] = [itemsOf(given), itemsOf(wanted)]
  return (
    items !== null &&
    others !== null &&
    items.length === others.length &&
    items.every((item, at) => areClose(item, others[at], atol))
  )
}

/** Equal values have equal texts. null: a value that equals none, such as NaN or an object of the program's own class. */
function identityOf(value: unknown): string | null {
  const number = numberOf(value)
  if (number !== null) return Number.isNaN(number) ? null : nameOf(number)
  if (value === null) return 'None'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object') return null
  if (Array.isArray(value)) return joined('[', value.map(identityOf))
  const items = itemsOf(value)
  if (items) return joined('(', items.map(identityOf))
  const members = membersOf(value)
  if (members) return joined('{', members.map(identityOf).sort())
  const entries = entriesOf(value)
  if (entries) return joined('dict', entries.map((entry) => joined(':', entry.map(identityOf))).sort())
  // Python compares them.
  return isRare(value) ? JSON.stringify(value) : null
}

/** Equal numbers have equal names. Digits of a long one are hexadecimal: decimal ones of a megabyte take a quarter of a second. */
function nameOf(number: number | bigint): string {
  const isLarge = number >= 2 ** 53 || number <= -(2 ** 53)
  return isLarge && (typeof number === 'bigint' || Number.isFinite(number))
    ? `0x${BigInt(number).toString(16)}`
    : `${number}`
}

function joined(open: string, names: readonly (string | null)[]): string | null {
  return names.includes(null) ? null : `${open}${names.join(',')})`
}

/** Python's `==` between a value as case_value.py encodes it and a JSON value; a tuple equals a list. */
function equalValues(given: unknown, wanted: JsonValue, tolerance: number): boolean {
  const number = numberOf(given)
  if (number !== null) {
    const other = typeof wanted === 'boolean' ? Number(wanted) : wanted
    if (typeof other !== 'number' && typeof other !== 'bigint') return false
    // A bigint and a double compare by value, but not with ===.
    if (number <= other && number >= other) return true
    return tolerance > 0 && isNear(Number(number), Number(other), tolerance)
  }
  if (typeof given === 'string' || given === null) return given === wanted
  const items = itemsOf(given)
  if (items !== null)
    return (
      Array.isArray(wanted) &&
      items.length === wanted.length &&
      items.every((item, at) => equalValues(item, wanted[at] as JsonValue, tolerance))
    )
  const entries = entriesOf(given)
  return entries !== null && wanted instanceof Map && equalEntries(entries, wanted, tolerance)
}

/** JSON has only texts as keys: a key that is a number or a boolean counts as it is written. */
function equalEntries(
  entries: readonly [unknown, unknown][],
  wanted: ReadonlyMap<string, JsonValue>,
  tolerance: number,
): boolean {
  const named = new Map(entries.map(([key, value]) => [keyOf(key), value]))
  return (
    named.size === wanted.size &&
    entries.length === wanted.size &&
    [...wanted].every(([key, value]) => named.has(key) && equalValues(named.get(key), value, tolerance))
  )
}

function keyOf(key: unknown): string | null {
  if (typeof key === 'string') return key
  if (typeof key === 'boolean') return key ? 'True' : 'False'
  const number = numberOf(key)
  if (number !== null) return String(number)
  return key === null ? 'None' : null
}
