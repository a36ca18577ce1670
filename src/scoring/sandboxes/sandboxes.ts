import { LocalSandbox } from './local-sandbox.ts'
import { PooledSandbox, type PoolParts } from './pooled-sandbox.ts'
import type { Confinement, ProgramOutcome, ProgramRequest, Sandbox, SandboxSnapshot } from './sandbox.ts'
import type { SandboxConfig } from './sandbox-config.ts'
import { SharedCores } from './shared-cores.ts'

interface SharedSandbox {
  readonly config: string
  readonly sandbox: Sandbox
  users: number
}

/** Sandboxes by name in gateway.yaml. Each reading of the configs has its own; those that stay the same are shared. */
export class Sandboxes {
  readonly #parts: PoolParts
  readonly #byName = new Map<string, SharedSandbox>()
  readonly #cores: SharedCores
  #isClosed = false

  /** `before`: those before a reload, which are still open. A sandbox starts its processes when it is opened or first used. */
  constructor(configs: Readonly<Record<string, SandboxConfig>>, parts: PoolParts, before?: Sandboxes) {
    this.#parts = parts
    this.#cores = before ? before.#cores : new SharedCores()
    for (const [name, config] of Object.entries(configs)) {
      const text = JSON.stringify(config)
      const known = before ? before.#byName.get(name) : undefined
      const shared =
        known?.config === text ? known : { config: text, sandbox: this.#opened(name, config), users: 0 }
      shared.users += 1
      this.#byName.set(name, shared)
    }
  }

  /** The sandboxes of other configs. These stay open. */
  next(configs: Readonly<Record<string, SandboxConfig>>): Sandboxes {
    return new Sandboxes(configs, this.#parts, this)
  }

  /** How programs are confined, by sandbox. Rejects with RG_CONFIG_INVALID if programs cannot be confined. */
  async open(): Promise<ReadonlyMap<string, Confinement>> {
    const all = [...this.#byName].map(async ([name, { sandbox }]) => [name, await sandbox.open()] as const)
    return new Map(await Promise.all(all))
  }

  /** Never rejects. */
  run(name: string, request: ProgramRequest): Promise<ProgramOutcome> {
    const found = this.#byName.get(name)
    if (found) return found.sandbox.run(request)
    const failure = {
      kind: 'sandbox_unreachable',
      retryable: false,
      detail: 'there is no such sandbox',
    } as const
    return Promise.resolve({ failure })
  }

  snapshot(): readonly SandboxSnapshot[] {
    return [...this.#byName.values()].map(({ sandbox }) => sandbox.snapshot())
  }

  /** Ends those that no other reading of the configs uses. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const shared of this.#byName.values()) {
      shared.users -= 1
      if (shared.users === 0) shared.sandbox.close()
    }
  }

  #opened(name: string, config: SandboxConfig): Sandbox {
    const { clock, events } = this.#parts
    return config.backend === 'local'
      ? new LocalSandbox(name, config, clock, events, this.#cores)
      : new PooledSandbox(name, config, this.#parts)
  }
}
