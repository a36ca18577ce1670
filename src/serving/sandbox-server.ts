/** `reward-gateway sandbox`: programs of gateways on other machines are run here. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, within } from '../core/clock.ts'
import type { JsonLimits } from '../core/json/limits.ts'
import { JsonLimitError, parseJsonBytes } from '../core/json/text.ts'
import { packageVersion } from '../core/package-version.ts'
import { checkExecution, mostCases } from '../scoring/functions/worker/check-execution.ts'
import { ContractViolation } from '../scoring/functions/worker/check-results.ts'
import type { Keys } from '../scoring/gateway/keys.ts'
import { LocalSandbox } from '../scoring/sandboxes/local-sandbox.ts'
import type { Confinement } from '../scoring/sandboxes/sandbox.ts'
import type { LocalConfig } from '../scoring/sandboxes/sandbox-config.ts'
import { mayStop } from '../scoring/sandboxes/sandbox-server.ts'
import { isBrowser } from './http/auth.ts'
import { openSandboxMetrics } from './telemetry/metrics/metrics.ts'

/** What a server of programs is opened with. */
export interface SandboxServerOptions {
  readonly host: string
  readonly port: number
  readonly sandbox: LocalConfig
  /** Programs that may wait for their turn; more are refused with 429. */
  readonly maxQueue: number
  readonly maxBodyBytes: number
  /** null: no key is needed. */
  readonly keys: Keys | null
  readonly clock: Clock
  /** Writes a line of the log. */
  log(line: object): void
}

/** A listening server of programs. */
export interface SandboxServer {
  readonly url: string
  readonly confinement: Confinement
  /** Refuses new programs, waits at most `graceMs` for those that run or wait, then ends them. */
  close(graceMs: number): Promise<void>
}

/** No client waits longer than a day. */
const longestMs = 86_400_000
/** Bodies in memory, in multiples of the largest. */
const bodiesHeld = 4

/** Rejects with RG_CONFIG_INVALID if programs cannot be confined, or with the error of listening. */
export async function openSandboxServer(options: SandboxServerOptions): Promise<SandboxServer> {
  const { clock, keys, log, maxBodyBytes, maxQueue } = options
  const metrics = openSandboxMetrics(packageVersion, () => [sandbox.snapshot()])
  const sandbox = new LocalSandbox('local', options.sandbox, clock, {
    ...metrics.events,
    restarted(change) {
      metrics.events.restarted?.(change)
      log({ level: 'warn', msg: 'a process that runs programs ended, and another one takes its place' })
    },
    ejected({ reason }) {
      log({ level: 'error', msg: reason })
    },
  })
  const confinement = await sandbox.open().catch((error) => {
    metrics.close()
    throw error
  })
  let isClosing = false
  let open = 0
  let heldBytes = 0
  let idle = () => {}

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<Answer> => {
    const path = (request.url ?? '').split('?')[0]
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (path === '/health' && isRead) {
      const { running, waiting, size } = sandbox.load
      const facts = {
        version: packageVersion,
        confinement: confinement.text,
        languages: options.sandbox.languages,
        running,
        waiting,
        programs: size,
      }
      const isLost = sandbox.snapshot().instances.some(({ state }) => state === 'ejected')
      return isClosing || isLost
        ? { status: 503, body: { status: isClosing ? 'closing' : 'unconfined', ...facts } }
        : { status: 200, body: { status: 'ok', ...facts } }
    }
    if (keys !== null && keys.callerOf(bearerOf(request)) === null)
      return refused(401, 'unauthorized', 'this server needs a key: send it as Authorization: Bearer KEY')
    if (keys === null && isBrowser(request.headers))
      return refused(403, 'forbidden', 'without a key, this server runs no programs of web pages')
    if (path === '/metrics' && isRead) {
      const { text, contentType } = await metrics.expose()
      return { status: 200, body: text, type: contentType }
    }
    if (path !== '/v1/execute')
      return refused(404, 'not_found', 'there are POST /v1/execute, GET /health and GET /metrics')
    if (request.method !== 'POST') return refused(405, 'method_not_allowed', 'programs are sent with POST')
    if (isClosing) return refused(503, 'closing', 'this server is closing', 1)
    if (sandbox.load.waiting >= maxQueue)
      return refused(429, 'overloaded', 'too many programs wait here', waitSeconds(sandbox))
    const length = Number(request.headers['content-length'] ?? maxBodyBytes)
    if (length > maxBodyBytes) return refused(413, 'too_large', `a body may have ${maxBodyBytes} bytes`)
    if (heldBytes > 0 && heldBytes + length > bodiesHeld * maxBodyBytes)
      return refused(
        429,
        'overloaded',
        'the programs that wait here take too much memory',
        waitSeconds(sandbox),
      )
    heldBytes += length
    try {
      return await executed(request, response)
    } finally {
      heldBytes -= length
    }
  }

  const executed = async (request: IncomingMessage, response: ServerResponse): Promise<Answer> => {
    const bytes = await bodyOf(request, maxBodyBytes)
    if (bytes === null) return refused(413, 'too_large', `a body may have ${maxBodyBytes} bytes`)
    const execution = await executionOf(bytes)
    if (typeof execution === 'string') return refused(400, 'bad_request', execution)
    const { languages } = options.sandbox
    if (!languages.includes(execution.language))
      return refused(
        400,
        'no_language',
        `this server runs ${languages.join(', ')}; start it with --languages`,
      )
    const client = new AbortController()
    response.once('close', () => client.abort())
    if (response.destroyed) client.abort()
    const outcome = await sandbox.run({
      execution,
      deadline: clock.now() + longestMs,
      signal: client.signal,
      excerpts: /[?&]excerpts=true(?:&|$)/.test(request.url ?? ''),
    })
    if ('failure' in outcome) {
      const { kind, detail } = outcome.failure
      return refused(kind === 'bad_sample' ? 422 : 500, kind, detail)
    }
    const { compiled, cases } = outcome.result
    const { excerpts } = outcome
    return {
      status: 200,
      body: {
        compiled,
        cases: cases.map(({ cpuSeconds, wallSeconds, ...one }) => ({
          ...one,
          cpu_s: cpuSeconds,
          wall_s: wallSeconds,
        })),
        out_of_time: compiled && !mayStop(execution, cases) && cases.length < execution.cases.length,
        ...(excerpts && { excerpts }),
      },
    }
  }

  const server = createServer({ keepAliveTimeout: 75_000, requestTimeout: 60_000 }, (request, response) => {
    open += 1
    void answer(request, response)
      .catch((error: unknown) => {
        // The client has left before its body was whole.
        if (request.destroyed && !request.complete)
          return refused(400, 'bad_request', 'the body is not whole')
        log({
          level: 'error',
          msg: 'a request failed',
          error: error instanceof Error ? error.name : 'unknown',
        })
        return refused(500, 'internal', 'internal error')
      })
      .then((given) => {
        write(response, given, isClosing || !drains(request, maxBodyBytes))
        open -= 1
        if (open === 0) idle()
      })
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve)
    })
  } catch (error) {
    sandbox.close()
    metrics.close()
    throw error
  }
  const { address, family, port } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    confinement,
    async close(graceMs) {
      isClosing = true
      // Programs that run or wait are finished; those that come meanwhile are refused, and run elsewhere.
      const quiet = new Promise<void>((resolve) => {
        idle = resolve
        if (open === 0) resolve()
      })
      await within(clock, graceMs, quiet)
      sandbox.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      metrics.close()
    },
  }
}

