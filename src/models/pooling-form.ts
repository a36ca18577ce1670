import { Fault } from './fault.ts'
import { usage } from './openai-form.ts'
import { garbled, isNumbers, itemsOf, type JsonObject } from './reply.ts'
import type { Reading } from './work.ts'

/** Reads one entry of `data`. Throws Fault. */
type ReadItem = (item: JsonObject) => unknown

/** The number of one class: of `probs`, `score`, or the last row of pooled `data`. */
export function classItem(label: number | undefined): ReadItem {
  return (item) => {
    const { probs, score, data } = item
    const numbers = probs ?? (score === undefined ? lastRow(data) : [score])
    if (!isNumbers(numbers)) throw garbled('a score is not a number')
    if (numbers.length > 1 && label === undefined && probs !== undefined)
      throw new Fault(
        'judge_rejected',
        'the model has several classes: classify.label says which one counts',
        {
          remedy: 'give-up',
          blame: false,
        },
      )
    const value = numbers.at(label ?? -1)
    if (value === undefined) throw garbled('no such class')
    return value
  }
}

/** One number a step. */
export function stepItem(column: number): ReadItem {
  return ({ data }) => {
    if (isNumbers(data)) return data
    if (!Array.isArray(data)) throw garbled('steps are not a list')
    return data.map((row: unknown) => {
      const value = isNumbers(row) ? row.at(column) : undefined
      if (value === undefined) throw garbled('a step is not a number')
      return value
    })
  }
}

/** The embedding of one text. */
export const vectorItem: ReadItem = ({ embedding }) => {
  if (!isNumbers(embedding) || embedding.length === 0) throw garbled('an embedding is not a vector')
  return embedding
}

const lastRow = (data: unknown): unknown =>
  Array.isArray(data) && Array.isArray(data.at(-1)) ? data.at(-1) : data

/** The answers of a list reply whose questions took so many entries each; what is wrong with one harms no other. */
export function readItems(
  body: JsonObject,
  counts: readonly (number | 'one')[],
  read: ReadItem,
): (Reading<unknown> | Fault)[] {
  const total = counts.reduce<number>((sum, count) => sum + (count === 'one' ? 1 : count), 0)
  const items = itemsOf(body.data, total)
  const tokens = usage(body)
  const prompt = Math.round(tokens.prompt / counts.length)
  const completion = Math.round(tokens.completion / counts.length)
  let at = 0
  return counts.map((count) => {
    const own = items.slice(at, at + (count === 'one' ? 1 : count))
    at += own.length
    try {
      const answer = count === 'one' ? read(own[0] as JsonObject) : own.map(read)
      return { answer, prompt, completion }
    } catch (error) {
      if (error instanceof Fault) return error
      throw error
    }
  })
}
