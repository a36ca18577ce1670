import { z } from 'zod'
import {
  aggregateSteps,
  type ChatPrompt,
  chat,
  defineModelReward,
  type Prompt,
  prompt,
  questionText,
  type ResponseStep,
  responseSteps,
  type Sample,
  stepAggregate,
  steps,
} from '../src/contract/index.ts'

const options = z.strictObject({
  /** `qwen`: Qwen2.5-Math-PRM and models trained like it. `skywork`: Skywork-o1-Open-PRM. */
  form: z.enum(['qwen', 'skywork']).default('qwen'),
  /** What separates steps: `paragraph`, `line` or a marker's text. Default: as the model was trained. */
  by: z.string().min(1).optional(),
  /** The model's mark after each step. Default: `<extra_0>`; for `skywork`, `rewards.mark` of the model. */
  mark: z.string().min(1).optional(),
  aggregate: stepAggregate.default('min'),
  /** Whether only the last turn has steps, or each turn of the policy. */
  scope: z.enum(['final', 'all']).default('final'),
})

type Options = z.infer<typeof options>

const system = 'Please reason step by step, and put your final answer within \\boxed{}.'

const piecesOf = (sample: Sample, { form, by, scope }: Options): readonly ResponseStep[] =>
  // Skywork's models were trained on every line, the empty ones too.
  responseSteps(sample, {
    by: by ?? (form === 'qwen' ? 'paragraph' : 'line'),
    blank: form === 'skywork',
    scope,
  })

/**
 * The rewards that a process reward model gives the steps of the response, 0 to 1 each, and one score of them all. Lines
 * without text get none.
 *
 * Invalid: a row without a question, another number of rewards than of steps, and a reward outside of 0 to 1.
 */
export default defineModelReward({
  ask: 'rewards',
  truth: z.unknown(),
  options,
  range: ({ aggregate }) => [0, aggregate === 'sum' ? Number.POSITIVE_INFINITY : 1],
  rm_preprocess({ sample, options }): ChatPrompt | Prompt {
    const asked = questionText(sample)
    const pieces = piecesOf(sample, options)
    if (options.form === 'skywork')
      return prompt`<|endoftext|>${asked}\n${steps(pieces, options.mark ?? '<|fim_pad|>')}`
    return chat(
      { role: 'system', content: system },
      { role: 'user', content: prompt`${asked}` },
      { role: 'assistant', content: steps(pieces, options.mark ?? '<extra_0>') },
    )
  },
  rm_postprocess(values, { sample, options }) {
    if (values.some((value) => !(value >= 0 && value <= 1))) return null
    const rewarded = piecesOf(sample, options).flatMap(({ turn, end, blank }, at) =>
      blank ? [] : [{ turn, end, value: values[at] ?? Number.NaN }],
    )
    const value = aggregateSteps(
      rewarded.map((step) => step.value),
      options.aggregate,
    )
    return { value, steps: rewarded }
  },
})
