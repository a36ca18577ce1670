import { z } from 'zod'
import { templateNames } from './chat/templates.ts'

/**
 * A list of such items, taken as it came, of which only the first mistake is told: a request may hold tens of thousands of
 * items, and a schema makes an object for each mistake in each of them. `shown`: the item as OpenAPI shows it.
 */
export const listOf = <T extends z.ZodType>(item: T, shown: z.ZodType = item): z.ZodType<z.output<T>[]> =>
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

/** A list of texts with a row's share in each. */
export const textList: z.ZodType<readonly string[]> = listOf(z.string())

/** True where a list holds something. */
export const isFilled = (list: readonly unknown[]): boolean => list.length > 0

/** What every wire's address may say. */
export const runQuery = z.strictObject({
  run: z.string().max(128).optional().describe('Name of the training run, for metrics and records.'),
})

/** For wires that send prompt and response in one text. */
export const templateQuery = z.strictObject({
  template: z
    .enum(['none', ...templateNames])
    .optional()
    .describe("The policy's chat template; found by its tokens if absent. none: the texts hold no prompt."),
})
