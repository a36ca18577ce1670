import { finished } from 'node:stream'
import { type Clock, within } from '../../core/clock.ts'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import { allOf, type ListenerGuard } from '../../core/listener-guard.ts'
import type { Canary, CanaryEvents } from '../canary/canary.ts'
import { type Engine, openEngine } from '../engine/engine.ts'
import { type EngineEvents, engineEventNames } from '../engine/events.ts'
import type { BoundFunction, FunctionEvents, FunctionHost } from '../functions/function-host.ts'
import { type OpenFunctions, openFunctions } from '../functions/open-functions.ts'
import type { ForwardReply, ForwardRequest } from '../models/interface/ask.ts'
import type { ModelEvents } from '../models/interface/events.ts'
import type { ModelConfig } from '../models/interface/model-config.ts'
import { type Models, openModels } from '../models/models.ts'
import type { ConfigText } from '../plan/config-text.ts'
import { configTexts, readConfigs } from '../plan/configs.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { Plan } from '../plan/plan.ts'
import { resolvePlans } from '../plan/resolve.ts'
import type { SandboxEvents } from '../sandboxes/sandbox.ts'
import { Sandboxes } from '../sandboxes/sandboxes.ts'
import { type Keys, readKeys } from './keys.ts'
import { canaryOf, checkRehearsal, checkReload } from './known-samples.ts'

/** Serves the newest reading of the configs while older ones drain. */
interface Reloader {
  /** The runtime for new requests. Throws RG_CLOSING after `close`. */
  current(): Runtime
  /** The newest runtime, even while closing. */
  readonly newest: Runtime
  readonly isClosing: boolean
  /** Null if there was none. */
  readonly lastReload: LastReload | null
  /** See Gateway. */
  reload(): Promise<void>
  close(graceMs: number): Promise<void>
}

/** Throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all problems in the first reading. */
export async function openReloader(parts: RuntimeOptions): Promise<Reloader> {
  const { clock, guard, events } = parts
  let serving = await openRuntime(parts)
  serving.begin()
  let isClosing = false
  let reloading: Promise<unknown> = Promise.resolve()
  const draining = new Set<Runtime>()
  const ending = new AbortController()
  let lastReload: LastReload | null = null
  const current = (): Runtime => {
    if (isClosing)
      throw new GatewayError('RG_CLOSING', 'the gateway is closing; send this to another one, or later')
    return serving
  }
  const succeed = async (): Promise<void> => {
    const old = current()
    const next = await openRuntime(parts, old)
    try {
      await checkReload(next, old, { clock, signal: ending.signal })
    } catch (error) {
      await next.close(0)
      throw error
    }
    serving = next
    next.begin()
    draining.add(old)
    // No request outlives its deadline.
    const graceMs = old.settings.limits.deadline_s * 1000
    guard.run('close', () => old.close(graceMs).finally(() => draining.delete(old)))
  }
  const ended = (refusal: unknown): void => {
    lastReload = reloadEnded(refusal)
    events?.reloads?.ended?.(refusal)
  }
  return {
    current,
    get newest() {
      return serving
    },
    get isClosing() {
      return isClosing
    },
    get lastReload() {
      return lastReload
    },
    reload() {
      const done = reloading.then(succeed)
      reloading = done.then(
        () => ended(null),
        (refusal) => isClosing || ended(refusal),
      )
      return done
    },
    async close(graceMs) {
      isClosing = true
      ending.abort()
      await reloading
      await Promise.all([serving, ...draining].map((one) => one.close(graceMs)))
    },
  }
}

/** The result of the last reload. */
export interface LastReload {
  /** ISO 8601, UTC. */
  readonly at: string
  /** Null if the reload succeeded. */
  readonly refusal: {
    readonly code: string
    readonly message: string
    readonly problems: readonly Problem[]
  } | null
}

/** `refusal`: what the reload rejected with, or null. An internal error is named but not quoted. */
function reloadEnded(refusal: unknown): LastReload {
  const at = new Date().toISOString()
  if (refusal === null) return { at, refusal: null }
  if (!(refusal instanceof GatewayError))
    return {
      at,
      refusal: {
        code: 'RG_INTERNAL',
        message: 'internal error; see the gateway log',
        problems: [],
      },
    }
  const { code, message, problems } = refusal
  return { at, refusal: { code, message, problems } }
}

/** Whoever serves more uses few of them, as with the shipped configs, and would wait for a second. */
const mostWarmed = 8

