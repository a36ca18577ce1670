/** Options that many functions have. */

import { z } from 'zod'

/** An option: `published` behaves as the published code that it came from, faults included; `strict` has none of them. */
export const mode = z.enum(['strict', 'published']).default('strict')

export type Mode = z.infer<typeof mode>

/** An option of rules about form: `all` reads every turn of the assistant, `final` only the last one. */
export const scope = z.enum(['all', 'final']).default('all')

export type Scope = z.infer<typeof scope>
