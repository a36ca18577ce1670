import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Call, madeId, type Reply } from './call.ts'
import { controlRoutes } from './control.ts'
import { deliver, immediateRefusal, usual } from './delivery.ts'
import type { InjectedFault } from './faults.ts'
import { Gone, SimulatedModel } from './model.ts'
import { Attempts, type Restart, type SimulatedServerOptions } from './options.ts'
import { type ProcessState, SimulatedProcess } from './process.ts'
import { badRequest, loading, Refusal } from './refusal.ts'
import { type Route, routes } from './routes.ts'
import { count, type ServerStats } from './stats.ts'

/** A request's whole body. There is no limit, as in the imitated servers. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** A body's JSON object, {} if it is empty. Throws a Refusal (400) for anything else. */
function parseBody(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  let body: unknown
  try {
    body = JSON.parse(bytes.toString())
  } catch {
    throw badRequest('The body is not JSON.')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('The body is not an object.')
  return body as Record<string, unknown>
}

/** The request's id for /abort_requests and /abort_request. */
function requestId(request: IncomingMessage, body: Call['body']): string {
  const given = request.headers['x-request-id'] ?? body.request_id ?? body.rid
  return typeof given === 'string' ? given : madeId('request')
}

/** A request from arrival to reply: what holds it, and when the model learns that its client has left. */
class Visit {
  /** Aborts when nobody wants the answer any more. */
  readonly work = new AbortController()
  /** The server only polls for clients that have left, as SGLang does. */
  isSlowlyMissed = false
  readonly #model: SimulatedModel
  readonly #since: number
  #cancel = (): void => {}
  #isOver = false

  constructor(model: SimulatedModel) {
    this.#model = model
    this.#since = model.clock.now()
  }

  /** The connection closed. The work ends at once, or at the server's next poll. */
  clientLeaves(): void {
    if (this.#isOver) return
    if (!this.isSlowlyMissed) {
      this.work.abort(left)
      return
    }
    const { clock, sglang } = this.#model
    const every = sglang.flags.clientCheckMs
    const wait = every - ((clock.now() - this.#since) % every)
    this.#cancel = clock.after(wait, () => this.work.abort(left))
  }

  /** Null unless a hang holds the answer. Resolves when it ends, and throws Gone if the answer is dropped. */
  held(fault: InjectedFault | null, path: string, asksModel: boolean): Promise<void> | null {
    const hold = this.#model.faults.hold(fault, path, asksModel)
    if (!hold) return null
    return hold.then((end) => {
      if (end === 'answer') return this.held(fault, path, asksModel) ?? undefined
      this.work.abort(left)
      throw new Gone()
    })
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }
}

/** A string, because an abort without a reason creates an error with a stack for each request. */
const left = 'the client has left'

/**
 * A scripted model server on a loopback port with vLLM's and SGLang's API. It plays a judge, a scalar reward
 * model, an embedding model or a policy, with configurable latency, capacity and faults. It needs no GPU and
 * no weights.
 */
export interface SimulatedServer {
  readonly url: string
  readonly port: number
  /** The URL of the control paths, which work while the server is down. null without `controlPort`. */
  readonly controlUrl: string | null
  readonly state: ProcessState
  stats(): ServerStats
  /** Replaces all faults. Without arguments, the server recovers. */
  set(...faults: readonly InjectedFault[]): void
  /** Cuts all connections, refuses new ones for a time, loads for a time, and comes back without memory. */
  restart(how?: Restart): void
  /** Dies like kill -9 and refuses connections until a restart. */
  kill(): void
  /** Ends at once like kill -9, with all connections and timers. Safe to call twice. */
  close(): Promise<void>
}

/** Starts a server. Resolves once it accepts connections. */
export async function startSimulatedServer(options: SimulatedServerOptions = {}): Promise<SimulatedServer> {
  const model = new SimulatedModel(options)
  const host = options.host ?? '127.0.0.1'
  const open = new Set<AbortController>()
  const site: Site = { model, open, routes: new Map(), state: () => process.state }
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    void serve(site, request, response)
  })
  await listen(server, options.port ?? 0, host)
  const { port } = server.address() as AddressInfo
  const process = new SimulatedProcess(model, server, open, { port, host })
  const controls = controlRoutes(model, process)
  site.routes = routeTable(options, controls)
  const control = await openControl(model, controls, options).catch(async (error: unknown) => {
    await process.close()
    throw error
  })
  const timers = (options.restarts ?? []).map((restart) =>
    model.clock.after(restart.afterMs, () => process.restart(restart)),
  )
  return {
    url: `http://${host}:${port}`,
    port,
    controlUrl: control && `http://${host}:${(control.address() as AddressInfo).port}`,
    get state() {
      return process.state
    },
    stats: () => model.stats(),
    set: (...faults) => model.faults.set(faults),
    restart: (how = {}) => process.restart(how),
    kill: () => process.kill('killed'),
    close: async () => {
      for (const cancel of timers) cancel()
      model.faults.set([])
      control?.close()
      control?.closeAllConnections()
      await process.close()
    },
  }
}

/** What one port serves. */
interface Site {
  readonly model: SimulatedModel
  readonly open: Set<AbortController>
  readonly state: () => ProcessState
  routes: ReadonlyMap<string, Route>
}

async function openControl(
  model: SimulatedModel,
  controls: readonly Route[],
  { controlPort, host = '127.0.0.1' }: SimulatedServerOptions,
): Promise<Server | null> {
  if (controlPort === undefined) return null
  const routes = tableOf(controls)
  const server = createServer((request, response) => {
    void serve({ model, open: new Set(), state: () => 'ready', routes }, request, response)
  })
  await listen(server, controlPort, host)
  return server
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

function routeTable(
  { runner, engine, control }: SimulatedServerOptions,
  controls: readonly Route[],
): ReadonlyMap<string, Route> {
  const served = routes.filter(
    (route) =>
      (!runner || !route.runner || route.runner === runner) &&
      (!engine || !route.engine || route.engine === engine),
  )
  return tableOf(control ? [...served, ...controls] : served)
}

const tableOf = (all: readonly Route[]): ReadonlyMap<string, Route> =>
  new Map(all.map((route) => [`${route.method} ${route.path}`, route]))

/** Handles one request from its first to its last byte. Never rejects. */
async function serve(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { model, open } = site
  const visit = new Visit(model)
  response.once('close', () => {
    if (!response.writableFinished) visit.clientLeaves()
  })
  open.add(visit.work)
  model.counters.inFlight += 1
  try {
    await answer(site, request, response, visit)
  } catch (error) {
    if (!response.headersSent && !response.destroyed) await refuse(model, response, error)
    else response.destroy()
  } finally {
    visit.end()
    model.counters.inFlight -= 1
    open.delete(visit.work)
  }
}

async function answer(
  { model, routes: table, state }: Site,
  request: IncomingMessage,
  response: ServerResponse,
  visit: Visit,
): Promise<void> {
  const { signal } = visit.work
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const route = table.get(`${request.method} ${path}`)
  const bytes = await readBody(request)
  count(model.counters.requests, path)
  if (state() === 'loading' && !route?.isControl) throw loading()
  if (!route) return deliver(response, unknownPath(table, path), usual)
  const fault = model.faults.strike(path, route.asksModel)
  if (fault) count(model.counters.faults, fault.kind)
  if (fault?.kind === 'reset') return void request.socket.resetAndDestroy()
  if (fault?.kind === 'hang' && fault.recovery === undefined) return silence(signal)
  const body = request.method === 'POST' ? parseBody(bytes) : {}
  const refusal = immediateRefusal(fault, body.model)
  if (refusal) {
    if (fault?.retryAfterS !== undefined) response.setHeader('retry-after', fault.retryAfterS)
    return deliver(response, { json: refusal.toJSON(), status: refusal.status }, usual)
  }
  const isSlow = fault?.kind === 'slow'
  const asksModel = route.asksModel || (route.isProbe === true && model.sglang.writesForHealth(path))
  const held = () => visit.held(fault, path, asksModel)
  const call: Call = {
    model,
    body,
    query: new URLSearchParams(mark < 0 ? '' : url.slice(mark)),
    slowdown: isSlow ? { factor: fault.factor ?? 10, ms: fault.ms ?? 0 } : usualPace,
    signal,
    held,
    path,
  }
  visit.isSlowlyMissed = route.asksModel && (model.options.engine === 'sglang' || route.engine === 'sglang')
  const id = route.asksModel ? requestId(request, body) : null
  if (id !== null) model.inFlight.set(id, visit.work)
  try {
    const reply = await route.endpoint(call)
    if (!asksModel) await held()
    await deliver(response, reply, { fault, held, pause: (ms) => model.pause(ms, signal) })
  } finally {
    if (id !== null) model.inFlight.delete(id)
  }
}

const usualPace = { factor: 1, ms: 0 }

/** Waits until the client gives up or the server ends. */
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
  return deliver(response, { json: refusal.toJSON(), status: refusal.status }, usual)
}

/** FastAPI's reply to an unknown path or method. */
function unknownPath(table: ReadonlyMap<string, Route>, path: string): Reply {
  const isKnown = table.has(`GET ${path}`) || table.has(`POST ${path}`)
  return isKnown
    ? { json: { detail: 'Method Not Allowed' }, status: 405 }
    : { json: { detail: 'Not Found' }, status: 404 }
}

/**
 * Starts several servers of one model in this process with a shared count of attempts. A port other than 0,
 * and a control port, is the first of `count` consecutive ports. If one cannot listen, all others are closed.
 */
export async function startSimulatedServers(
  count: number,
  options: SimulatedServerOptions = {},
): Promise<readonly SimulatedServer[]> {
  const { port = 0, controlPort = 0, attempts = new Attempts() } = options
  const started: SimulatedServer[] = []
  try {
    for (let index = 0; index < count; index++) {
      const place = port === 0 ? 0 : port + index
      const control = controlPort === 0 ? options : { ...options, controlPort: controlPort + index }
      started.push(await startSimulatedServer({ ...control, attempts, port: place }))
    }
  } catch (error) {
    await Promise.all(started.map((server) => server.close()))
    throw error
  }
  return started
}
