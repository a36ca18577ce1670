import { GatewayError, type Problem } from '../../core/errors.ts'
import { checkReload } from './known-samples.ts'
import { openRuntime, type Runtime, type RuntimeOptions } from './runtime.ts'

/** What is served: one reading of the configs after the other, each while those before it drain. */
export interface Reloader {
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
export function reloadEnded(refusal: unknown): LastReload {
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
