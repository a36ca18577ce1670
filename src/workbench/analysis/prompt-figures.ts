import { createHash } from 'node:crypto'
import { GatewayError } from '../../core/errors.ts'
import { majorityAnswer, passAtK } from '../../core/statistics/accuracy.ts'
import { binaryEntropy, mean } from '../../core/statistics/summary.ts'
import { eachRow, type Fields, isObject } from '../dataset/row.ts'
import { openRows } from '../dataset/rows.ts'

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

/** What is said of a policy; each is a mean over prompts. */
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
/** One of them. */
export type FigureName = (typeof figureNames)[number]

/** Figures that are shares of prompts, or of each prompt's answers. */
export const shares: ReadonlySet<FigureName> = new Set(['pass1', 'passK', 'majK', 'truncated'])

/** How a prompt's answers are counted. */
export interface FigureOptions {
  /** Of pass@k and maj@k. */
  readonly k: number
  /** A reward of so much is solved. */
  readonly solvedAt: number
  /** Whether the reward tells what it read, so that a majority can be had. */
  readonly tellsAnswers: boolean
}

/** The figures of one prompt; null where its valid answers cannot say: none is there, or fewer than k. */
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

/** Whether one of these tells what its reward read as the answer. */
export const tellAnswers = (prompts: readonly AnsweredPrompt[]): boolean =>
  prompts.some(({ answers }) => answers.some(({ extracted }) => extracted !== undefined))

/** Share of runs whose most frequent answer among the first k is solved; one without an answer does not vote. */
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
