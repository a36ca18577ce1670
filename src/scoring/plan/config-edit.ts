import { Scalar } from 'yaml'

/** A piece of a text and what goes in its place. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The text with all edits made, which do not overlap. */
export function edited(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end, text: by } of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(text.slice(from, start), by)
    from = end
  }
  return parts.join('') + text.slice(from)
}

/** A word with the quotes of the first of these that has some: JSON stays JSON. */
export function quotedAs(word: string, ...likes: readonly Scalar[]): string {
  const { type } =
    likes.find((one) => one.type === Scalar.QUOTE_DOUBLE || one.type === Scalar.QUOTE_SINGLE) ?? {}
  if (type === Scalar.QUOTE_DOUBLE) return JSON.stringify(word)
  return type === Scalar.QUOTE_SINGLE ? `'${word}'` : word
}

/** Another name in the place of a key. */
export const renamedKey = (key: Scalar, name: string): Edit => {
  const [start, end] = key.range ?? [0, 0]
  return { start, end, text: quotedAs(name, key) }
}
