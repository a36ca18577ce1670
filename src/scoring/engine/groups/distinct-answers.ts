import { createHash } from 'node:crypto'
import { bytesOf } from '../../../core/sample/sample.ts'
import { eachInSlices, workInSlices } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { canonicalJson } from '../../plan/version.ts'
import { longHash } from '../long-hash.ts'

/** A group's distinct answers, and which of them each row is. */
export interface Contestants {
  /** The number of distinct answers. */
  readonly count: number
  readonly rows: readonly CallRow[]
  /** For each row of the group, the index of its answer in `rows`. */
  readonly places: readonly number[]
}

/**
 * Merges equal answers into one contestant, so that they get the same score and are not compared with each other. The order
 * depends only on the answers, never on their positions in a request. With more than `most` distinct answers, only `count` is
 * set.
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

/** Distinguishes rows with equal answers, independently of arrival order. */
const nameOf = ({ sample }: CallRow): string => JSON.stringify([sample.group?.index ?? null, sample.id])

/** Bytes of rows whose keys are computed between two yields. */
const atOnceBytes = 256 * 1024
/** Longer texts are hashed separately, in slices. A row that contains one exceeds `atOnceBytes`. */
const longText = atOnceBytes / 2

/** A key for each row. Rows have equal keys if they agree in everything that a question may use. */
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

/** Questions do not depend on the id, the group or the flags. */
function comparedOf({ sample, earlier }: CallRow): object {
  const { id: _id, group: _group, flags: _flags, ...rest } = sample
  return { ...rest, earlier }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Replaces each long text by its hash, with a prefix so that no other text collides with it. */
function* keyOfLarge(value: object): Generator<void, string> {
  const hashes = new Map<string, string>()
  for (const text of longTexts(value)) hashes.set(text, yield* longHash('', text, 'utf16le'))
  return hashes.size === 0
    ? digest(canonicalJson(value))
    : `long ${digest(canonicalJson(value, (text) => (text.length > longText ? `#${hashes.get(text)}` : `=${text}`)))}`
}

/** The distinct long texts of a value; field names do not count. */
function longTexts(value: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string') {
    if (value.length > longText) found.add(value)
  } else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) longTexts(inner, found)
  return found
}
