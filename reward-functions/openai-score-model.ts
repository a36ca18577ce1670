import { z } from 'zod'
import { BadSample, type ChatPrompt, chat, defineModelReward } from '../src/contract/index.ts'
import { afterThink, fillGraders, isGraderTemplate, readJson } from '../src/grading/index.ts'

const template = z
  .string()
  .refine(isGraderTemplate, 'must name item.<field>, sample.output_text or sample.output_json')

/**
 * OpenAI's score_model grader. A judge gives a number for a conversation of templates over `item` (the row's
 * `extra_info`) and `sample`. Pays that number, within `range`. A response that is not the JSON that a
 * template reads pays the lowest number without a call.
 *
 * Invalid: a row without a field that a template names, and a judge's reply without a number in `range`.
 */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z
    .strictObject({
      /** The conversation for the judge. The form of the reply is appended to its last message. */
      input: z.array(z.strictObject({ role: z.string(), content: template })).min(1),
      /** The lowest and the highest number. */
      range: z.tuple([z.number(), z.number()]).default([0, 1]),
    })
    .refine(({ range: [low, high] }) => low < high, 'the range must ascend'),
  range: ({ range: [low, high] }) => [low, high],
  reply: ({ range: [low, high] }) => ({
    schema: {
      type: 'object',
      properties: {
        steps: { type: 'array', items: { type: 'string' }, maxItems: 16 },
        result: { type: 'number', minimum: low, maximum: high },
      },
      required: ['result'],
      additionalProperties: false,
    },
  }),
  rm_preprocess({ sample, options: { input, range } }): ChatPrompt | number {
    const [low, high] = range
    const form = `Reply with one JSON object: {"steps": [short texts], "result": a number from ${low} to ${high}}`
    const contents = input.map(({ content }, at) =>
      at === input.length - 1 ? `${content}\n\n${form}` : content,
    )
    const filled = fillGraders(sample, contents)
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return low
    return chat(...filled.map((content, at) => ({ role: input[at]?.role ?? 'user', content })))
  },
  rm_postprocess({ text }) {
    const answer = afterThink(text)
    if (answer === null) return null
    const read = readJson(answer.trim())
    if (!read || read.repeatedKeys || read.constants || !(read.value instanceof Map)) return null
    // Any other key could be a second verdict.
    if ([...read.value.keys()].some((key) => key !== 'steps' && key !== 'result')) return null
    const result: unknown = read.value.get('result')
    return typeof result === 'number' ? result : null
  },
})
