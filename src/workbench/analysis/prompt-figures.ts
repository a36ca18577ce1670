import { createHash } from 'node:crypto'
import { GatewayError } from '../../core/errors.ts'
import { majorityAnswer, passAtK } from '../../core/statistics/accuracy.ts'
import { binaryEntropy, mean } from '../../core/statistics/summary.ts'
import { eachRow, type Fields, isObject } from '../dataset/row.ts'
import { openRows } from '../dataset/rows.ts'

/** A scored answer. null: there is no value, or the file does not have it. */
export interface ScoredAnswer {
  readonly run: number
  readonly reward: number | null
  /** In UTF-16 units. */
  readonly length: number | null
  readonly tokens: number | null
  readonly isTruncated: boolean
  /** The answer that the reward extracted. null: it found none. undefined: the reward does not report it. */
  readonly extracted: string | null | undefined
}

/** A row of a data set with its answers in file order. */
export interface AnsweredPrompt {
  /** Identifies the row in every file that answers the same data. */
  readonly key: string
  /** Equal for rows with the same prompt. */
  readonly cluster: string
  readonly source: string
  readonly answers: readonly ScoredAnswer[]
}

/**
 * Groups the lines of a scored file by row, in order of first appearance. Throws RG_INPUT_INVALID if it has
 * no results.
 */
export async function answeredPrompts(
  path: string,
  stdin: NodeJS.ReadableStream,
): Promise<readonly AnsweredPrompt[]> {
  const prompts = new Map<string, AnsweredPrompt & { readonly answers: ScoredAnswer[] }>()
  let line = 0
  for await (const { value } of eachRow(await openRows(path, stdin))) {
    line++
    if (!isObject(value) || !('valid' in value) || !('terms' in value))
      throw new GatewayError('RG_INPUT_INVALID', `${path}: line ${line} is not a result of evaluate or score`)
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
  if (prompts.size === 0) throw new GatewayError('RG_INPUT_INVALID', `${path}: has no rows`)
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

/** Reads the first term that reports an extracted answer. */
function extractedOf(terms: unknown): string | null | undefined {
  for (const term of isObject(terms) ? Object.values(terms) : []) {
    const details = isObject(term) && isObject(term.details) ? term.details : {}
    if (!Object.hasOwn(details, 'extracted')) continue
    const { extracted } = details
    return extracted === null ? null : typeof extracted === 'string' ? extracted : JSON.stringify(extracted)
  }
  return undefined
}

/** The figures of a policy. Each is a mean over prompts. */
export const figureNames = [
  'mean',
  'pass1',
  'passK',
  'majK',
  'entropy',
  'length',
  'tokens',
  'truncated',
] as const
export type FigureName = (typeof figureNames)[number]

/** Figures that are shares. */
export const shares: ReadonlySet<FigureName> = new Set(['pass1', 'passK', 'majK', 'truncated'])

/** How the figures of a prompt are defined. */
export interface FigureOptions {
  /** The k of pass@k and maj@k. */
  readonly k: number
  /** A reward of at least this counts as solved. */
  readonly solvedAt: number
  /** True if the reward reports extracted answers, which a majority vote needs. */
  readonly tellsAnswers: boolean
}

/** The figures of one prompt. null if it has too few valid answers. */
export function figuresOf(
  answers: readonly ScoredAnswer[],
  { k, solvedAt, tellsAnswers }: FigureOptions,
): Readonly<Record<FigureName, number | null>> {
  const valid = answers.filter(({ reward }) => reward !== null)
  const rewards = valid.map(({ reward }) => reward as number)
  const n = valid.length
  const solved = rewards.filter((reward) => reward >= solvedAt).length
  const average = n === 0 ? null : mean(rewards)
  return {
    mean: average,
    pass1: n === 0 ? null : solved / n,
    passK: n < k ? null : passAtK(n, solved, k),
    majK: tellsAnswers && n > 0 ? majorityOf(valid, k, solvedAt) : null,
    entropy: average === null ? null : binaryEntropy(average),
    length: meanOf(valid.map(({ length }) => length)),
    tokens: meanOf(valid.map(({ tokens }) => tokens)),
    truncated: n === 0 ? null : valid.filter(({ isTruncated }) => isTruncated).length / n,
  }
}

/** True if a reward reported an extracted answer. */
export const tellAnswers = (prompts: readonly AnsweredPrompt[]): boolean =>
  prompts.some(({ answers }) => answers.some(({ extracted }) => extracted !== undefined))

/**
 * The share of runs whose most frequent answer among the first k is solved. Answers without an extracted
 * value do not vote.
 */
function majorityOf(valid: readonly ScoredAnswer[], k: number, solvedAt: number): number {
  const runs = [...new Set(valid.map(({ run }) => run))]
  const isRight = (run: number): boolean => {
    const first = valid.filter((answer) => answer.run === run).slice(0, k)
    const voters = first.filter(({ extracted }) => extracted != null)
    const chosen =
      voters[
        majorityAnswer(
          voters.map(({ extracted }) => extracted ?? ''),
          k,
        )
      ]
    return (chosen?.reward ?? Number.NEGATIVE_INFINITY) >= solvedAt
  }
  return runs.filter(isRight).length / runs.length
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : mean(known)
}
