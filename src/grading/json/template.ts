/** JSON whose texts hold placeholders. Values are put in as JSON values, so that none can leave its text. */

import { memoizeByObject } from '../../core/memoize.ts'
import type { Json } from '../../core/sample/sample.ts'
import { type Pointer, readPointer } from './pointer.ts'

/** `{extra./tests/0?}` as it is read: a name, where in its value, and whether it may be missing. */
export interface Placeholder {
  readonly name: string
  /** Empty: the whole value. */
  readonly pointer: Pointer
  readonly isOptional: boolean
  /** As it was written, with its braces. */
  readonly written: string
}

/** A template that was read. */
export interface JsonTemplate {
  readonly placeholders: readonly Placeholder[]
  /**
   * A text that is one placeholder becomes its value, of any type; a placeholder within a text becomes text. Throws what
   * `lookUp` throws, and calls `refuse` for a value within a text that is neither text, number nor boolean.
   */
  fill(lookUp: (placeholder: Placeholder) => Json, refuse: (placeholder: Placeholder) => never): Json
}

type Piece = string | Placeholder
type Filled = (
  lookUp: (placeholder: Placeholder) => Json,
  refuse: (placeholder: Placeholder) => never,
) => Json

/**
 * Reads a template: `{name}`, `{name./pointer}`, either with `?` before the brace if it may be missing; `{{` and `}}` are
 * braces. Keys are never filled. Each object is read once. Throws an Error that names what is wrong.
 */
export const jsonTemplate = memoizeByObject((template: Readonly<Record<string, Json>>): JsonTemplate => {
  const placeholders: Placeholder[] = []
  const fill = compiled(template, placeholders)
  return { placeholders, fill }
})

function compiled(value: Json, found: Placeholder[]): Filled {
  if (typeof value === 'string') return compiledText(value, found)
  if (typeof value !== 'object' || value === null) return () => value
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).map((item) => compiled(item, found))
    return (lookUp, refuse) => items.map((item) => item(lookUp, refuse))
  }
  const entries = Object.entries(value).map(([key, item]) => [key, compiled(item, found)] as const)
  // Object.fromEntries defines names such as __proto__ instead of setting them.
  return (lookUp, refuse) => Object.fromEntries(entries.map(([key, item]) => [key, item(lookUp, refuse)]))
}

function compiledText(text: string, found: Placeholder[]): Filled {
  const pieces = piecesOf(text)
  for (const piece of pieces) if (typeof piece !== 'string') found.push(piece)
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined && typeof only !== 'string') return (lookUp) => lookUp(only)
  return (lookUp, refuse) =>
    pieces
      .map((piece) => {
        if (typeof piece === 'string') return piece
        const value = lookUp(piece)
        return typeof value === 'object' ? refuse(piece) : String(value)
      })
      .join('')
}

const placeholder = /^\{([a-z][a-z_]*(?:\.[a-z_]+)*)(?:\.(\/[^{}?]*))?(\?)?\}/

function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let literal = ''
  for (let at = 0; at < text.length; ) {
    const char = text[at] as string
    if ((char === '{' || char === '}') && text[at + 1] === char) {
      literal += char
      at += 2
    } else if (char === '{') {
      const [written, name = '', pointer = '', mark] = placeholder.exec(text.slice(at, at + longest)) ?? []
      const read = readPointer(pointer)
      if (written === undefined || read === null)
        throw new Error(`${shown(text.slice(at))} is no placeholder; write {{ for a brace`)
      if (literal !== '') pieces.push(literal)
      literal = ''
      pieces.push({ name, pointer: read, isOptional: mark !== undefined, written })
      at += written.length
    } else {
      literal += char
      at += 1
    }
  }
  if (literal !== '') pieces.push(literal)
  return pieces
}

const longest = 400

const shown = (text: string): string => (text.length > 40 ? `'${text.slice(0, 40)}…'` : `'${text}'`)
