import { z } from 'zod'

/** An option: `published` behaves as the published code that it came from, faults included; `strict` has none of them. */
export const mode = z.enum(['strict', 'published']).default('strict')

/** One of the two. */
export type Mode = z.infer<typeof mode>
