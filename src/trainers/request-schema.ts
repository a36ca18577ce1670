/** Parts of request schemas that several formats share. */
import { z } from 'zod'
import { templateNames } from './chat/templates.ts'

/**
 * A list of `item`, passed on as it came, of which only the first mistake is reported. A request may hold tens of
 * thousands of items, and a plain zod array makes an object for every mistake in each of them. `shown`: the item's
 * schema in OpenAPI.
 */
const listOf = <T extends z.ZodType>(item: T, shown: z.ZodType = item): z.ZodType<z.output<T>[]> =>
  z
    .array(z.unknown())
    .superRefine((list, context) => {
      for (const [index, one] of list.entries()) {
        const read = item.safeParse(one)
        if (read.success) continue
        const [issue] = read.error.issues
        context.addIssue({
          code: 'custom',
          path: [index, ...(issue?.path ?? [])],
          message: issue?.message ?? 'Invalid input',
        })
        return
      }
    })
    .meta({
      items: z.toJSONSchema(shown, { io: 'input', target: 'draft-7', unrepresentable: 'any' }),
    }) as unknown as z.ZodType<z.output<T>[]>

/** A list with one text per row. */
export const textList: z.ZodType<readonly string[]> = listOf(z.string())

export const isFilled = (list: readonly unknown[]): boolean => list.length > 0

/** The query parameter that every format accepts. */
export const runQuery = z.strictObject({
  run: z.string().max(128).optional().describe('Name of the training run, for metrics and records.'),
})

/** For formats that send prompt and response as one text. */
export const templateQuery = z.strictObject({
  template: z
    .enum(['none', ...templateNames])
    .optional()
    .describe(
      "The policy's chat template; detected from its tokens if absent. `none`: the texts hold no prompt.",
    ),
})
