import { GatewayError } from '../../core/errors.ts'
import type { Failure, Json, Sample, Unreadable } from '../../core/sample/sample.ts'
import { permutation, seeded } from '../../core/statistics/random.ts'
import { badSample } from '../../trainers/native.ts'
import { eachRow, type Fields, isObject, type RawRow } from './row.ts'
import { openRows } from './rows.ts'
import { samplesOf } from './samples.ts'

/** A row of a data set as a sample with an empty response. `index` counts the file's rows from 0. */
export interface PromptRow {
  readonly index: number
  readonly row: Sample | Unreadable
  /** The functions that the policy may call: the row's `tools`. */
  readonly tools?: readonly Json[]
}

interface PromptRows extends AsyncIterable<PromptRow> {
  readonly count: number
}

interface PromptChoice {
  /** The maximum number of rows. null: all rows. */
  readonly limit: number | null
  /** Shuffles the rows before `limit` is applied. null: keeps the order of the file. */
  readonly shuffleSeed: number | null
  /** The model steps whose `rm_prompt_<i>` columns are read. */
  readonly modelSteps: readonly string[]
}

/**
 * Reads the rows of a file as prompts and ignores their responses. Reads the file twice and holds shuffled
 * rows in memory. Throws RG_INPUT_INVALID.
 */
export async function promptRows(
  path: string,
  stdin: NodeJS.ReadableStream,
  { limit, shuffleSeed, modelSteps }: PromptChoice,
): Promise<PromptRows> {
  if (path === '-')
    throw new GatewayError('RG_INPUT_INVALID', 'data must be a file, because it is read twice')
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

/** What a row says of its response. */
const ofResponse: readonly string[] = [
  'responses',
  'status',
  'tokens',
  'policy_version',
  'environment',
  'tools',
]

function promptOf(raw: RawRow, index: number, modelSteps: readonly string[]): PromptRow {
  const { value } = raw
  const row = Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(([name]) => !ofResponse.includes(name)),
  )
  const blank = 'output' in row ? { ...row, output: '' } : { ...row, response: '' }
  const [read] = samplesOf(isObject(value) ? { ...raw, value: blank } : raw, index, modelSteps)
  if (!read || 'failure' in read) return { index, row: read ?? badSample(String(index), 'no sample') }
  if (read.prompt.length === 0) return { index, row: badSample(String(index), 'prompt: is missing or empty') }
  const failure = beyondText(read.prompt)
  if (failure) return { index, row: { id: read.id, failure } }
  const tools = isObject(value) ? toolsOf(value.tools) : null
  if (tools === 'bad')
    return { index, row: badSample(read.id, 'tools: expected a list of functions, or its JSON') }
  if (tools && typeof read.prompt === 'string')
    return {
      index,
      row: badSample(read.id, 'tools: the prompt must be messages, because a plain text takes no tools'),
    }
  return tools ? { index, row: read, tools } : { index, row: read }
}

/** The tools of a row, as a list or as its JSON text. null if there are none. */
function toolsOf(value: unknown): readonly Json[] | 'bad' | null {
  if (value === undefined || value === null || value === '') return null
  try {
    const list: unknown = typeof value === 'string' ? JSON.parse(value) : value
    if (!Array.isArray(list) || !list.every(isObject)) return 'bad'
    return list.length === 0 ? null : list.map(functionOf)
  } catch {
    return 'bad'
  }
}

/** Data sets also list bare functions. */
const functionOf = (tool: Fields): Json =>
  ('function' in tool ? tool : { type: 'function', function: tool }) as Json

/** Why the policy cannot be asked; null if it can be. A prompt with an image or a tool call would be another prompt without it. */
export function beyondText(prompt: Sample['prompt']): Failure | null {
  if (typeof prompt === 'string') return null
  const at = prompt.findIndex(({ parts }) => parts)
  if (at < 0) return null
  return {
    kind: 'unseen_content',
    retryable: false,
    detail: `prompt.${at} has a part that is no text, and the policy is asked with texts only`,
  }
}
