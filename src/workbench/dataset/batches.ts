import type { Sample, Unreadable } from '../../core/sample/sample.ts'

/** Groups whose rows stand together stay in one batch; a batch is this much longer for that at most. */
const longestFactor = 16

/** Rows in batches of `size` and a little more, of `most` at most, in their order. */
export async function* batchesOf<T extends { readonly row: Sample | Unreadable }>(
  rows: AsyncIterable<T>,
  size: number,
  most: number,
): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  const longest = Math.min(size * longestFactor, most)
  for await (const one of rows) {
    const last = batch.at(-1)
    const isWhole = batch.length >= size && !(last && areSiblings(last.row, one.row))
    if (isWhole || batch.length >= longest) {
      yield batch
      batch = []
    }
    batch.push(one)
  }
  if (batch.length > 0) yield batch
}

const areSiblings = (a: Sample | Unreadable, b: Sample | Unreadable): boolean => {
  const group = groupOf(a)
  return group !== null && group === groupOf(b)
}

/** What the answers to one prompt share; null for a row that could not be read. */
export function groupOf(row: Sample | Unreadable): string | null {
  if ('failure' in row) return null
  return row.group ? `id:${row.group.id}` : `prompt:${JSON.stringify(row.prompt)}`
}
