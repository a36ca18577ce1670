import { finished } from 'node:stream'
import { type Clock, within } from '../../core/clock.ts'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import type { ListenerGuard } from '../../core/listener-guard.ts'
import type { Canary, CanaryEvents } from '../canary/canary.ts'
import { type Engine, openEngine } from '../engine/engine.ts'
import type { EngineEvents } from '../engine/events.ts'
import type { FunctionEvents, FunctionHost } from '../functions/function-host.ts'
import { openFunctions } from '../functions/open-functions.ts'
import type { ForwardReply, ForwardRequest } from '../models/api/ask.ts'
import type { ModelEvents } from '../models/api/events.ts'
import type { ModelConfig } from '../models/api/model-config.ts'
import { type Models, openModels } from '../models/models.ts'
import type { ConfigText } from '../plan/config-text.ts'
import { configTexts, readConfigs } from '../plan/configs.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { Plan } from '../plan/plan.ts'
import { resolvePlans } from '../plan/resolve.ts'
import { type Keys, readKeys } from './keys.ts'
import { canaryOf, checkRehearsal, checkReload } from './known-samples.ts'
import { allOf } from './listeners.ts'

/** What is served: one reading of the configs after the other, each while those before it drain. */
interface Reloader {
  /** What new requests are served by. Throws RG_CLOSING after `close`. */
  current(): Runtime
  /** The newest, closing or not. */
  readonly newest: Runtime
  readonly isClosing: boolean
  /** null: there was none. */
  readonly lastReload: LastReload | null
  /** See Gateway. */
  reload(): Promise<void>
  close(graceMs: number): Promise<void>
}

/** Opens the first reading or throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes. */
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
    // No request lives longer than its deadline.
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

/** What became of the last reload. */
export interface LastReload {
  /** ISO 8601, UTC. */
  readonly at: string
  /** null: what was read is served. */
  readonly refusal: {
    readonly code: string
    readonly message: string
    readonly problems: readonly Problem[]
  } | null
}

/** `refusal`: what the reload rejected with; null: nothing. A fault of the gateway itself is named, not quoted. */
function reloadEnded(refusal: unknown): LastReload {
  const at = new Date().toISOString()
  if (refusal === null) return { at, refusal: null }
  if (!(refusal instanceof GatewayError))
    return {
      at,
      refusal: {
        code: 'RG_INTERNAL',
        message: 'the gateway made a mistake; its log says more',
        problems: [],
      },
    }
  const { code, message, problems } = refusal
  return { at, refusal: { code, message, problems } }
}

/** Of the heap; bodies in progress may take as much again. */
const rowsHeapShare = 0.4

/** Listens to the scoring of one reading of the configs. */
export interface Attached {
  /** By the names under which their failures are counted. */
  readonly listeners: Readonly<Record<string, EngineEvents>>
  /** Called once everything of the reading is scored. */
  close(): Promise<void>
}

/** Where the configs come from, and who hears of what happens. */
export interface RuntimeOptions {
  /** Files and folders: gateway.yaml and rm-configs. */
  readonly configs: readonly string[]
  /** rm-configs that are no files; `file` gives the reward its name. */
  readonly inline?: readonly ConfigText[]
  /** Folders of users' reward functions, beside the package's own and those of the configs. */
  readonly functionFolders: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Key of the fences around untrusted text, where the configs name none. */
  readonly secret: string
  /** Every listener is called through it. */
  readonly guard: ListenerGuard
  /** Opens what listens to a reading of the configs by its settings, for example a record; null: nothing does. */
  readonly attach?: (settings: GatewaySettings, models: ReadonlyMap<string, ModelConfig>) => Attached | null
  readonly events?: {
    readonly engine?: EngineEvents
    readonly models?: ModelEvents
    readonly functions?: FunctionEvents
    readonly canary?: CanaryEvents
    readonly reloads?: ReloadEvents
  }
}

type RoomName = keyof NonNullable<RuntimeOptions['events']>

/** The rooms that tell a gateway's listeners of what happens. */
export const gatewayRooms = Object.keys({
  engine: true,
  models: true,
  functions: true,
  canary: true,
  reloads: true,
} satisfies Record<RoomName, true>) as readonly RoomName[]

/** Reports reloads, whoever asked for them. */
interface ReloadEvents {
  /** `refusal`: why what was served stays; null: what was read is served now. */
  ended?(refusal: unknown): void
}

/** What one reading of the configs gave; a reload makes another one. */
export interface Runtime {
  readonly settings: GatewaySettings
  readonly plans: ReadonlyMap<string, Plan>
  readonly functions: FunctionHost
  readonly models: Models
  readonly engine: Engine
  /** Throws RG_CONFIG_INVALID where they cannot be read. */
  readonly keys: Keys
  readonly hasReadKeys: boolean
  /** Key of the fences around untrusted text. */
  readonly secret: string
  readonly passing: ForwardTracker
  /** It is served from here on: its canaries may tell of instances, and take them out. */
  begin(): void
  /** Waits at most `graceMs` for requests in progress, then ends workers and pools. May be called again with a shorter time. */
  close(graceMs: number): Promise<void>
}

/**
 * Throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes; then nothing stays open. `before` is the reading
 * that this one takes over from: instances, and models that stay the same, are shared with it.
 */
async function openRuntime(options: RuntimeOptions, before?: Runtime): Promise<Runtime> {
  const { clock, env, guard, events = {} } = options
  const configs = readConfigs([...configTexts(options.configs), ...(options.inline ?? [])], env)
  const settings = configs.gateway
  // Offline commands ask for no keys, and need none of the secrets.
  let keys = before?.hasReadKeys ? readKeys(settings.keys, env) : null
  const { folders, threads, timeout_s: timeoutSeconds, memory_mb: memoryMb, python } = settings.functions
  const functions = await openFunctions({
    folders: [...folders, ...options.functionFolders],
    sampleTimeoutMs: timeoutSeconds * 1000,
    memoryMb,
    python: { command: python.command, processes: python.processes, memoryMb: python.memory_mb },
    clock,
    ...(threads !== undefined && { threads }),
    ...(events.functions && { events: events.functions }),
  })
  let opened: Models | null = null
  try {
    const resolved = await resolvePlans(configs, functions)
    checkRehearsal(settings, resolved.plans, options.configs)
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
        clock,
        secret,
        maxRows: settings.limits.max_samples,
        maxHeapBytes: heapShare(rowsHeapShare),
        events: allOf(guard, { engine: events.engine, ...attached?.listeners }),
      },
      before?.engine,
    )
    let canary: Canary | null = null
    let ending: Promise<void> | null = null
    // What one of them rejects with must not keep the others open.
    const end = async () => {
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
      begin() {
        canary ??= canaryOf(settings, {
          functions,
          models,
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
    await Promise.all([opened?.close(), functions.close()])
    throw error
  }
}

/** Requests that are passed on to models, counted until their replies end, so that a reload or an end can wait. */
class ForwardTracker {
  readonly #models: Models
  #active = 0
  #waiting: (() => void)[] = []

  constructor(models: Models) {
    this.#models = models
  }

  /** As Models.forward. */
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

  /** Resolves once none is under way. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #ended(): void {
    this.#active -= 1
    if (this.#active > 0) return
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
