import { z } from 'zod'

const named = { name: z.string().optional() }
const content = z.union([
  z.string(),
  z.object({ type: z.string().optional(), text: z.string() }),
  z.array(z.object({ type: z.string().optional(), text: z.string() })),
])
const messages = z.array(z.object({ role: z.string(), content, type: z.string().optional() })).min(1)
const sampling = z.record(z.string(), z.unknown()).nullish()

/** The graders of OpenAI's API, but for `multi`, which holds others. */
export const graderShapes = {
  string_check: z.strictObject({
    type: z.literal('string_check'),
    ...named,
    input: z.string(),
    reference: z.string(),
    operation: z.enum(['eq', 'ne', 'like', 'ilike']),
  }),
  text_similarity: z.strictObject({
    type: z.literal('text_similarity'),
    ...named,
    input: z.string(),
    reference: z.string(),
    evaluation_metric: z.string(),
    pass_threshold: z.number().optional(),
  }),
  score_model: z.strictObject({
    type: z.literal('score_model'),
    ...named,
    model: z.string().min(1),
    input: messages,
    range: z.tuple([z.number(), z.number()]).nullish(),
    sampling_params: sampling,
    pass_threshold: z.number().optional(),
  }),
  label_model: z.strictObject({
    type: z.literal('label_model'),
    ...named,
    model: z.string().min(1),
    input: messages,
    labels: z.array(z.string().min(1)).min(2),
    passing_labels: z.array(z.string()).min(1),
    sampling_params: sampling,
  }),
  python: z.strictObject({
    type: z.literal('python'),
    ...named,
    source: z.string().min(1),
    image_tag: z.string().nullish(),
    pass_threshold: z.number().optional(),
  }),
} as const

/** One of them. */
export type GraderType = keyof typeof graderShapes
/** A grader that its shape has read. */
export type Grader<K extends GraderType> = z.output<(typeof graderShapes)[K]>

/** `multi` as it is written; what is in `graders` is read by itself. */
export const multiShape = z.strictObject({
  type: z.literal('multi'),
  ...named,
  graders: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]),
  calculate_output: z.string().min(1),
})

/** The text of a message; its parts are joined. */
export const textOf = (given: z.output<typeof content>): string =>
  typeof given === 'string'
    ? given
    : [given]
        .flat()
        .map(({ text }) => text)
        .join('')
