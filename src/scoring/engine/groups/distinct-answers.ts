import { hash } from 'node:crypto'
import { longHash } from '../../../core/hash.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import { bytesOf, type Message, type Sample } from '../../../core/sample/sample.ts'
import { workInSlices } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { canonicalJson } from '../../plan/version.ts'

/** A group's distinct answers, and which of them each row is. */
interface Contestants {
  /** The number of distinct answers; one more than allowed if there are too many. */
  readonly count: number
  readonly rows: readonly CallRow[]
  /** For each row of the group, the index of its answer in `rows`. */
  readonly places: readonly number[]
}

/**
 * Merges equal answers into one contestant, so that they get the same score and are not compared with each other. The order
 * depends only on the answers, never on their positions in a request. The reading ends at the first answer beyond `most`; only
 * `count` is set then.
 */
export async function distinctAnswers(rows: readonly CallRow[], most: number): Promise<Contestants> {
  return workInSlices(contestantsOf(rows, most))
}

/** Distinguishes rows with equal answers, independently of arrival order. */
const nameOf = ({ sample }: CallRow): string => JSON.stringify([sample.group?.index ?? null, sample.id])

/** What tells two answers apart: all turns, not only the text of the last one. A rollout that is one text is its own key. */
export const answerKey = ({ response, turns }: Sample): string => (turns ? keyOfTurns(turns) : response)

const keyOfTurns = memoizeByObject((turns: readonly Message[]) => `turns ${digest(JSON.stringify(turns))}`)

/** Bytes of rows whose keys are computed between two yields. */
const atOnceBytes = 256 * 1024
/** Longer texts are hashed separately, in slices. A row that contains one exceeds `atOnceBytes`. */
const longText = atOnceBytes / 2

function* contestantsOf(rows: readonly CallRow[], most: number): Generator<void, Contestants> {
  const chosen = new Map<string, CallRow>()
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
    const key = own > atOnceBytes ? yield* keyOfLarge(compared) : digest(canonicalJson(compared))
    keys.push(key)
    const known = chosen.get(key)
    if (!known || nameOf(row) < nameOf(known)) chosen.set(key, row)
    if (chosen.size > most) return { count: chosen.size, rows: [], places: [] }
  }
  const order = [...chosen.keys()].sort()
  const places = new Map(order.map((key, place) => [key, place]))
  return {
    count: chosen.size,
    rows: order.map((key) => chosen.get(key) as CallRow),
    places: keys.map((key) => places.get(key) ?? 0),
  }
}

/** What distinguishes a row's answer: everything that a question may use, which is not its id, its group or its flags. */
function comparedOf({ sample, earlier }: CallRow): object {
  const { id: _id, group: _group, flags: _flags, ...rest } = sample
  return { ...rest, earlier }
}

const digest = (text: string): string => hash('sha256', text)

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
