import { GatewayError } from '../../core/errors.ts'
import { rehearsed } from './rehearsal-of.ts'
import { type LastReload, reloadEnded } from './reloads.ts'
import { openServing, type Serving, type ServingOptions } from './serving.ts'

/** What is served: one reading of the configs after the other, each while those before it drain. */
export interface Succession {
  /** What new requests are served by. Throws RG_CLOSING after `close`. */
  current(): Serving
  /** The newest, closing or not. */
  readonly newest: Serving
  readonly isClosing: boolean
  /** null: there was none. */
  readonly lastReload: LastReload | null
  /** See Gateway. */
  reload(): Promise<void>
  close(graceMs: number): Promise<void>
}

/** Opens the first reading or throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes. */
export async function openSuccession(parts: ServingOptions): Promise<Succession> {
  const { clock, guard, events } = parts
  let serving = await openServing(parts)
  serving.begin()
  let isClosing = false
  let reloading: Promise<unknown> = Promise.resolve()
  const draining = new Set<Serving>()
  const ending = new AbortController()
  let lastReload: LastReload | null = null
  const current = (): Serving => {
    if (isClosing)
      throw new GatewayError('RG_CLOSING', 'the gateway is closing; send this to another one, or later')
    return serving
  }
  const succeed = async (): Promise<void> => {
    const old = current()
    const next = await openServing(parts, old)
    try {
      await rehearsed(next, old, { clock, signal: ending.signal })
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
