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

/**
 * Begins the works one after the other, at most `most` ahead of the one whose result is awaited, and hands the results to
 * `take` in the order of their beginnings. What fails or is aborted ends it once nothing is under way any more.
 */
export async function inOrder<T>(
  works: AsyncIterable<() => Promise<T>>,
  most: number,
  signal: AbortSignal,
  take: (result: T) => Promise<void>,
): Promise<void> {
  const underWay: Promise<T>[] = []
  const takeFirst = async () => {
    const first = underWay.shift()
    if (first !== undefined) await take(await first)
  }
  try {
    for await (const begin of works) {
      signal.throwIfAborted()
      const work = begin()
      // It is awaited in its turn; until then a rejection is no crash.
      work.catch(() => undefined)
      underWay.push(work)
      if (underWay.length >= most) await takeFirst()
    }
    while (underWay.length > 0) await takeFirst()
    signal.throwIfAborted()
  } catch (error) {
    await Promise.allSettled(underWay)
    throw error
  }
}
