import type { ParsedReply } from '../transport/reply.ts'
import { isNumbers, type JsonObject, malformedReply, usage } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { type Counts, type ReadItem, readItems } from './items.ts'

/** The number of one class: of `probs`, `score`, or the last row of pooled `data`. */
export function classItem(label: number | undefined): ReadItem {
  return (item) => {
    const { probs, score, data, num_classes: classes } = item
    const numbers = probs ?? (score === undefined ? lastRow(data) : [score])
    if (!isNumbers(numbers)) throw malformedReply('a score is not a number')
    if (typeof classes === 'number' && probs !== undefined && classes !== numbers.length)
      throw malformedReply('not one number a class')
    if (numbers.length > 1 && label === undefined && probs !== undefined)
      throw new UpstreamError(
        'judge_rejected',
        'the model has several classes: classify.label says which one counts',
        {
          remedy: 'give-up',
          blame: false,
        },
      )
    const value = numbers.at(label ?? -1)
    if (value === undefined) throw malformedReply('no such class')
    return value
  }
}

/** One number a step. */
export function stepItem(column: number): ReadItem {
  return ({ data }) => {
    // The product of no steps is 1.
    if (Array.isArray(data) && data.length === 0) throw malformedReply('no steps')
    if (isNumbers(data)) return data
    if (!Array.isArray(data)) throw malformedReply('steps are not a list')
    return data.map((row: unknown) => {
      const value = isNumbers(row) ? row.at(column) : undefined
      if (value === undefined) throw malformedReply('a step is not a number')
      return value
    })
  }
}

/** The embedding of one text. */
const vectorItem: ReadItem = ({ embedding }) => {
  if (!isNumbers(embedding) || embedding.length === 0) throw malformedReply('an embedding is not a vector')
  return embedding
}

const lastRow = (data: unknown): unknown =>
  Array.isArray(data) && Array.isArray(data.at(-1)) ? data.at(-1) : data

/** What `data` holds for each question. */
export const readData = (
  body: JsonObject,
  counts: Counts,
  read: ReadItem,
): (ParsedReply<unknown> | UpstreamError)[] => readItems(body.data, usage(body), counts, read)

/** The embeddings of each question's texts. Throws UpstreamError where they come from spaces of several dimensions. */
export function readVectors(body: JsonObject, counts: Counts): (ParsedReply<unknown> | UpstreamError)[] {
  let dimensions: number | null = null
  return readData(body, counts, (item, at) => {
    const vector = vectorItem(item, at) as readonly number[]
    dimensions ??= vector.length
    if (vector.length !== dimensions) throw malformedReply('embeddings differ in length')
    return vector
  })
}
