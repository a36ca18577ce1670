import { z } from 'zod'

/** Programs are run on this machine. */
export const localConfig = z.strictObject({
  /** `local`: on this machine, each case in a process that can reach nothing. */
  backend: z.literal('local').default('local'),
  /**
   * `auto`: the best level that holds here, or an error. `unconfined`: programs may do what the gateway's user may; for
   * programs that you trust.
   */
  isolation: z.enum(['auto', 'unconfined']).default('auto'),
  /** The Python interpreter, 3.9 or later. Programs run in it without its site-packages. */
  python: z.string().min(1).default('python3'),
  /** Programs that run at once, at most one for each core; absent: one for each core but one. */
  programs: z.int().min(1).max(256).optional(),
})

/** A sandbox on this machine, with defaults. */
export type LocalConfig = z.output<typeof localConfig>

/** `sandboxes.NAME` of gateway.yaml. */
export const sandboxConfig = localConfig

/** A sandbox with defaults. */
export type SandboxConfig = z.output<typeof sandboxConfig>
