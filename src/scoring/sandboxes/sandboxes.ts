import type { Clock } from '../../core/clock.ts'
import { LocalSandbox, type ProgramOutcome, type ProgramRequest } from './local-sandbox.ts'
import type { SandboxConfig } from './sandbox-config.ts'
import type { Greeting } from './zygote.ts'

/** Runs programs in sandboxes, by the sandbox's name in gateway.yaml. */
export interface Sandboxes {
  /** How programs are confined, by sandbox. Starts each; rejects with RG_CONFIG_INVALID if programs cannot be confined. */
  open(): Promise<ReadonlyMap<string, Greeting>>
  /** Never rejects. */
  run(name: string, request: ProgramRequest): Promise<ProgramOutcome>
  close(): void
}

/** How programs are confined, in words. */
export function confinementText({ level, open, missing, python }: Greeting): string {
  const how = {
    namespaces: 'programs run in namespaces of their own, with Landlock and seccomp',
    landlock: `programs run with Landlock and seccomp (${missing.join('; ')})`,
    none: 'PROGRAMS ARE NOT CONFINED: they may do what the user of the gateway may',
  }[level]
  const closed = level === 'none' || open.length > 0 ? '' : '; network, files and other processes are closed'
  return `${how}${closed}; Python ${python}`
}

/** Opens sandboxes. Each starts its processes when it is first used. */
export function openSandboxes(configs: Readonly<Record<string, SandboxConfig>>, clock: Clock): Sandboxes {
  const byName = new Map(
    Object.entries(configs).map(([name, config]) => [name, new LocalSandbox(config, clock)]),
  )
  const named = (name: string): LocalSandbox => {
    const sandbox = byName.get(name)
    if (!sandbox) throw new Error(`there is no sandbox '${name}'`)
    return sandbox
  }
  return {
    async open() {
      const greetings = [...byName].map(async ([name, sandbox]) => [name, await sandbox.greeting()] as const)
      return new Map(await Promise.all(greetings))
    },
    run: (name, request) => named(name).run(request),
    close() {
      for (const sandbox of byName.values()) sandbox.close()
    },
  }
}
