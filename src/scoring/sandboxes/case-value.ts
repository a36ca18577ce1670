/**
 * Values of programs as case_value.py writes them. None, booleans, texts, lists and integers between -2**53 and 2**53 are JSON's own. All others are
 * an object with one member:
 *
 *     {"int": "0x20000000000000"}  {"float": "1.5"}  {"tuple": [1]}  {"dict": [["key", 1]]}  {"set": [1]}  {"frozenset": [1]}
 *     {"bytes": "00ff"}  {"bytearray": "00ff"}  {"complex": ["1.0", "-2.0"]}  {"decimal": "1.50"}  {"fraction": [1, 2]}
 *     {"range": [0, 3, 1]}  {"deque": [1]}  {"keys": [1]}  {"values": [1]}  {"items": [{"tuple": [1, 2]}]}  {"iterator": [1]}
 *     {"date": [2026, 11, 28]}  {"time": [h, m, s, us]}  {"datetime": [y, m, d, h, m, s, us]}  {"timedelta": [days, s, us]}
 *     {"counter": [["key", 1]]}  {"ordered": [["key", 1]]}
 *
 * with {"endless": [1]} for the first items of an iterator that has many. Iterators, counters and ordered dicts are written for `holds` only. An object of
 * another class is {"other": "Node", "truth": true}, without `truth` if only the program could tell it.
 */

import type { Json } from '../../core/sample/sample.ts'

type Reader = (content: unknown) => boolean

const float = /^(?:-?(?:\d+\.\d+|\d+(?:\.\d+)?e[-+]\d+|inf)|nan)$/
const isFloat: Reader = (text) => typeof text === 'string' && float.test(text)
const longInteger = /^-?0x[1-9a-f][\da-f]*$/
const isLongInteger: Reader = (text) => typeof text === 'string' && longInteger.test(text)
const isInteger: Reader = (value) => Number.isSafeInteger(value) || isLongInteger(memberOf(value, 'int'))
const isHex: Reader = (text) => typeof text === 'string' && text.length % 2 === 0 && /^[\da-f]*$/.test(text)
const decimal = /^-?(?:\d+(?:\.\d+)?(?:E[-+]\d+)?|Infinity|s?NaN\d*)$/
const integers =
  (count: number): Reader =>
  (parts) =>
    Array.isArray(parts) && parts.length === count && parts.every(isInteger)

/** What each member that holds no other values may be. */
const leaves: Readonly<Record<string, Reader>> = {
  int: isLongInteger,
  float: isFloat,
  bytes: isHex,
  bytearray: isHex,
  complex: (parts) => Array.isArray(parts) && parts.length === 2 && parts.every(isFloat),
  decimal: (text) => typeof text === 'string' && decimal.test(text),
  fraction: integers(2),
  range: integers(3),
  date: integers(3),
  time: integers(4),
  datetime: integers(7),
  timedelta: integers(3),
}
const holders: ReadonlySet<string> = new Set([
  'tuple',
  'set',
  'frozenset',
  'deque',
  'keys',
  'values',
  'items',
  'iterator',
  'endless',
])
const dicts: ReadonlySet<string> = new Set(['dict', 'counter', 'ordered'])
const hashed: ReadonlySet<string> = new Set(['set', 'frozenset', 'keys'])

/** Levels of Python's values that case_value.py writes at most. */
const deepestValue = 201

/** Whether case_value.py can have written this. A program that wrote something itself may have written anything. */
export const isWritten = (value: unknown): boolean => isWrittenAt(value, deepestValue)

function isWrittenAt(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return value !== undefined
  if (levels < 0) return false
  const each = (items: readonly unknown[]) => items.every((item) => isWrittenAt(item, levels - 1))
  if (Array.isArray(value)) return each(value)
  const [[name, content] = ['', null], ...others] = Object.entries(value)
  if (name === 'other')
    return (
      typeof content === 'string' &&
      (others.length === 0 ||
        (others.length === 1 && others[0]?.[0] === 'truth' && typeof others[0][1] === 'boolean'))
    )
  if (others.length > 0) return false
  if (Object.hasOwn(leaves, name)) return leaves[name]?.(content) ?? false
  if (dicts.has(name))
    return (
      Array.isArray(content) &&
      content.every((pair) => Array.isArray(pair) && pair.length === 2 && each(pair) && isHashable(pair[0]))
    )
  return (
    holders.has(name) &&
    Array.isArray(content) &&
    each(content) &&
    (!hashed.has(name) || content.every(isHashable))
  )
}

const unhashable = [...dicts, 'set', 'bytearray', 'deque', 'keys', 'items']

/** Whether Python finds it in a set or as a key of a dict. At most as deep as the value. */
function isHashable(value: unknown): boolean {
  if (Array.isArray(value)) return false
  if (typeof value !== 'object' || value === null) return true
  const tuple = memberOf(value, 'tuple')
  if (Array.isArray(tuple)) return tuple.every(isHashable)
  return !unhashable.some((name) => Object.hasOwn(value, name))
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

/** Kinds that only Python compares: some of them equal values of another kind. */
const rare = [
  'complex',
  'decimal',
  'fraction',
  'range',
  'deque',
  'bytes',
  'bytearray',
  'date',
  'time',
  'datetime',
  'timedelta',
]

/** Whether a value is of a kind, or holds one, that only Python compares. */
export function isRare(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(isRare)
  return rare.some((name) => Object.hasOwn(value, name)) || Object.values(value).some(isRare)
}

/** For an author: a float that is no integer becomes a JSON number, so that only what JSON could not tell apart is an object. */
export function exactJson(value: unknown): Json {
  const text = memberOf(value, 'float')
  if (typeof text === 'string') {
    const number = Number(text)
    return Number.isFinite(number) && !Number.isInteger(number) ? number : { float: text }
  }
  if (Array.isArray(value)) return value.map(exactJson)
  if (typeof value !== 'object' || value === null) return value as Json
  return Object.fromEntries(
    Object.entries(value).map(([name, content]) => [
      name,
      Array.isArray(content) ? exactJson(content) : content,
    ]),
  ) as Json
}

/** The number of an integer, a float or a boolean. null: another value. */
export function numberOf(given: unknown): number | bigint | null {
  if (typeof given === 'boolean') return Number(given)
  if (typeof given === 'number') return given
  const [text, digits] = [memberOf(given, 'float'), memberOf(given, 'int')]
  if (typeof text === 'string') return Number(text.replace('inf', 'Infinity').replace('nan', 'NaN'))
  if (typeof digits !== 'string' || !longInteger.test(digits)) return null
  return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits)
}

const listIn = (given: unknown, name: string): readonly unknown[] | null => {
  const list = memberOf(given, name)
  return Array.isArray(list) ? list : null
}

/** Of a list or a tuple. */
export const itemsOf = (given: unknown): readonly unknown[] | null =>
  Array.isArray(given) ? given : listIn(given, 'tuple')

/** Of a set, frozen or not: they are equal if their members are. */
export const membersOf = (given: unknown): readonly unknown[] | null =>
  listIn(given, 'set') ?? listIn(given, 'frozenset')

/** Of a dict. */
export function entriesOf(given: unknown): readonly [unknown, unknown][] | null {
  const pairs = listIn(given, 'dict')
  return pairs?.every((pair) => Array.isArray(pair) && pair.length === 2)
    ? (pairs as [unknown, unknown][])
    : null
}
