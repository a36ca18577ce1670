import type { RawRow } from '../dataset/raw-row.ts'
import { samplesOf } from '../dataset/sample-rows.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'

export type Row = Readonly<Record<string, unknown>>

/** A row of the data at its place, with the answers that are known to it. */
export interface Item {
  /** `12`, or `test.parquet:12` where there are several files; from 1. */
  readonly place: string
  readonly row: Row
  /** With the right answer as its response, where there is one. */
  readonly sample: Sample
  /** null: the row has none. */
  readonly gold: string | null
  readonly nearMisses: readonly string[]
}

/** An answer of no content. */
export const ignorance = 'I do not know.'

export const isObject = (value: unknown): value is Row =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** Reads a row; a text says why it is none. `goldPath` names the column of right answers, such as `extra_info.answer`. */
export function readItem(
  { value, oddities }: RawRow,
  place: string,
  modelSteps: readonly string[],
  goldPath: string | null,
): Item | string {
  if (value === undefined) return 'the line is no JSON'
  if (!isObject(value)) return 'the row is no object'
  const { near_miss: own, responses: _, response, output: __, ...row } = value
  const gold =
    textIn(value, goldPath) ?? (goldPath === null && typeof response === 'string' ? response : null)
  const extra = isObject(row.extra_info) ? row.extra_info : {}
  const [sample] = samplesOf({ value: { ...row, response: gold ?? ignorance }, oddities }, 0, modelSteps)
  if (!sample || isUnreadable(sample)) return sample?.failure.detail ?? 'the row is no sample'
  const nearMisses = [own ?? extra.near_miss ?? []].flat().filter((text) => typeof text === 'string')
  return { place, row, sample: { ...sample, id: place }, gold, nearMisses }
}

const isUnreadable = (row: Sample | Unreadable): row is Unreadable => 'failure' in row

const usualPath = 'extra_info.answer'

function textIn(row: Row, path: string | null): string | null {
  let value: unknown = row
  for (const name of (path ?? usualPath).split('.'))
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

/** The prompt's turns; a text is one of the user. */
export const turnsOf = ({ sample: { prompt } }: Item): readonly { role: string; content: string }[] =>
  typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
