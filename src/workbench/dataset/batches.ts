import type { Sample, Unreadable } from '../../core/sample/sample.ts'

/**
 * Adjacent rows of one group stay in one batch. A batch grows to at most this many times its size for that.
 */
const longestFactor = 16

/**
 * Yields rows in order, in batches of `size`. A batch is longer, up to `most` rows, to keep a group together.
 */
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

/** The key that all answers to one prompt share. null if the row is unreadable, or has neither a group nor a prompt. */
export function groupOf(row: Sample | Unreadable): string | null {
  if ('failure' in row) return null
  if (row.group) return `id:${row.group.id}`
  return row.prompt.length === 0 ? null : `prompt:${JSON.stringify(row.prompt)}`
}

/**
 * Starts the tasks in order, keeps at most `most` of them running, and passes their results to `take` in the
 * same order. If a task fails or `signal` aborts, waits for the running tasks and rejects.
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
      // Awaited in its turn. Without this handler, an earlier rejection would end the process.
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
