/** Compares what a program gave with what was expected. The program wrote it and may have tried to cheat. */

import type { Expected } from '../../contract/execution.ts'
import type { Json } from '../../core/sample/sample.ts'
import { ExactNumber, type JsonValue, readJson } from '../../grading/json/json.ts'

/** What a case printed and gave. `value`: as case_value.py encodes it. */
export interface Given {
  readonly stdout: string
  readonly value?: unknown
}

/** Whether a program that ended well gave what was expected. */
export function passes(expected: Expected | undefined, { stdout, value }: Given): boolean {
  if (expected === undefined) return true
  if ('exact' in expected) return withoutBreaks(stdout) === withoutBreaks(expected.exact)
  if ('python' in expected) throw new Error('expected.python was not evaluated')
  if ('truthy' in expected) return truthOf(value) === expected.truthy
  const { tolerance = 0 } = expected
  if ('stdout' in expected) return equalLines(stdout, expected.stdout, tolerance)
  const wanted = readJson(expected.json)
  return wanted !== null && value !== undefined && equalValues(value, wanted.value, tolerance)
}

/** What a result of `report: outputs` tells besides its verdict. A value that is no value of a program is left out. */
export const outputsOf = (
  { stdout, value }: Given,
  { ended }: { readonly ended: string },
): { readonly stdout: string; readonly value?: Json } => ({
  stdout,
  ...(value !== undefined && ended !== 'tampered' && { value: jsonOfValue(value) }),
})

/** A value as case_value.py encodes it, for an author. */
function jsonOfValue(value: unknown): Json {
  const number = numberOf(value)
  if (typeof value === 'boolean' || typeof value === 'string') return value
  if (number !== null) return typeof number === 'number' && Number.isFinite(number) ? number : null
  const items = itemsOf(value) ?? entriesOf(value)
  return items ? items.map(jsonOfValue) : null
}

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

/** Whether two values as case_value.py encodes them are equal as Python compares. */
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

/** Equal values have equal texts. null: a value that equals none, such as NaN or an object of the program's own class. */
export function identityOf(value: unknown): string | null {
  const number = numberOf(value)
  if (number !== null) return Number.isNaN(number) ? null : nameOf(number)
  if (value === null) return 'None'
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return joined('[', value.map(identityOf))
  if (typeof value !== 'object' || value === undefined) return null
  if ('tuple' in value && Array.isArray(value.tuple)) return joined('(', value.tuple.map(identityOf))
  const members = membersOf(value)
  if (members) return joined('{', members.map(identityOf).sort())
  const entries = entriesOf(value)
  return entries && joined('dict', entries.map((entry) => joined(':', entry.map(identityOf))).sort())
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

/** Whether a value counts as true in Python. null: only the program could tell. */
function truthOf(value: unknown): boolean | null {
  const number = numberOf(value)
  if (number !== null) return Number.isNaN(number) || Number(number) !== 0
  if (typeof value === 'string') return value !== ''
  if (value === null) return false
  const items = itemsOf(value) ?? membersOf(value) ?? entriesOf(value)
  if (items) return items.length > 0
  const isOther = typeof value === 'object' && 'other' in value && 'truth' in value
  return isOther && typeof value.truth === 'boolean' ? value.truth : null
}

export function numberOf(given: unknown): number | bigint | null {
  if (typeof given === 'boolean') return Number(given)
  if (typeof given === 'number') return given
  if (typeof given !== 'object' || given === null) return null
  if ('float' in given && typeof given.float === 'string') return pythonFloat(given.float)
  if ('int' in given && typeof given.int === 'string' && /^-?0x[\da-f]+$/.test(given.int))
    return given.int.startsWith('-') ? -BigInt(given.int.slice(1)) : BigInt(given.int)
  return null
}

const pythonFloat = (text: string): number => Number(text.replace('inf', 'Infinity').replace('nan', 'NaN'))

export function itemsOf(given: unknown): readonly unknown[] | null {
  if (Array.isArray(given)) return given
  if (typeof given === 'object' && given !== null && 'tuple' in given && Array.isArray(given.tuple))
    return given.tuple
  return null
}

export function membersOf(given: unknown): readonly unknown[] | null {
  return typeof given === 'object' && given !== null && 'set' in given && Array.isArray(given.set)
    ? given.set
    : null
}

export function entriesOf(given: unknown): readonly [unknown, unknown][] | null {
  if (typeof given !== 'object' || given === null || !('dict' in given) || !Array.isArray(given.dict))
    return null
  return given.dict.every((entry) => Array.isArray(entry) && entry.length === 2) ? given.dict : null
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
