import { z } from 'zod'
import { BadSample, type ChatPrompt, chat, defineModelReward } from '../src/contract/index.ts'
import { afterThink, fillGraders, isGraderTemplate } from '../src/grading/index.ts'

const template = z
  .string()
  .refine(isGraderTemplate, 'names neither item.<field> nor sample.output_text or .output_json')

/**
 * OpenAI's label_model grader: a judge picks a label for a conversation of templates over `item` (the row's
 * `extra_info`) and `sample`. A passing label scores 1.
 */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z
    .strictObject({
      input: z.array(z.strictObject({ role: z.string(), content: template })).min(1),
      labels: z.array(z.string().min(1)).min(2),
      passing_labels: z.array(z.string()).min(1),
    })
    .refine(({ labels, passing_labels: passing }) => passing.every((one) => labels.includes(one)), {
      message: 'a passing label must be one of the labels',
    }),
  range: [0, 1],
  reply: ({ labels }) => ({ choice: labels }),
  rm_preprocess({ sample, options: { input, labels } }): ChatPrompt | number {
    const form = `Reply with one of these labels and nothing else: ${labels.join(', ')}`
    const contents = input.map(({ content }, at) =>
      at === input.length - 1 ? `${content}\n\n${form}` : content,
    )
    const filled = fillGraders(sample, contents)
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return 0
    return chat(...filled.map((content, at) => ({ role: input[at]?.role ?? 'user', content })))
  },
  rm_postprocess({ text }, { options: { labels, passing_labels: passing } }) {
    const label = afterThink(text)?.trim()
    if (label === undefined || !labels.includes(label)) return null
    return Number(passing.includes(label))
  },
})
