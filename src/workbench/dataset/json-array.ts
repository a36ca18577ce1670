import type { Readable } from 'node:stream'
import { type RawRow, rowOf } from './row-source.ts'

const longestItem = 64 * 1024 * 1024

/** The items of one JSON array as they come, each the text between two commas of the array itself. Throws Error. */
export async function* arrayItems(stream: Readable): AsyncGenerator<readonly RawRow[]> {
  const cut = new ItemCutter()
  stream.setEncoding('utf8')
  for await (const piece of stream) {
    const items = cut.add(String(piece))
    if (items.length > 0) yield items.map(rowOf)
  }
  if (!cut.isAtEnd) throw new Error('the array does not end')
}

class ItemCutter {
  #rest = ''
  #at = 0
  #depth = 0
  #isInText = false

  get isAtEnd(): boolean {
    return this.#depth === 0
  }

  /** The items that this piece completes. */
  add(piece: string): readonly string[] {
    const text = this.#rest + piece
    const items: string[] = []
    let start = 0
    const end = (at: number) => {
      const item = text.slice(start, at).trim()
      if (item !== '') items.push(item)
      start = at + 1
    }
    let at = this.#at
    for (; at < text.length; at++) {
      const character = text[at]
      if (this.#isInText) {
        if (character === '\\') at++
        else if (character === '"') this.#isInText = false
      } else if (character === '"') this.#isInText = true
      else if (character === '[' || character === '{') {
        if (this.#depth++ === 0) start = at + 1
      } else if (character === ']' || character === '}') {
        if (--this.#depth === 0) end(at)
      } else if (character === ',' && this.#depth === 1) end(at)
    }
    this.#rest = text.slice(start)
    // A backslash at the very end hides the character that comes next.
    this.#at = at - start
    if (this.#rest.length > longestItem) throw new Error('an item is longer than 64 MiB')
    return items
  }
}
