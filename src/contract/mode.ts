import { z } from 'zod'

/** An option: `reference` behaves as the published code that it came from, faults included; `sound` has none of them. */
export const mode = z.enum(['sound', 'reference']).default('sound')

/** One of the two. */
export type Mode = z.infer<typeof mode>