/** A trainer waits for the first rows, too; whoever scores a file does not. */
async function warmRules(functions: FunctionHost, plans: Iterable<Plan>): Promise<void> {
  const rules = new Map<string, BoundFunction>()
  for (const { steps } of plans)
    for (const step of steps) if (step.kind === 'rule') rules.set(step.function.name, step.function)
  for (const rule of [...rules.values()].slice(0, mostWarmed)) await functions.warm(rule)
}

/** Share of the heap for rows in progress; request bodies may take as much again. */
const rowsHeapShare = 0.4

/** Listeners of one runtime. */
export interface Attached {
  /** By the name under which their failures are counted. */
  readonly listeners: Readonly<Record<string, EngineEvents>>
  /** Called once the runtime has scored everything. */
  close(): Promise<void>
}

/** Where the configs come from, and who listens. */
export interface RuntimeOptions {
  /** Files and folders: gateway.yaml and rm-configs. */
  readonly configs: readonly string[]
  /** rm-configs that are not files; `file` names the reward. */
  readonly inline?: readonly ConfigText[]
  /** Folders of users' reward functions, in addition to the package's own and those in the configs. */
  readonly functionFolders: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where a server listens; `host` overrides the configs. Absent: nothing listens. */
  readonly listens?: { readonly host?: string | undefined }
  readonly clock: Clock
  /** Key for the fences around untrusted text, unless the configs name one. */
  readonly secret: string
  /** Calls every listener. */
  readonly guard: ListenerGuard
  /** Opens the listeners that a reading's settings ask for, for example a record; null if none. */
  readonly attach?: (settings: GatewaySettings, models: ReadonlyMap<string, ModelConfig>) => Attached | null
  readonly events?: {
    readonly engine?: EngineEvents
    readonly models?: ModelEvents
    readonly functions?: FunctionEvents
    readonly sandboxes?: SandboxEvents
    readonly canary?: CanaryEvents
    readonly reloads?: ReloadEvents
  }
}

type RoomName = keyof NonNullable<RuntimeOptions['events']>

/** The rooms that emit events to a gateway's listeners. */
export const gatewayRooms = Object.keys({
  engine: true,
  models: true,
  functions: true,
  sandboxes: true,
  canary: true,
  reloads: true,
} satisfies Record<RoomName, true>) as readonly RoomName[]

/** Reports every reload, whoever asked for it. */
interface ReloadEvents {
  /** `refusal`: why the old configs stay in use; null if the new ones are served. */
  ended?(refusal: unknown): void
}

/** Everything built from one reading of the configs. A reload builds another one. */
export interface Runtime {
  readonly settings: GatewaySettings
  readonly plans: ReadonlyMap<string, Plan>
  readonly functions: OpenFunctions
  readonly models: Models
  readonly sandboxes: Sandboxes
  readonly engine: Engine
  /** Throws RG_CONFIG_INVALID if they cannot be read. */
  readonly keys: Keys
  readonly hasReadKeys: boolean
  /** Key for the fences around untrusted text. */
  readonly secret: string
  readonly passing: ForwardTracker
  /** Called when the runtime is put into service: starts its canaries, which may eject instances. */
  begin(): void
  /** True once workers and pools are being stopped. What is in progress then ends as `cancelled`. */
  readonly isOver: boolean
  /** Waits at most `graceMs` for requests in progress, then stops workers and pools. May be called again with a shorter time. */
  close(graceMs: number): Promise<void>
}

/**
 * Throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all problems; then nothing stays open. `before` is the runtime that this
 * one replaces: they share instances, unchanged models, and the threads of the package's own functions.
 */
