import { z } from 'zod'
import { BadSample, type ChatPrompt, chat, defineModelReward } from '../src/contract/index.ts'
import { afterThink, fillGraderChat, graderMistakes, graderValues, readJson } from '../src/extract/index.ts'

const template = z
  .string()
  .refine(
    (text) => graderMistakes(text).length === 0,
    'names neither item.<field> nor sample.output_text or .output_json',
  )

/** OpenAI's score_model grader: a judge grades a conversation of templates over `item` (the row's extra_info) and `sample` with a number. */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z
    .strictObject({
      input: z.array(z.strictObject({ role: z.string(), content: template })).min(1),
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
    const values = graderValues(sample)
    if (!values) return low
    const form = `Reply with one JSON object: {"steps": [short texts], "result": a number from ${low} to ${high}}`
    const filled = fillGraderChat(input, form, values)
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return low
    return chat(
      ...filled.messages.map(({ role, filled: content }) => ({
        role,
        content: { kind: 'prompt', ...content } as const,
      })),
    )
  },
  rm_postprocess({ text }) {
    const answer = afterThink(text)
    if (answer === null) return null
    const read = readJson(answer.trim())
    if (!read || read.repeatedKeys || !(read.value instanceof Map)) return null
    const result: unknown = read.value.get('result')
    return typeof result === 'number' ? result : null
  },
})
