import { type NonJsonLiteral, parseJsonText } from '../../core/json/text.ts'

/** A row as the file has it. `value` is undefined if the line is not JSON. */
export interface RawRow {
  readonly value: unknown
  readonly literals: readonly NonJsonLiteral[]
}

/** The rows of a file in order, in small pieces. Can be read once. */
export interface RowSource extends AsyncIterable<readonly RawRow[]> {
  /** The share whose rows were yielded, from 0 to 1: not what is read ahead of them. null if the length is unknown. */
  fraction(): number | null
  /** The columns that cannot be read. */
  readonly leftOut?: readonly string[]
}

/** Parses a line. The result's `value` is undefined if it is not JSON. */
export function rowOf(text: string): RawRow {
  try {
    return parseJsonText(text)
  } catch {
    return { value: undefined, literals: [] }
  }
}

/** Yields single rows. Closes the file if the loop ends early. */
export async function* eachRow(source: AsyncIterable<readonly RawRow[]>): AsyncGenerator<RawRow> {
  for await (const piece of source) yield* piece
}

export type Fields = Readonly<Record<string, unknown>>

/** True for an object that is not an array. */
export const isObject = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * The value at a path such as `extra_info.answer`. undefined if there is none. Inherited properties are
 * ignored.
 */
export const valueAt = (row: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      row,
    )
