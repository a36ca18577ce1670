/** Several questions of one reward: what rm_preprocess asks, and what became of each. */

import type { FailureKind, Score } from '../core/sample/sample.ts'
import type { Reply } from './asks.ts'
import { type Decision, type DecisionQuestion, decisionTexts } from './decision.ts'
import type { Prompt } from './prompt.ts'

interface Part {
  /** Those of a later stage are asked only while `combine` has not decided. Default: 0. */
  readonly stage?: number
  /**
   * What each score is about, or all of them, for the failure of a row that lacks it: `criterion 2`. No text of the row.
   */
  readonly names?: readonly string[]
  /**
   * The criterion that each score is of, or all of them, by a name that is the same in all rows: its verdicts are counted
   * in metrics. A tag of the options, or a digest. No text of the row.
   */
  readonly criteria?: readonly string[]
}

/** One of the questions. */
export interface PartQuestion extends Part {
  /** What follows the shared beginning. */
  readonly question: Prompt
  /** Constrains the model's output. If absent: the function's `reply`. */
  readonly reply?: Reply
  /** The number of scores that its answer gives. Default: 1; over a group, one a row. */
  readonly scores?: number
}

/** One of the questions to a decision model about a text. Its answer gives one score. */
export interface PartDecision extends Part, DecisionQuestion {}

/** The tasks of which several make one reward. */
export type PartAsk = 'generate' | 'decide'

/** What rm_preprocess asks: questions that share their beginning, which servers then need to read only once. */
export interface PartQuestions<A extends PartAsk = PartAsk> {
  /** The shared beginning, or what decisions are about. What differs belongs into the questions, and the response into this. */
  readonly about: Prompt
  /** At most 1024. */
  readonly questions: readonly (A extends 'decide' ? PartDecision : PartQuestion)[]
}

/** Whether a decision model is asked. */
export const isPartDecision = (part: PartQuestion | PartDecision): part is PartDecision => 'as' in part

/** A question as its model is asked it, with what it is about. */
export const askedPart = (about: Prompt, part: PartQuestion | PartDecision): Prompt | Decision =>
  isPartDecision(part) ? { about, ...decisionIn(part) } : wholeQuestion(about, part)

const decisionIn = ({ question, as, rowTexts }: PartDecision): DecisionQuestion => ({
  question,
  as,
  ...(rowTexts !== undefined && { rowTexts }),
})

/** Characters of a question, without what it is about. */
export const partLength = (part: PartQuestion | PartDecision): number =>
  (isPartDecision(part) ? decisionTexts(part) : part.question.values).reduce(
    (sum, { length }) => sum + length,
    0,
  )

/** What became of one score of a question, over all votes. */
export type Finding =
  | {
      readonly status: 'scored'
      readonly score: Score
      /** The number of votes behind it, and their population standard deviation. */
      readonly draws: number
      readonly spread: number
    }
  /** The judge did not answer, or its answer could not be read. */
  | { readonly status: 'missing'; readonly kind: FailureKind }
  | { readonly status: 'unasked' }

/** The whole question: the shared beginning, and what follows it. */
function wholeQuestion(about: Prompt, { question }: Pick<PartQuestion, 'question'>): Prompt {
  const shift = about.values.length
  const last = about.literals.length - 1
  const literals = [
    ...about.literals.slice(0, last),
    (about.literals[last] ?? '') + (question.literals[0] ?? ''),
    ...question.literals.slice(1),
  ]
  const shifted = (places: readonly number[] = []): readonly number[] => places.map((at) => at + shift)
  const mayBeEmpty = [...(about.mayBeEmpty ?? []), ...shifted(question.mayBeEmpty)]
  const images = [
    ...(about.images ?? []),
    ...(question.images ?? []).map(({ at, sha256 }) => ({ at: at + shift, sha256 })),
  ]
  const flags = [...(about.flags ?? []), ...(question.flags ?? [])]
  return {
    kind: 'prompt',
    literals,
    values: [...about.values, ...question.values],
    ...(mayBeEmpty.length > 0 && { mayBeEmpty }),
    ...(images.length > 0 && { images }),
    ...(flags.length > 0 && { flags }),
  }
}