async function openRuntime(options: RuntimeOptions, before?: Runtime): Promise<Runtime> {
  const { clock, env, guard, events = {} } = options
  const configs = readConfigs([...configTexts(options.configs), ...(options.inline ?? [])], env)
  const settings = configs.gateway
  // Read lazily: offline commands use no keys and need no secrets.
  let keys = before?.hasReadKeys ? readKeys(settings.keys, env) : null
  const { folders, threads, timeout_s: timeoutSeconds, memory_mb: memoryMb, python } = settings.functions
  const functions = await openFunctions(
    {
      folders: [...folders, ...options.functionFolders],
      sampleTimeoutMs: timeoutSeconds * 1000,
      memoryMb,
      python: { command: python.command, processes: python.processes, memoryMb: python.memory_mb },
      clock,
      ...(threads !== undefined && { threads }),
      ...(events.functions && { events: events.functions }),
    },
    before?.functions,
  )
  let opened: Models | null = null
  const sandboxes =
    before?.sandboxes.next(settings.sandboxes) ??
    new Sandboxes(settings.sandboxes, { clock, env, events: events.sandboxes ?? {} })
  try {
    const resolved = await resolvePlans(configs, functions)
    checkRehearsal(settings, resolved.plans, options.configs)
    if (options.listens) checkPrograms(settings, resolved.plans, options.listens.host ?? settings.listen.host)
    await sandboxes.open()
    if (options.listens) await warmRules(functions, resolved.plans.values())
    const modelConfigs = Object.fromEntries(resolved.models)
    const models =
      before?.models.next(modelConfigs) ??
      openModels(modelConfigs, {
        clock,
        env,
        maxParkedBytes: settings.limits.max_parked_bytes,
        cache: { bytes: settings.cache.max_bytes, ttlMs: settings.cache.ttl_s * 1000 },
        ...(events.models && { events: events.models }),
      })
    opened = models
    const passing = new ForwardTracker(models)
    const { secret_env: secretName } = settings.guard
    const secret = (secretName && env[secretName]) || options.secret
    const attached = options.attach?.(settings, resolved.models) ?? null
    const engine = openEngine(
      {
        functions,
        models,
        sandboxes,
        clock,
        secret,
        maxRows: settings.limits.max_samples,
        maxHeapBytes: heapShare(rowsHeapShare),
        events: allOf<EngineEvents>(guard, engineEventNames, {
          engine: events.engine,
          ...attached?.listeners,
        }),
      },
      before?.engine,
    )
    let canary: Canary | null = null
    let ending: Promise<void> | null = null
    // A rejection of one must not keep the others open.
    const end = async () => {
      sandboxes.close()
      try {
        await models.close()
      } finally {
        try {
          await functions.close()
        } finally {
          await attached?.close()
        }
      }
    }
    return {
      settings,
      plans: resolved.plans,
      functions,
      models,
      sandboxes,
      engine,
      get keys() {
        keys ??= readKeys(settings.keys, env)
        return keys
      },
      get hasReadKeys() {
        return keys !== null
      },
      passing,
      secret,
      get isOver() {
        return ending !== null
      },
      begin() {
        canary ??= canaryOf(settings, {
          functions,
          models,
          sandboxes,
          clock,
          secret,
          plans: resolved.plans.values(),
          ...(events.canary && { events: events.canary }),
        })
      },
      async close(graceMs) {
        canary?.close()
        await within(clock, graceMs, Promise.all([engine.idle(), passing.idle()]))
        ending ??= end()
        await ending
      },
    }
  } catch (error) {
    sandboxes.close()
    await Promise.all([opened?.close(), functions.close()])
    throw error
  }
}

/** Whoever reaches a reward that runs programs can run programs, so it needs a key beyond this machine. */
function checkPrograms({ keys }: GatewaySettings, plans: ReadonlyMap<string, Plan>, host: string): void {
  if (/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host)) return
  if (Object.values(keys).some(({ scopes }) => scopes.includes('score') || scopes.includes('admin'))) return
  const running = [...plans.values()].find(({ steps }) => steps.some(({ sandbox }) => sandbox !== null))
  if (!running) return
  throw new GatewayError(
    'RG_CONFIG_INVALID',
    `the reward '${running.name}' runs programs, and ${host} can be reached from other machines: define a key of scope score under 'keys:' in gateway.yaml, or listen at 127.0.0.1`,
  )
}

/** Counts forwarded requests until their replies end, so that a reload or shutdown can wait for them. */
class ForwardTracker {
  readonly #models: Models
  #active = 0
  #waiting: (() => void)[] = []

  constructor(models: Models) {
    this.#models = models
  }

  /** See Models.forward. */
  async forward(model: string, request: ForwardRequest): Promise<ForwardReply> {
    this.#active += 1
    try {
      const forwarded = await this.#models.forward(model, request)
      finished(forwarded.body, () => this.#ended())
      return forwarded
    } catch (error) {
      this.#ended()
      throw error
    }
  }

  get inFlight(): number {
    return this.#active
  }

  /** Resolves once none is in progress. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #ended(): void {
    this.#active -= 1
    if (this.#active > 0) return
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
