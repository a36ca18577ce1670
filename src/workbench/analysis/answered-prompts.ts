import { createHash } from 'node:crypto'
import { GatewayError } from '../../core/errors.ts'
import { type Fields, isObject } from '../dataset/fields.ts'
import { openRows } from '../dataset/open-rows.ts'
import { eachRow } from '../dataset/row-source.ts'

/** One scored answer. null: there is none, or the file does not say. */
export interface ScoredAnswer {
  readonly run: number
  readonly reward: number | null
  /** UTF-16 units. */
  readonly length: number | null
  readonly tokens: number | null
  readonly isTruncated: boolean
  /** What the reward read as the answer; null: nothing; undefined: the reward does not tell. */
  readonly extracted: string | null | undefined
}

/** A row of a data set with its answers, in the order of the file. */
export interface AnsweredPrompt {
  /** Names the row in every file that answers the same data. */
  readonly key: string
  /** Equal for rows with the same prompt. */
  readonly cluster: string
  readonly source: string
  readonly answers: readonly ScoredAnswer[]
}

/** The rows of a scored file, by their first appearance. Throws RG_INPUT_INVALID where it holds no results. */
export async function answeredPrompts(
  path: string,
  stdin: NodeJS.ReadableStream,
): Promise<readonly AnsweredPrompt[]> {
  const prompts = new Map<string, AnsweredPrompt & { readonly answers: ScoredAnswer[] }>()
  let line = 0
  for await (const { value } of eachRow(await openRows(path, stdin))) {
    line++
    if (!isObject(value) || !('valid' in value) || !('terms' in value))
      throw new GatewayError('RG_INPUT_INVALID', `${path}: line ${line} is no result of evaluate or score`)
    const sample = isObject(value.sample) ? value.sample : {}
    const key = String(sample.row ?? sample.group_id ?? value.id)
    let prompt = prompts.get(key)
    if (!prompt) {
      const cluster = sample.prompt === undefined ? key : hashOf(sample.prompt)
      prompt = { key, cluster, source: String(sample.data_source ?? ''), answers: [] }
      prompts.set(key, prompt)
    }
    prompt.answers.push(answerOf(value, sample))
  }
  if (prompts.size === 0) throw new GatewayError('RG_INPUT_INVALID', `${path}: holds no rows`)
  return [...prompts.values()]
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

const hashOf = (prompt: unknown): string =>
  createHash('sha256').update(JSON.stringify(prompt)).digest('base64').slice(0, 22)

function answerOf(result: Fields, sample: Fields): ScoredAnswer {
  return {
    run: numberOf(sample.run) ?? 0,
    reward: result.valid === true ? numberOf(result.reward) : null,
    length: numberOf(sample.response_length),
    tokens: numberOf(sample.response_tokens),
    isTruncated: sample.finish_reason === 'length',
    extracted: extractedOf(result.terms),
  }
}

/** Of the first term that tells what it read. */
function extractedOf(terms: unknown): string | null | undefined {
  for (const term of isObject(terms) ? Object.values(terms) : []) {
    const details = isObject(term) && isObject(term.details) ? term.details : {}
    if (!Object.hasOwn(details, 'extracted')) continue
    const { extracted } = details
    return extracted === null ? null : typeof extracted === 'string' ? extracted : JSON.stringify(extracted)
  }
  return undefined
}
