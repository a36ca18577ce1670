/**
 * A scripted model server on a loopback port that speaks vLLM's and SGLang's API: a judge, a scalar reward model, an
 * embedding model and a policy, with latency, capacity and faults on cue. It needs no GPU and no weights.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Call, Reply } from './call.ts'
import { controlRoutes } from './control.ts'
import { deliver, immediateRefusal } from './delivery.ts'
import type { Fault } from './faults.ts'
import { Gone, SimulatedModel } from './model.ts'
import type { SimulatedServerOptions } from './options.ts'
import { Refusal } from './refusal.ts'
import { parseBody, readBody, requestId } from './request.ts'
import { type Route, routes } from './routes.ts'
import { count, type ServerStats } from './stats.ts'

/** A running simulated server. */
export interface SimulatedServer {
  readonly url: string
  readonly port: number
  stats(): ServerStats
  /** Replaces all faults; without any, the server is well again. */
  set(...faults: readonly Fault[]): void
  /** Ends at once, as by kill -9: connections are cut, timers gone. Safe to call twice. */
  close(): Promise<void>
}

/** Listens; resolves once connections are taken. */
export async function startSimulatedServer(options: SimulatedServerOptions = {}): Promise<SimulatedServer> {
  const model = new SimulatedModel(options)
  const table = routeTable(model, options)
  const open = new Set<AbortController>()
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    void serve(model, table, request, response, open)
  })
  await listen(server, options.port ?? 0, options.host ?? '127.0.0.1')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${options.host ?? '127.0.0.1'}:${port}`,
    port,
    stats: () => model.stats(),
    set: (...faults) => model.faults.set(faults),
    close: () => {
      for (const one of open) one.abort(left)
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function routeTable(model: SimulatedModel, { runner, control }: SimulatedServerOptions): Map<string, Route> {
  const served = routes.filter((route) => !runner || !route.runner || route.runner === runner)
  const all = control ? [...served, ...controlRoutes(model)] : served
  return new Map(all.map((route) => [`${route.method} ${route.path}`, route]))
}

/** One request from its first byte to its last. Never rejects. */
async function serve(
  model: SimulatedModel,
  table: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
  open: Set<AbortController>,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(left)
  })
  open.add(gone)
  model.counters.inFlight += 1
  try {
    await answer(model, table, request, response, gone)
  } catch (error) {
    if (!response.headersSent && !response.destroyed) await refuse(model, response, error)
    else response.destroy()
  } finally {
    model.counters.inFlight -= 1
    open.delete(gone)
  }
}

/** A text, because an abort without a reason makes an error with a stack for each request. */
const left = 'the client has left'

async function answer(
  model: SimulatedModel,
  table: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
  gone: AbortController,
): Promise<void> {
  const { signal } = gone
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const route = table.get(`${request.method} ${path}`)
  const bytes = await readBody(request)
  count(model.counters.requests, path)
  if (!route) return deliver(response, unknownPath(table, path), null)
  const fault = model.faults.strike(path, route.asksModel)
  if (fault) count(model.counters.faults, fault.kind)
  if (fault?.kind === 'reset') return void request.socket.resetAndDestroy()
  if (fault?.kind === 'hang') return silence(signal)
  const body = request.method === 'POST' ? parseBody(bytes) : {}
  const refusal = immediateRefusal(fault, body.model)
  if (refusal) {
    if (fault?.retryAfterS !== undefined) response.setHeader('retry-after', fault.retryAfterS)
    return deliver(response, { json: refusal.toJSON(), status: refusal.status }, null)
  }
  const isSlow = fault?.kind === 'slow'
  const call: Call = {
    model,
    body,
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark)),
    slowdown: isSlow ? { factor: fault.factor ?? 10, ms: fault.ms ?? 0 } : usualPace,
    signal,
  }
  const id = route.asksModel ? requestId(request, body) : null
  if (id !== null) model.inFlight.set(id, gone)
  try {
    await deliver(response, await route.endpoint(call), fault?.kind ?? null)
  } finally {
    if (id !== null) model.inFlight.delete(id)
  }
}

const usualPace = { factor: 1, ms: 0 }

/** Until the client gives up or the server ends. */
function silence(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function refuse(model: SimulatedModel, response: ServerResponse, error: unknown): Promise<void> {
  if (error instanceof Gone) return void response.destroy()
  model.counters.refused += 1
  const refusal = error instanceof Refusal ? error : new Refusal(500, 'InternalServerError', String(error))
  return deliver(response, { json: refusal.toJSON(), status: refusal.status }, null)
}

/** FastAPI's words for a path or a method that it does not know. */
function unknownPath(table: ReadonlyMap<string, Route>, path: string): Reply {
  const isKnown = table.has(`GET ${path}`) || table.has(`POST ${path}`)
  return isKnown
    ? { json: { detail: 'Method Not Allowed' }, status: 405 }
    : { json: { detail: 'Not Found' }, status: 404 }
}
