import { hostname } from 'node:os'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'

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
    if (ownHosts.size < mostOwnHosts) ownHosts.add(host)
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
const mostOwnHosts = 64

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
