import type { ParsedReply } from '../transport/reply.ts'
import { checkNoError, itemsOf, type JsonObject } from '../transport/reply.ts'
import { orFault, type UpstreamError } from '../transport/upstream-error.ts'

/** Reads one entry of a list, which belongs to the question at `at`. Throws UpstreamError. */
export type ReadItem = (item: JsonObject, at: number) => unknown

/** How many entries of the list each question has; `one`: an entry that is the answer itself. */
export type Counts = readonly (number | 'one')[]

/** The answers that a list holds; what is wrong with one harms no other. Tokens are shared out evenly. */
export function readItems(
  list: unknown,
  tokens: { readonly prompt: number; readonly completion: number },
  counts: Counts,
  read: ReadItem,
): (ParsedReply<unknown> | UpstreamError)[] {
  const total = counts.reduce<number>((sum, count) => sum + (count === 'one' ? 1 : count), 0)
  const items = itemsOf(list, total)
  const prompt = Math.round(tokens.prompt / counts.length)
  const completion = Math.round(tokens.completion / counts.length)
  let next = 0
  return counts.map((count, at) => {
    const own = items.slice(next, next + (count === 'one' ? 1 : count))
    next += own.length
    return orFault(() => {
      own.forEach(checkNoError)
      return {
        answer: count === 'one' ? read(own[0] as JsonObject, at) : own.map((item) => read(item, at)),
        prompt,
        completion,
      }
    })
  })
}
