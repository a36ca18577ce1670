import { type Oddity, parseJsonText } from '../wire/json-text.ts'

/** One row as the file holds it; `value` is undefined where a line is no JSON. */
export interface RawRow {
  readonly value: unknown
  readonly oddities: readonly Oddity[]
}

/** What a text says as JSON. */
export function rowOf(text: string): RawRow {
  try {
    return parseJsonText(text)
  } catch {
    return { value: undefined, oddities: [] }
  }
}
