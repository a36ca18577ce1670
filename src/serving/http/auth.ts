import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { Caller, Keys, Scope } from '../../scoring/gateway/keys.ts'
import type { RequestMetrics } from '../telemetry/metrics/request-metrics.ts'
import { routePattern } from './request-context.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The scope that a key needs for this route. Default: `read` for GET, `score` for other methods. `any`: any key will
     * do. `open`: no key is needed.
     */
    scope?: RouteScope
  }
}

/** The scope that a route requires. */
export type RouteScope = Scope | 'any' | 'open'

/** Checks the API key of each request, its scope and its limits, before the body is read. */
export function checkKeys(app: FastifyInstance, gateway: Gateway, limits: KeyLimits): void {
  // Reads the keys now, so that missing environment variables fail the start.
  void gateway.keys
  app.addHook('onRequest', (request, reply, done) => {
    try {
      check(request, reply, gateway, limits)
      done()
    } catch (error) {
      done(error as GatewayError)
    }
  })
}

function check(
  request: FastifyRequest,
  reply: FastifyReply,
  { keys, settings }: Gateway,
  limits: KeyLimits,
): void {
  checkHostHeader(request)
  const scope = scopeOf(request)
  if (scope === 'open' || request.is404) return
  if (keys.isOpen && scope !== 'admin') {
    checkHost(request, settings.listen.allowed_hosts)
    return
  }
  if (scope === 'admin' && !keys.scopes.has('admin'))
    throw new GatewayError(
      'RG_FORBIDDEN',
      "the admin API is off because no key in gateway.yaml has the scope 'admin'; see docs/operations.md",
    )
  const caller = callerOf(request, keys)
  if (!caller)
    throw new GatewayError(
      'RG_UNAUTHORIZED',
      "send an API key of this gateway: 'authorization: Bearer <key>'",
    )
  if (!allows(caller, scope))
    throw new GatewayError('RG_FORBIDDEN', `the key '${caller.name}' lacks the scope '${scope}'`)
  if (scope === 'score') limits.enter(caller, reply)
}

/** Whether the request's API key currently grants `scope`. */
export function grants(request: FastifyRequest, keys: Keys, scope: Scope): boolean {
  if (keys.isOpen && scope !== 'admin') return true
  const caller = callerOf(request, keys)
  return caller !== null && allows(caller, scope)
}

/** HTTP/1.1 requires exactly one Host header. With two, a proxy and the gateway could use different ones. */
function checkHostHeader({ raw }: FastifyRequest): void {
  let hosts = 0
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    const name = raw.rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && raw.httpVersion !== '1.1')) return
  throw new GatewayError(
    'RG_REQUEST_INVALID',
    `the request has ${hosts === 0 ? 'no' : 'more than one'} 'host' header`,
  )
}

const allows = ({ scopes }: Caller, scope: Scope | 'any'): boolean =>
  scope === 'any' || scopes.has(scope) || scopes.has('admin')

function callerOf({ headers }: FastifyRequest, keys: Keys): Caller | null {
  const key = keyIn(headers.authorization)
  return key === null ? null : keys.callerOf(key)
}

function scopeOf(request: FastifyRequest): RouteScope {
  const { method, routeOptions } = request
  const { scope } = routeOptions.config
  if (scope) return scope
  if (routePattern(request).startsWith('/docs')) return 'open'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'score'
}

/** A bearer token, or the password of a URL like `http://any:KEY@gateway` for clients that only take a URL. */
function keyIn(header: string | undefined): string | null {
  const [scheme = '', given = ''] = header?.split(' ', 2) ?? []
  const key =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(given, 'base64')
          .toString('utf8')
          .replace(/^[^:]*:/, '')
      : scheme.toLowerCase() === 'bearer'
        ? given
        : ''
  return key === '' ? null : key
}

/**
 * Protects routes without a key against DNS rebinding: a foreign website whose name is made to resolve to this gateway
 * could read it through a visitor's browser. Accepts names that nobody else can own, and those in `listen.allowed_hosts`;
 * see docs/security.md. Throws RG_FORBIDDEN.
 */
export function checkHost(request: FastifyRequest, allowed: readonly string[]): void {
  const { host = '' } = request.headers
  const name = nameIn(host)
  if (name === '' || isOwn(name)) return
  if (allowed.some((pattern) => matches(name, pattern))) return
  // Trainers on other machines use many names, and only browsers can be rebound. On loopback every client is suspect.
  if (allowed.length === 0 && !isLoopback(request.socket.localAddress) && !isBrowser(request.headers)) return
  const shown = JSON.stringify(name.slice(0, 100))
  throw new GatewayError(
    'RG_FORBIDDEN',
    `this gateway does not accept the host name ${shown}: add it to listen.allowed_hosts in gateway.yaml, or protect the gateway with keys`,
  )
}

/** The name in `name:port`, without a trailing dot. */
const nameIn = (host: string): string => host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()

