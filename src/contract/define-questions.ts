/** Rewards that ask a model several questions. */

import {
  type AsksGroupQuestions,
  type AsksQuestions,
  completed,
  type Declaration,
  type GroupQuestionsReward,
  type None,
  type QuestionsReward,
} from './define.ts'
import type { PartAsk } from './questions.ts'

/**
 * Defines a reward that asks a model several questions about each answer, and combines what they say.
 *
 * @example
 * ```ts
 * import { defineQuestionsReward, prompt } from 'reward-gateway/contract'
 * import { labelVerdict } from 'reward-gateway/grading'
 * import { z } from 'zod'
 *
 * export default defineQuestionsReward({
 *   truth: z.array(z.string()).min(1),
 *   range: [0, 1],
 *   ask: 'generate',
 *   reply: { choice: ['yes', 'no'] },
 *   rm_preprocess: ({ sample, truth }) => ({
 *     about: prompt`Answer: ${sample.response}\n\n`,
 *     questions: truth.map((fact) => ({ question: prompt`Does it say this? ${fact}\nReply yes or no.` })),
 *   }),
 *   rm_postprocess({ text }) {
 *     const said = labelVerdict(text, ['yes', 'no'])
 *     return said === null ? null : [said === 'yes' ? 1 : 0]
 *   },
 *   combine(found) {
 *     const scores = found.map(([one]) => (one?.status === 'scored' ? one.score.value : Number.NaN))
 *     return scores.some(Number.isNaN) ? null : scores.reduce((sum, one) => sum + one, 0) / scores.length
 *   },
 * })
 * ```
 */
export function defineQuestionsReward<A extends PartAsk, T, O = None>(
  reward: Declaration<T, O> & AsksQuestions<A, T, O>,
): QuestionsReward<A, T, O> {
  return { ...reward, ...completed('questions', reward) }
}

/**
 * Defines a reward that asks a model several questions about all answers of a group.
 *
 * @example
 * ```ts
 * import { defineGroupQuestionsReward, fill, prompt } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineGroupQuestionsReward({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   ask: 'generate',
 *   rm_preprocess(rows) {
 *     const answers = rows.map(({ sample }, at) => [`answer_${at + 1}`, sample.response] as const)
 *     const list = answers.map(([name]) => `${name}: {${name}}`).join('\n')
 *     return {
 *       about: fill(`${list}\n\n`, Object.fromEntries(answers)),
 *       questions: ['right', 'kind'].map((word) => ({ question: prompt`For each answer, 1 if it is ${word}, else 0.` })),
 *     }
 *   },
 *   rm_postprocess: ({ text }, rows) => rows.map((_row, at) => (text[at] === '1' ? 1 : text[at] === '0' ? 0 : null)),
 *   combine: (found, rows) =>
 *     rows.map((_row, at) => {
 *       const scores = found.map((one) => (one[at]?.status === 'scored' ? one[at].score.value : Number.NaN))
 *       return scores.some(Number.isNaN) ? null : Math.min(...scores)
 *     }),
 * })
 * ```
 */
export function defineGroupQuestionsReward<T, O = None>(
  reward: Declaration<T, O> & AsksGroupQuestions<T, O>,
): GroupQuestionsReward<T, O> {
  return { ...reward, ...completed('group-questions', reward) }
}
