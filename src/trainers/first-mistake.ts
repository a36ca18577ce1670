import { z } from 'zod'

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
