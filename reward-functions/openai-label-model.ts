import { z } from 'zod'
import { BadSample, type ChatPrompt, chat, defineModelReward } from '../src/contract/index.ts'
import { afterThink, fillGraders, isGraderTemplate } from '../src/grading/index.ts'

const template = z
  .string()
  .refine(isGraderTemplate, 'must name item.<field>, sample.output_text or sample.output_json')

/**
 * OpenAI's label_model grader. A judge picks a label for a conversation of templates over `item` (the row's
 * `extra_info`) and `sample`. Pays 1 for a passing label, else 0. A response that is not the JSON that a
 * template reads pays 0 without a call.
 *
 * Invalid: a row without a field that a template names, and a judge's reply that is not a label.
 */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z
    .strictObject({
      /** The conversation for the judge. The labels are appended to its last message. */
      input: z.array(z.strictObject({ role: z.string(), content: template })).min(1),
      /** What the judge may reply. */
      labels: z.array(z.string().min(1)).min(2),
      /** The labels that score 1. */
      passing_labels: z.array(z.string()).min(1),
    })
    .refine(({ labels, passing_labels: passing }) => passing.every((one) => labels.includes(one)), {
      message: 'every passing label must be one of the labels',
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
