import { createHash } from 'node:crypto'
import { bytesOf } from '../../../core/sample/bytes.ts'
import { eachInSlices, workInSlices } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { canonicalJson } from '../../plan/version.ts'
import { longHash } from '../long-hash.ts'

/** A group's different answers, and which one each of its rows is. */
export interface Contestants {
  /** Different answers. */
  readonly count: number
  readonly rows: readonly CallRow[]
  /** By row: its place in `rows`. */
  readonly places: readonly number[]
}

/**
 * Equal answers are one contestant, so that they get one score and are not compared with each other. The order follows
 * from what the answers are, never from where they stood in a request. More than `most` different answers are counted and not put in order.
 */
export async function distinctAnswers(rows: readonly CallRow[], most: number): Promise<Contestants> {
  const keys = await workInSlices(rowKeys(rows))
  const chosen = new Map<string, CallRow>()
  await eachInSlices(rows.length, (index) => {
    const row = rows[index] as CallRow
    const key = keys[index] ?? ''
    const known = chosen.get(key)
    if (!known || nameOf(row) < nameOf(known)) chosen.set(key, row)
  })
  if (chosen.size > most) return { count: chosen.size, rows: [], places: [] }
  const order = [...chosen.keys()].sort()
  const places = new Map(order.map((key, place) => [key, place]))
  return {
    count: chosen.size,
    rows: order.map((key) => chosen.get(key) as CallRow),
    places: keys.map((key) => places.get(key) ?? 0),
  }
}

/** Tells equal rows apart, whatever order they came in. */
const nameOf = ({ sample }: CallRow): string => JSON.stringify([sample.group?.index ?? null, sample.id])

/** Bytes of rows whose keys are made between two yields. */
const atOnceBytes = 256 * 1024
/** A longer text is hashed by itself, in pieces; a row that has one takes more than that. */
const longText = atOnceBytes / 2

/** A key for each row, equal for rows that differ in nothing that a question may be made of. */
export function* rowKeys(rows: readonly CallRow[]): Generator<void, readonly string[]> {
  const keys: string[] = []
  let bytes = 0
  for (const row of rows) {
    const compared = comparedOf(row)
    const own = bytesOf(compared)
    if (bytes > 0 && bytes + own > atOnceBytes) {
      yield
      bytes = 0
    }
    bytes += own
    keys.push(own > atOnceBytes ? yield* keyOfLarge(compared) : digest(canonicalJson(compared)))
  }
  return keys
}

/** The id and the place in the group are nothing that a question may be made of. */
function comparedOf({ sample, earlier }: CallRow): object {
  const { id: _id, group: _group, flags: _flags, ...rest } = sample
  return { ...rest, earlier }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Each text stands as a short one that no other text, long or short, has. */
function* keyOfLarge(value: object): Generator<void, string> {
  const hashes = new Map<string, string>()
  for (const text of longTexts(value)) hashes.set(text, yield* longHash('', text, 'utf16le'))
  return hashes.size === 0
    ? digest(canonicalJson(value))
    : `long ${digest(canonicalJson(value, (text) => (text.length > longText ? `#${hashes.get(text)}` : `=${text}`)))}`
}

/** The different texts of a value that are long; names of fields are none. */
function longTexts(value: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string') {
    if (value.length > longText) found.add(value)
  } else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) longTexts(inner, found)
  return found
}
