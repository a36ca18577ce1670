/** Questions for decision models: what such a model is asked, and what its answer says. */

import type { Prompt } from './prompt.ts'

/** One of several named answers. */
export interface DecisionOption {
  readonly name: string
  readonly description?: string
}

/** The answers that a question allows: yes or no, one of 2 to 255 options, or one of 2 to 10 levels from worst to best. */
export type DecisionAnswers =
  | { readonly yesno: { readonly yes?: string; readonly no?: string } }
  | { readonly choice: readonly DecisionOption[] }
  | { readonly levels: readonly string[] }

/** A question with its answers, without what it is about. All of it is the author's, except with `rowTexts`. */
export interface DecisionQuestion {
  readonly question: string
  readonly as: DecisionAnswers
  /**
   * Whether texts of the row stand in it that no policy wrote, such as a criterion. true: the guard breaks in them what could
   * pose as structure. false: all rows are asked the same. If absent: the gateway looks for texts of the row that a policy may
   * have written, and flags `unguarded`.
   */
  readonly rowTexts?: boolean
}

/**
 * A question about a text. Questions with the same `about` share a request, up to the limit of the server.
 *
 * @example
 * ```ts
 * import { defineModelReward, prompt, questionText } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineModelReward({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   ask: 'decide',
 *   rm_preprocess: ({ sample }) => ({
 *     about: prompt`Question: ${questionText(sample)}\nAnswer: ${sample.response}`,
 *     question: 'How polite is the answer?',
 *     as: { levels: ['rude', 'neutral', 'polite'] },
 *   }),
 *   rm_postprocess: ({ expected }) => expected,
 * })
 * ```
 */
export interface Decision extends DecisionQuestion {
  /** The data that is judged. Only its values may hold text of the sample. */
  readonly about: Prompt
}

/** What a decision model says. */
export interface Decided {
  /** In the author's order; [yes, no] for a yes/no question. They sum to 1. */
  readonly probabilities: readonly number[]
  /** P(yes), or else the mean of index / (n - 1), weighted by probability: 0 for the first answer, 1 for the last. */
  readonly expected: number
  /** The probability of all answers together before they were made to sum to 1; null if the server does not say. */
  readonly mass: number | null
}

/** The answers by name, in the author's order. */
export function answerNames(as: DecisionAnswers): readonly string[] {
  if ('yesno' in as) return ['yes', 'no']
  return 'choice' in as ? as.choice.map(({ name }) => name) : as.levels
}

/** All texts of a question, which are the author's. */
export const decisionTexts = ({ question, as }: DecisionQuestion): readonly string[] => [
  question,
  ...('yesno' in as
    ? Object.values(as.yesno)
    : 'choice' in as
      ? as.choice.flatMap(({ name, description = '' }) => [name, description])
      : as.levels),
]

const mostOptions = 255
const mostLevels = 10
/** Characters of a question with its answers. */
const longestQuestion = 262_144

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const lineBreaks = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** What is wrong with a question for a decision model, for messages; null: nothing. */
export function decisionFault({ question, as }: DecisionQuestion): string | null {
  const isTooLong = decisionTexts({ question, as }).reduce((sum, { length }) => sum + length, 0)
  if (isTooLong > longestQuestion) return `a question of over ${longestQuestion} characters`
  if (question.trim() === '') return 'a question without text'
  if ('yesno' in as) return null
  const [what, most] = 'choice' in as ? ['options', mostOptions] : ['levels', mostLevels]
  const names = answerNames(as)
  if (names.length < 2 || names.length > most) return `${names.length} ${what}; there are 2 to ${most}`
  if (names.some((name) => name.trim() === '')) return `one of the ${what} is empty`
  if ('choice' in as && names.some((name) => lineBreaks.test(name)))
    return 'the name of an option has a line break or a control character'
  // Servers refuse names that differ only in case.
  if (new Set(names.map((name) => name.trim().toLowerCase())).size < names.length)
    return `two of the ${what} are the same`
  return null
}

const lineEnds = /[\n\r\v\f\u0085\u2028\u2029]/

/** A text in one line. */
export const inOneLine = (text: string): string =>
  text
    .split(lineEnds)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')

/** A text none of whose lines but the first begins where a line begins, so that it looks like no other part of a question. */
export const indented = (text: string): string => text.split(lineEnds).join('\n  ')

/** P(yes), or how far along the answers the probabilities lie. They sum to 1. */
export function expectedOf(as: DecisionAnswers, probabilities: readonly number[]): number {
  if ('yesno' in as) return probabilities[0] ?? Number.NaN
  const last = probabilities.length - 1
  const sum = probabilities.reduce((total, probability, at) => total + probability * at, 0)
  return Math.min(1, sum / last)
}
