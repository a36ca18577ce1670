import { z } from 'zod'

/** `sandboxes.NAME` of gateway.yaml: where programs are run. */
export const sandboxConfig = z.strictObject({
  /** `local`: on this machine, each case in a process that can reach nothing. */
  backend: z.literal('local').default('local'),
  /**
   * `auto`: the best level that holds here, or an error. `unconfined`: programs may do what the gateway's user may; for
   * programs that you trust.
   */
  isolation: z.enum(['auto', 'unconfined']).default('auto'),
  /** The Python interpreter, 3.9 or later. Programs run in it without its site-packages. */
  python: z.string().min(1).default('python3'),
  /** Programs that run at once; absent: one for each core but one. */
  programs: z.int().min(1).max(256).optional(),
})

/** A sandbox with defaults. */
export type SandboxConfig = z.output<typeof sandboxConfig>
