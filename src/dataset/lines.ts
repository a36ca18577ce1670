import { createReadStream } from 'node:fs'

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
