import { GatewayError } from '../../core/errors.ts'
import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import { permutation, seeded } from '../../core/statistics/random.ts'
import { badSample } from '../../trainers/native-sample.ts'
import { eachRow, isObject, type RawRow } from './row.ts'
import { openRows } from './rows.ts'
import { samplesOf } from './samples.ts'

/** A row that nobody has answered yet: a sample with an empty response. `index` counts the file's rows from 0. */
export interface PromptRow {
  readonly index: number
  readonly row: Sample | Unreadable
}

/** The chosen rows of a data set. */
interface PromptRows extends AsyncIterable<PromptRow> {
  readonly count: number
}

/** Which rows, in which order. */
interface PromptChoice {
  /** So many at most; null: all. */
  readonly limit: number | null
  /** The order is shuffled before the limit cuts it; null: as the file has it. */
  readonly shuffleSeed: number | null
  /** Whose `rm_prompt_<i>` columns are read. */
  readonly modelSteps: readonly string[]
}

/**
 * The rows of a file as prompts; responses that it has are left aside. The file is read twice, and shuffled rows are held
 * in memory. Throws RG_INPUT_INVALID.
 */
export async function promptRows(
  path: string,
  stdin: NodeJS.ReadableStream,
  { limit, shuffleSeed, modelSteps }: PromptChoice,
): Promise<PromptRows> {
  if (path === '-') throw new GatewayError('RG_INPUT_INVALID', 'data is read twice: it must be a file')
  const total = await countOf(path, stdin)
  const count = Math.min(limit ?? total, total)
  async function* inOrder(): AsyncGenerator<PromptRow> {
    let index = 0
    for await (const raw of eachRow(await openRows(path, stdin))) {
      if (index >= count) return
      yield promptOf(raw, index++, modelSteps)
    }
  }
  async function* shuffled(seed: number): AsyncGenerator<PromptRow> {
    const chosen = permutation(total, seeded(seed)).slice(0, count)
    const placeOf = new Map(chosen.map((index, place) => [index, place]))
    const rows = new Array<PromptRow>(count)
    let index = 0
    for await (const raw of eachRow(await openRows(path, stdin))) {
      const place = placeOf.get(index)
      if (place !== undefined) rows[place] = promptOf(raw, index, modelSteps)
      index++
    }
    yield* rows
  }
  return {
    count,
    [Symbol.asyncIterator]: () => (shuffleSeed === null ? inOrder() : shuffled(shuffleSeed)),
  }
}

async function countOf(path: string, stdin: NodeJS.ReadableStream): Promise<number> {
  let count = 0
  for await (const piece of await openRows(path, stdin)) count += piece.length
  return count
}

function promptOf(raw: RawRow, index: number, modelSteps: readonly string[]): PromptRow {
  const { value } = raw
  const { responses: _responses, ...row } = isObject(value) ? value : {}
  const blank = 'output' in row ? { ...row, output: '' } : { ...row, response: '' }
  const [read] = samplesOf(isObject(value) ? { ...raw, value: blank } : raw, index, modelSteps)
  if (!read || 'failure' in read || read.prompt.length > 0)
    return { index, row: read ?? badSample(String(index), 'no sample') }
  return { index, row: badSample(String(index), 'prompt: is missing or empty') }
}
