import { z } from 'zod'
import { BadSample, defineRule, mode, RuleTimeout } from '../src/contract/index.ts'
import { type Payment, publishedReward, strictReward } from '../src/grading/graph/arena.ts'
import { findingDetails, npgMuse, strict } from '../src/grading/graph/finding.ts'
import { checkGraphAnswer, type GraphTask, graphTasks } from '../src/grading/graph/tasks.ts'
import { npgMuseForm } from '../src/grading/npg-muse-form.ts'

/** How the answer pays, and the weights of a well-formed response and of a loop. `undefined`: not checked. */
interface RewardType {
  readonly payment: Payment
  readonly format?: number
  readonly repeat?: number
}

const rewardTypes: ReadonlyMap<string, RewardType> = new Map<string, RewardType>([
  ['binary', { payment: 'binary' }],
  ['binary_format', { payment: 'binary', format: 0.5 }],
  ['binary_format_repeat', { payment: 'binary', format: 0.5, repeat: 0.5 }],
  ['ratio_quality_format_repeat', { payment: 'ratio', format: 0.5, repeat: 0.5 }],
  ['complicated', { payment: 'complicated', format: 1, repeat: 1 }],
])

const modes = {
  strict: { faults: strict, reward: strictReward, ...npgMuseForm.strict },
  published: { faults: npgMuse, reward: publishedReward, ...npgMuseForm.published },
}

/**
 * NPG-Muse's graph tasks. `data_source` has the form `<task>[_easy|_hard]_<reward type>` and chooses how the
 * answer, the form and loops pay: -2 to 3, without bounds in `published` mode. `extra_info` holds the
 * problem: `graph`, `problem_text` and `exact_answer`.
 *
 * A problem that cannot be read earns nothing for the answer and has the flag `bad_problem`. Invalid: an
 * unknown task or reward type, and a check over its budget (`rule_timeout`). In `published` mode also a row
 * without extra_info, or with an `exact_answer` that is not a finite number.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({ mode }),
  range: ({ mode }) => (mode === 'strict' ? [-2, 3] : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]),
  parts: ['answer_accuracy', 'format_accuracy', 'repeat_proportion'],
  score({ sample: { response, dataSource = '', extraInfo, hasExtraInfo = true }, options }) {
    if (!hasExtraInfo && options.mode === 'published')
      throw new BadSample('extra_info is missing; it holds the problem')
    const { task, type } = parsedSource(dataSource)
    const mode = modes[options.mode]
    const { graph = {}, problem_text: problemText, exact_answer: label } = extraInfo
    const finding = checkGraphAnswer(task, { graph, problemText, given: 'text' }, response, mode.faults)
    if (finding.status === 'budget_spent') throw new RuleTimeout(finding.reason)
    const answer = mode.reward(finding, label, task, type.payment)
    const parts: Record<string, number> = { answer_accuracy: Number(answer.isRight) }
    // The published code's plain `binary` reports the reward itself.
    if (options.mode === 'published' && type.format === undefined) parts.answer_accuracy = answer.value
    let { value } = answer
    if (type.format !== undefined) {
      parts.format_accuracy = Number(mode.isFormed(response))
      value += type.format * parts.format_accuracy
    }
    if (type.repeat !== undefined) {
      parts.repeat_proportion = Number(mode.loops(response))
      value -= type.repeat * parts.repeat_proportion
    }
    const { flags, reason } = answer
    return { value, parts, details: { ...findingDetails(finding), ...(reason ? { reason } : {}) }, flags }
  },
})

function parsedSource(dataSource: string): { task: GraphTask; type: RewardType } {
  const [name = '', ...words] = dataSource.split('_')
  const rewardType = words.slice(words[0] === 'easy' || words[0] === 'hard' ? 1 : 0).join('_')
  const task = graphTasks.get(name)
  const type = rewardTypes.get(rewardType)
  if (task && type) return { task, type }
  throw new Error(
    `data_source must be <task>[_easy|_hard]_<reward type>, of ${[...graphTasks.keys()].join(', ')} and ${[
      ...rewardTypes.keys(),
    ].join(', ')}`,
  )
}
