import { z } from 'zod'
import { programLanguages } from '../../contract/execution.ts'
import { modelConfig } from '../models/interface/model-config.ts'

export { programLanguages }

const languages = z.array(z.enum(programLanguages)).min(1).default(['python'])

/** Programs are run on this machine, each case in a process that can reach nothing. */
export const localConfig = z.strictObject({
  backend: z.literal('local').default('local'),
  /**
   * `auto`: the best level that holds here, or an error. `unconfined`: programs may do what the gateway's user may; for
   * programs that you trust.
   */
  isolation: z.enum(['auto', 'unconfined']).default('auto'),
  /** The Python interpreter, 3.9 or later. Programs run in it without its site-packages. */
  python: z.string().min(1).default('python3'),
  /** Languages of programs. `cpp` needs g++ with static libraries, `javascript` needs Node, and both need Landlock. */
  languages,
  /** Programs that run at once, at most one for each core; absent: one for each core but one. */
  programs: z.int().min(1).max(256).optional(),
})

/** A sandbox on this machine, with defaults. */
export type LocalConfig = z.output<typeof localConfig>

const { instances, api_key_env, max_queue, connect_timeout_s, wait_for_instance, retry, breaker, health } =
  modelConfig.shape

/** Programs are run on servers. Settings with the name of a model's setting mean the same. */
export const serversConfig = z
  .strictObject({
    /** `reward-gateway`: servers that `reward-gateway sandbox` starts. `sandbox-fusion`: servers of SandboxFusion. */
    backend: z.enum(['reward-gateway', 'sandbox-fusion']),
    instances: instances.unwrap().min(1),
    /** Languages that the servers run: those of their `--languages`. */
    languages,
    api_key_env,
    /** Programs in flight at one server. */
    max_in_flight: z.int().min(1).max(65_536).default(64),
    /** Programs that may wait for a server; more are refused as `overloaded`. */
    max_queue,
    /** Seconds that a server may take beyond the program's own limits, in which the program also waits for its turn there. */
    timeout_s: z.number().positive().max(86_400).default(60),
    connect_timeout_s,
    wait_for_instance,
    retry,
    breaker,
    health: health.unwrap().omit({ model: true, server_line: true }).prefault({}),
  })
  .refine(({ backend, languages: wanted }) => backend !== 'sandbox-fusion' || wanted.join() === 'python', {
    path: ['languages'],
    error: 'servers of sandbox-fusion run only python',
  })

/** A sandbox on servers, with defaults. */
export type ServersConfig = z.output<typeof serversConfig>

/** `sandboxes.NAME` of gateway.yaml: where programs are run. */
export const sandboxConfig = z.discriminatedUnion('backend', [localConfig, serversConfig], {
  error: "'local', 'reward-gateway' or 'sandbox-fusion'",
})

/** A sandbox with defaults. */
export type SandboxConfig = z.output<typeof sandboxConfig>
