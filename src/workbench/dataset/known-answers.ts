import type { Sample } from '../../core/sample/sample.ts'
import { type Fields, isObject, valueAt } from './fields.ts'
import type { RawRow } from './row-source.ts'
import { samplesOf } from './sample-rows.ts'

/** A row with the answers that are known to it. */
export interface KnownAnswers {
  readonly row: Fields
  /** With the right answer as its response, else with one of no content. */
  readonly sample: Sample
  /** The right answer; null: the row has none. */
  readonly gold: string | null
  /** Wrong answers in the right form. */
  readonly nearMisses: readonly string[]
}

/** An answer of no content. */
export const ignorance = 'I do not know.'

const usualPath = 'extra_info.answer'

/**
 * Reads a row, the `index`-th of its file; a text says why it is none. The right answer stands at `goldPath`; null:
 * `extra_info.answer`, else the response. Wrong ones stand in `near_miss`, in the row or in its extra_info.
 */
export function knownAnswers(
  { value, oddities }: RawRow,
  index: number,
  modelSteps: readonly string[],
  goldPath: string | null,
): KnownAnswers | string {
  if (value === undefined) return 'the line is no JSON'
  if (!isObject(value)) return 'the row is no object'
  const { near_miss: own, responses: _, response, output: __, ...row } = value
  const gold = textOf(valueAt(value, goldPath ?? usualPath)) ?? (goldPath === null ? textOf(response) : null)
  const nearMisses = [own ?? valueAt(row, 'extra_info.near_miss') ?? []].flat()
  if (!nearMisses.every((one) => typeof one === 'string')) return 'near_miss is not a text or a list of texts'
  const [sample] = samplesOf({ value: { ...row, response: gold ?? ignorance }, oddities }, index, modelSteps)
  if (!sample || 'failure' in sample) return sample?.failure.detail ?? 'the row is no sample'
  return { row, sample, gold, nearMisses }
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : null
