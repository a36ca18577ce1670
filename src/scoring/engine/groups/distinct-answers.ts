import { eachInSlices, workInSlices } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { rowKeys } from './row-key.ts'

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
