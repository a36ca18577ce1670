import { type NonJsonLiteral, parseJsonText } from '../../core/json/text.ts'

/** One row as the file holds it; `value` is undefined where a line is no JSON. */
export interface RawRow {
  readonly value: unknown
  readonly literals: readonly NonJsonLiteral[]
}

/** The rows of a file in their order, a few at a time. To be read once. */
export interface RowSource extends AsyncIterable<readonly RawRow[]> {
  /** 0 to 1, of what has been read; null where the length is unknown. */
  fraction(): number | null
}

/** What a text says as JSON. */
export function rowOf(text: string): RawRow {
  try {
    return parseJsonText(text)
  } catch {
    return { value: undefined, literals: [] }
  }
}

/** The rows one by one; the file is closed where the loop is left early. */
export async function* eachRow(source: AsyncIterable<readonly RawRow[]>): AsyncGenerator<RawRow> {
  for await (const piece of source) yield* piece
}

/** What a row, or an object in it, holds by name. */
export type Fields = Readonly<Record<string, unknown>>

/** An object, but no list. */
export const isObject = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The value at a path such as `extra_info.answer`, of own fields; undefined where there is none. */
export const valueAt = (row: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      row,
    )
