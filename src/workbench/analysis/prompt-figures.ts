import { majorityAnswer, passAtK } from '../../core/statistics/accuracy.ts'
import { binaryEntropy, mean } from '../../core/statistics/summary.ts'
import type { AnsweredPrompt, ScoredAnswer } from './answered-prompts.ts'

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
