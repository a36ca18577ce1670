import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { isObject, type JsonObject } from '../transport/reply.ts'
import type { HttpMessage, Reply } from '../transport/transport.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** /server_info of a large SGLang server is the longest of the replies. */
const mostReplyBytes = 8 * 1024 * 1024

/** Requests to one server beside its line and breaker. They reject with UpstreamError. */
export interface ServerCalls {
  get(path: string): Promise<Reply>
  /**
   * `once`: a broken connection must not be followed by the same request, since the first one may have been obeyed. `ms`:
   * a time of its own instead of the order's.
   */
  post(path: string, body: unknown, how?: { readonly once?: true; readonly ms?: number }): Promise<Reply>
  /** Resolves after `ms`. */
  pause(ms: number): Promise<void>
  /** Milliseconds until the order's time is over, and of all of it. */
  readonly leftMs: number
  readonly limitMs: number
}

/** Whom to call, and how long. */
export interface CalledServer {
  readonly clock: Clock
  readonly endpoint: Endpoint
  readonly headers: Record<string, string>
  readonly timeoutMs: number
}

/** The JSON object of a reply with status 200; null for anything else. */
export function objectIn({ status, text }: Reply): JsonObject | null {
  if (status !== 200) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Calls to one endpoint, whose time is over after `timeoutMs` together. */
export function callsTo({ clock, endpoint, headers, timeoutMs }: CalledServer): ServerCalls {
  const until = clock.now() + timeoutMs
  const leftMs = () => Math.max(until - clock.now(), 0)
  const sent = (message: Omit<HttpMessage, 'headers'>, ms = leftMs()): Promise<Reply> =>
    endpoint.replyTo({ ...message, headers }, ms, mostReplyBytes)
  const isBroken = (error: unknown): boolean =>
    error instanceof UpstreamError && error.kind === 'judge_unreachable' && !error.isRefused
  const got = (path: string) => ({ method: 'GET', path, body: null }) as const
  return {
    get leftMs() {
      return leftMs()
    },
    limitMs: timeoutMs,
    pause: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    async get(path) {
      return sent(got(path)).catch((error) => (isBroken(error) ? sent(got(path)) : Promise.reject(error)))
    },
    async post(path, body, { once = false, ms } = {}) {
      const message = { method: 'POST', path, body: body === null ? '' : JSON.stringify(body) } as const
      try {
        return await sent(message, ms)
      } catch (error) {
        // A kept connection breaks when its server has died; only another one shows that nothing listens.
        if (!isBroken(error)) throw error
        if (!once) return sent(message, ms)
        await sent(got('/v1/models')).catch((other: unknown) => {
          if (other instanceof UpstreamError && other.isRefused) throw other
        })
        throw error
      }
    },
  }
}
