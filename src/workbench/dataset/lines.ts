import { createReadStream } from 'node:fs'
import { stat, truncate } from 'node:fs/promises'

/** The whole lines of a file: how many, where the last one ends and how long the longest is, in bytes. */
export async function linesOf(
  path: string,
): Promise<{ readonly count: number; readonly end: number; readonly longest: number }> {
  let [count, end, longest, length] = [0, 0, 0, 0]
  for await (const piece of createReadStream(path)) {
    const bytes = piece as Buffer
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
      count++
      longest = Math.max(longest, length + at + 1 - end)
      end = length + at + 1
    }
    length += bytes.length
  }
  return { count, end, longest }
}

/** Counts the lines; what a kill left of a last one is cut off. */
export async function wholeLines(path: string): Promise<number> {
  const { count, end } = await linesOf(path)
  if (end < (await stat(path)).size) await truncate(path, end)
  return count
}