interface Answer {
  readonly status: number
  readonly body: object | string
  readonly type?: string
  readonly retryAfter?: number
}

const refused = (status: number, code: string, message: string, retryAfter?: number): Answer => ({
  status,
  body: { error: { code, message } },
  ...(retryAfter !== undefined && { retryAfter }),
})

function write(response: ServerResponse, { status, body, type, retryAfter }: Answer, isLast: boolean): void {
  if (response.destroyed) return
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': type ?? 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    ...(isLast && { connection: 'close' }),
  })
  response.end(text)
}

/** Seconds until the queue has probably moved by a quarter. */
function waitSeconds(sandbox: LocalSandbox): number {
  const { waiting, size } = sandbox.load
  const { latencyMs } = sandbox.snapshot().instances[0] ?? { latencyMs: 0 }
  return Math.min(30, Math.max(1, Math.ceil((waiting * latencyMs) / size / 4000)))
}

/**
 * Reads the rest of a refused body and drops it: a client that still sends would see a broken connection, and never learn why it
 * was refused. False if the rest is longer than a body may be.
 */
function drains(request: IncomingMessage, most: number): boolean {
  if (request.complete) return true
  if (request.destroyed || Number(request.headers['content-length'] ?? 0) > most) return false
  let bytes = 0
  request.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes > most) request.socket.destroy()
  })
  return true
}

const bearerOf = ({ headers: { authorization = '' } }: IncomingMessage): string =>
  /^bearer /i.test(authorization) ? authorization.slice(7).trim() : ''

/** A body; null if it is larger than `most`. */
async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > most) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** No case, and nothing beside the cases, holds more values. */
const limits: JsonLimits = { rows: ['cases'], maxValues: 100, maxRows: mostCases, hasLongLists: false }

const problems: Readonly<Record<JsonLimitError['kind'], string>> = {
  rows: `the body holds more than ${mostCases} cases`,
  values: `a case, or all that stands beside the cases, holds more than ${limits.maxValues} values`,
  depth: 'the body is nested too deeply',
}

/** A program with its cases, or why the body is none. A long body is read in slices. */
async function executionOf(bytes: Buffer): Promise<ReturnType<typeof checkExecution> | string> {
  let body: unknown
  try {
    body = (await parseJsonBytes(bytes, limits)).value
  } catch (error) {
    return error instanceof JsonLimitError ? problems[error.kind] : 'the body is not JSON'
  }
  if (typeof body !== 'object' || body === null) return 'the body is no object'
  try {
    return checkExecution({ ...body, ...('limits' in body && { limits: limitsOf(body.limits) }) })
  } catch (error) {
    if (!(error instanceof ContractViolation)) throw error
    return error.message.replace('rm_preprocess returned', 'the body holds')
  }
}

const limitNames: Readonly<Record<string, string>> = {
  cpu_s: 'cpuSeconds',
  wall_s: 'wallSeconds',
  total_s: 'totalSeconds',
  memory_mb: 'memoryMb',
  output_mb: 'outputMb',
}

const limitsOf = (given: unknown): unknown =>
  typeof given !== 'object' || given === null
    ? given
    : Object.fromEntries(Object.entries(given).map(([name, value]) => [limitNames[name] ?? name, value]))
