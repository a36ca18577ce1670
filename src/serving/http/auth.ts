import { hostname } from 'node:os'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { Caller, Keys, Scope } from '../../scoring/gateway/keys.ts'
import type { KeyLimits } from './key-limits.ts'
import { routePattern } from './request-context.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What a key must allow for this route; absent: `read` for a GET, `score` for the rest. `any`: a key is enough,
     * whatever it allows. `open`: none is needed.
     */
    scope?: RouteScope
  }
}

/** What a route asks of a key. */
export type RouteScope = Scope | 'any' | 'open'

/** Lets a request in only with a key that allows what its route does and has room for it, before its body is read. */
export function checkKeys(app: FastifyInstance, gateway: Gateway, limits: KeyLimits): void {
  // Missing keys are told of before anything listens.
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
  if (keys.isOpen(scope === 'any' ? 'read' : scope)) {
    checkHost(request, settings.listen.allowed_hosts)
    return
  }
  if (!keys.has('admin') && scope === 'admin')
    throw new GatewayError(
      'RG_FORBIDDEN',
      "the admin API is off: no key in gateway.yaml has the scope 'admin'; see docs/operations.md",
    )
  const caller = callerOf(request, keys)
  if (!caller)
    throw new GatewayError('RG_UNAUTHORIZED', "send a key of this gateway: 'authorization: Bearer <key>'")
  if (!allows(caller, scope))
    throw new GatewayError('RG_FORBIDDEN', `the key '${caller.name}' lacks the scope '${scope}'`)
  if (scope === 'score') limits.enter(caller, reply)
}

/** Whether the key of a request, by the keys as they are now, allows what a scope stands for. */
export function grants(request: FastifyRequest, keys: Keys, scope: Scope): boolean {
  if (keys.isOpen(scope)) return true
  const caller = callerOf(request, keys)
  return caller !== null && allows(caller, scope)
}

/** One host, as HTTP/1.1 has it: of two, a proxy and the gateway may take different ones. */
function checkHostHeader({ raw }: FastifyRequest): void {
  let hosts = 0
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    const name = raw.rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && raw.httpVersion !== '1.1')) return
  throw new GatewayError(
    'RG_REQUEST_INVALID',
    `the request has ${hosts === 0 ? 'no' : 'more than one'} header 'host'`,
  )
}

const allows = ({ scopes }: Caller, scope: Scope | 'any'): boolean =>
  scope === 'any' || scopes.has(scope) || scopes.has('admin')

function callerOf({ headers }: FastifyRequest, keys: Keys): Caller | null {
  const key = keyIn(headers.authorization)
  return key === null ? null : keys.callerOf(key)
}

function scopeOf(request: FastifyRequest): RouteScope {
  const { method, routeConfig } = request
  if (routeConfig?.scope) return routeConfig.scope
  if (routePattern(request).startsWith('/docs')) return 'open'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'score'
}

/** The key of a bearer, or the password of an address like `http://any:KEY@gateway`, for clients that take an address alone. */
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
 * Refuses a request for a host name that is not this gateway's, where no key protects what it reads. A page of a stranger
 * whose name is made to lead here (DNS rebinding) could else read it with the browser of whoever opens that page. Names
 * that no stranger can own are always right; of others see docs/security.md. Throws RG_FORBIDDEN.
 */
export function checkHost(request: FastifyRequest, allowed: readonly string[]): void {
  const { host = '' } = request.headers
  if (ownHosts.has(host)) return
  const name = nameIn(host)
  if (name === '' || isOwn(name)) {
    if (ownHosts.size < maxOwnHosts) ownHosts.add(host)
    return
  }
  if (allowed.some((pattern) => fits(name, pattern))) return
  // Trainers of other machines come by many names. Only browsers are led astray, and only from loopback is everyone one.
  if (allowed.length === 0 && !isLoopback(request.socket.localAddress) && !isBrowser(request)) return
  const shown = JSON.stringify(name.slice(0, 100))
  throw new GatewayError(
    'RG_FORBIDDEN',
    `this gateway does not answer to the host name ${shown}: add the name to listen.allowed_hosts in gateway.yaml, or protect the gateway by keys`,
  )
}

/** Hosts that were found right: a trainer sends the same one with each request. */
const ownHosts = new Set<string>()
const maxOwnHosts = 64

/** The name of `name:port`, without a dot at its end. */
const nameIn = (host: string): string => host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()

/** An address, a name without dots, or one under a domain that nobody can register. */
const isOwn = (name: string): boolean =>
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]|[\w-]+|[\w.-]+\.(?:localhost|local|internal|svc))$/.test(
    name,
  ) || name === own

const own = hostname().toLowerCase()

/** `*.example.com` fits every name below; `*` fits all. */
const fits = (name: string, pattern: string): boolean =>
  pattern === '*' ||
  (pattern.startsWith('*.') ? name.endsWith(pattern.slice(1).toLowerCase()) : name === pattern.toLowerCase())

const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::1$|(?:::ffff:)?127\.)/.test(address)

/**
 * Browsers always send a language. A page may replace its value, but cannot take the header away. Of the clients that are
 * no browsers, Node's fetch sends `*` beside `sec-fetch-mode`, a header that no page can set.
 */
const isBrowser = ({ headers }: FastifyRequest): boolean =>
  /mozilla/i.test(headers['user-agent'] ?? '') ||
  (headers['accept-language'] !== undefined && !isNodeFetch(headers)) ||
  headers.origin !== undefined ||
  headers.referer !== undefined ||
  headers['sec-fetch-site'] !== undefined

const isNodeFetch = (headers: FastifyRequest['headers']): boolean =>
  headers['accept-language'] === '*' && headers['sec-fetch-mode'] !== undefined