/** An IP address, a name without dots, or a name under a domain that nobody can register. */
const isOwn = (name: string): boolean =>
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]|[\w-]+|[\w.-]+\.(?:localhost|local|internal|svc))$/.test(
    name,
  ) || name === own

const own = hostname().toLowerCase()

/** `*.example.com` matches every name below it; `*` matches all. */
const matches = (name: string, pattern: string): boolean =>
  pattern === '*' ||
  (pattern.startsWith('*.') ? name.endsWith(pattern.slice(1).toLowerCase()) : name === pattern.toLowerCase())

const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::1$|(?:::ffff:)?127\.)/.test(address)

/**
 * Browsers always send `accept-language`; a page can change its value but not remove it. Node's fetch also sends it, with
 * the value `*` and `sec-fetch-mode`, a header that no page can set.
 */
export const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  /mozilla/i.test(headers['user-agent'] ?? '') ||
  (headers['accept-language'] !== undefined && !isNodeFetch(headers)) ||
  headers.origin !== undefined ||
  headers.referer !== undefined ||
  headers['sec-fetch-site'] !== undefined

const isNodeFetch = (headers: IncomingHttpHeaders): boolean =>
  headers['accept-language'] === '*' && headers['sec-fetch-mode'] !== undefined

/** What one API key has in progress. Kept by key name, so a reload forgets nothing. */
interface Usage {
  requests: number
  samples: number
  /** Token bucket of `rate_per_s`: requests that may be sent at once. */
  tokens: number
  /** When `tokens` was last updated. */
  at: number
}

type Reason = Parameters<RequestMetrics['keyRefused']>[1]

/** Keeps each API key within its own limits, so that a burst of one run does not starve the others. */
export class KeyLimits {
  readonly #clock: Clock
  readonly #refused: RequestMetrics['keyRefused']
  readonly #usages = new Map<string, Usage>()
  readonly #callers = new WeakMap<FastifyRequest, Caller>()

  /** `refused` is called for each refused request. */
  constructor(clock: Clock, refused: RequestMetrics['keyRefused'] = () => {}) {
    this.#clock = clock
    this.#refused = refused
  }

  /** Counts a request until its reply is closed. Throws RG_OVERLOADED with a Retry-After if the key is over its limits. */
  enter(caller: Caller, reply: FastifyReply): void {
    const { name, maxInFlight, ratePerS } = caller
    const usage = this.#usageOf(caller)
    if (maxInFlight !== undefined && usage.requests >= maxInFlight)
      throw this.#refusal(
        name,
        'in_flight',
        1,
        `the key '${name}' already has ${usage.requests} requests in flight, its maximum`,
      )
    if (ratePerS !== undefined) {
      const now = this.#clock.now()
      usage.tokens = Math.min(burstOf(ratePerS), usage.tokens + ((now - usage.at) / 1000) * ratePerS)
      usage.at = now
      if (usage.tokens < 1)
        throw this.#refusal(
          name,
          'rate',
          (1 - usage.tokens) / ratePerS,
          `the key '${name}' sends more than ${ratePerS} requests per second`,
        )
      usage.tokens -= 1
    }
    usage.requests += 1
    this.#callers.set(reply.request, caller)
    reply.raw.once('close', () => {
      usage.requests -= 1
    })
  }

  /** Whose key the request has; undefined where no key is needed. */
  callerOf(request: FastifyRequest): Caller | undefined {
    return this.#callers.get(request)
  }

  /** Counts the samples of an admitted request until its reply is closed. Throws RG_OVERLOADED. */
  takeSamples(request: FastifyRequest, reply: FastifyReply, count: number): void {
    const caller = this.#callers.get(request)
    // After a disconnect there is no 'close' event left that would give the samples back.
    if (caller?.maxSamples === undefined || reply.raw.destroyed) return
    const usage = this.#usageOf(caller)
    // A request larger than the limit is admitted when it is alone; it could never be admitted otherwise.
    if (usage.samples > 0 && usage.samples + count > caller.maxSamples)
      throw this.#refusal(
        caller.name,
        'samples',
        1,
        `the key '${caller.name}' already has ${usage.samples} samples in flight; send these later`,
      )
    usage.samples += count
    reply.raw.once('close', () => {
      usage.samples -= count
    })
  }

  #usageOf({ name, ratePerS }: Caller): Usage {
    let usage = this.#usages.get(name)
    if (!usage) {
      usage = { requests: 0, samples: 0, tokens: burstOf(ratePerS ?? 0), at: this.#clock.now() }
      this.#usages.set(name, usage)
    }
    return usage
  }

  #refusal(name: string, reason: Reason, seconds: number, message: string): GatewayError {
    this.#refused(name, reason)
    return new GatewayError('RG_OVERLOADED', message, { retryAfterS: Math.max(1, Math.ceil(seconds)) })
  }
}

/** One second's worth of requests, and at least one. */
const burstOf = (ratePerS: number): number => Math.max(1, ratePerS)
