import { connect } from 'node:net'
import { request } from 'undici'
import { type SimulatedServer, startSimulatedServer } from '../../src/simulator/index.ts'
import { type Served, serveConfigs } from '../support/served.ts'
import { slowness } from '../support/yardstick.ts'
import { type Attack, attacks as scoringAttacks } from './bodies.ts'
import { broken } from './bounds.ts'
import { imageAttacks } from './images.ts'
import { routeAttacks } from './routes.ts'

/** What one attack cost. */
export interface Cost {
  readonly name: string
  /** Of all bodies, once unpacked. */
  readonly bytes: number
  readonly requests: number
  readonly statuses: readonly number[]
  readonly wallMs: number
  /** The longest time in which the loop took no event, milliseconds of processor time. */
  readonly blockMs: number
  readonly mostBlockMs: number | undefined
  readonly cpuMs: number
  /** What this machine took for the yardstick then, to what the machine of the bounds takes; 1 where no bound broke without it. */
  readonly slowness: number
  /** Resident memory at its highest, MiB. */
  readonly peakMib: number
  /** null: all is well. */
  readonly problem: string | null
}

/** A gateway with the limits that ship, a key for every route, a rule, a judge and a comparison by a simulated server. */
export interface Target {
  readonly gateway: Served
  /** Everything there is to send to it: at first what scores, then each route. */
  attacks(): Promise<readonly Attack[]>
  strike(attack: Attack): Promise<Cost>
  stop(): Promise<void>
}

const mebi = 1024 * 1024
const key = 'a-key-of-this-test-alone'
const headers = { authorization: `Bearer ${key}` }

/** What /metrics may say after requests that each name something new, bytes. */
const mostMetrics = mebi

/** An error says what is wrong, and does not send back what was sent, bytes. */
const mostOfError = 64 * 1024

/** A rule that costs a fortieth of the other one, for tests of what a row costs apart from its rule. */
export const cheapRule = { function: 'exact-match', options: { place: 'boxed' } }

/** Opens it. */
export async function openTarget(rule: object = { function: 'numeric-match' }): Promise<Target> {
  const judge: SimulatedServer = await startSimulatedServer({
    model: 'judge',
    policy: 'constant',
    constant: 1,
  })
  const gateway = await serveConfigs(
    {
      gateway: {
        keys: { all: { env: 'ADVERSARIAL_KEY', scopes: ['score', 'read', 'admin'] } },
        models: { judge: { model: 'judge', instances: [judge.url] } },
      },
      rule: { steps: [{ name: 'rule', ...rule }] },
      mean: { on_invalid: 'group_mean', steps: [{ name: 'rule', ...rule }] },
      judged: { steps: [{ name: 'judge', function: 'yes-no-judge', model: 'judge' }] },
      ranked: {
        steps: [{ name: 'ranked', function: 'pairwise-judge', model: 'judge', pairs: { scheme: 'ring' } }],
      },
    },
    { ADVERSARIAL_KEY: key },
  )
  return {
    gateway,
    attacks: async () => [...scoringAttacks, ...imageAttacks, ...(await routeAttacks(gateway.url, headers))],
    strike: (attack) => strike(gateway, attack),
    async stop() {
      await gateway.stop()
      await judge.close()
    },
  }
}

const tries = 3

/** A bound of time that breaks is measured again, since a collection of garbage or a neighbour may have had it; the best counts. */
async function strike(gateway: Served, attack: Attack): Promise<Cost> {
  let best = await strikeOnce(gateway, attack, 1)
  for (let tried = 1; tried < tries && best.problem === null && broken(best) !== null; tried++) {
    const next = await strikeOnce(gateway, attack, slowness())
    if (next.problem !== null || broken(next) === null || next.blockMs < best.blockMs) best = next
  }
  return best
}

async function strikeOnce(gateway: Served, attack: Attack, slownessBefore: number): Promise<Cost> {
  const { name, times = 1, atOnce = 1, statuses = [200], check } = attack
  const body = attack.body()
  await gateway.figures()
  const before = await gateway.figures()
  gateway.peakRss()
  const began = performance.now()
  const got = new Set<number>()
  let problem: string | null = null
  let isGone = false
  const sendOne = async (count: number): Promise<void> => {
    const isNumbered = times > 1 || atOnce > 1
    const sent = isNumbered ? Buffer.from(body.toString().replaceAll('{n}', String(count))) : body
    const reply = await send(gateway.url, attack, sent).catch((error: Error) => error)
    if (reply instanceof Error) {
      problem ??= `no reply: ${reply.message}`
      isGone = true
      return
    }
    got.add(reply.status)
    if (!statuses.includes(reply.status)) problem ??= `status ${reply.status}: ${reply.text.slice(0, 200)}`
    else if (reply.status !== 200 && reply.text.length > mostOfError)
      problem ??= `an error of ${reply.text.length} bytes`
    else if (reply.status === 200) problem ??= complaint(() => check?.(reply.text))
  }
  for (let time = 0; time < times && !isGone; time++)
    await Promise.all(Array.from({ length: atOnce }, (_, connection) => sendOne(time + connection)))
  if (times > 1) problem ??= await metricsGrown(gateway.url)
  const wallMs = performance.now() - began
  const after = await gateway.figures()
  const cost: Cost = {
    name,
    bytes: (attack.unpackedBytes ?? body.length) * times * atOnce,
    requests: times * atOnce,
    statuses: [...got],
    wallMs,
    blockMs: after.longestBlockMs,
    mostBlockMs: attack.mostBlockMs,
    cpuMs: after.cpuMs - before.cpuMs,
    slowness: slownessBefore,
    peakMib: gateway.peakRss() / mebi,
    problem,
  }
  return broken(cost) === null ? cost : { ...cost, slowness: Math.max(slownessBefore, slowness()) }
}

async function send(url: string, attack: Attack, body: Buffer) {
  const { path, method = 'POST', headers: own, chunkBytes } = attack
  if (chunkBytes !== undefined) return sendChunks(url, path, body, chunkBytes)
  const { statusCode, body: reply } = await request(`${url}${path}`, {
    method,
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }), ...own },
    ...(method === 'POST' && { body }),
    headersTimeout: 600_000,
    bodyTimeout: 600_000,
  })
  return { status: statusCode, text: await reply.text() }
}

/** On a connection of its own; what is written at once arrives at once. */
async function sendChunks(url: string, path: string, body: Buffer, size: number) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const pieces = [
    `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${headers.authorization}\r\n`,
    'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  ]
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.toString('latin1', at, at + size)
    pieces.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  socket.write(`${pieces.join('')}0\r\n\r\n`)
  let reply = ''
  for await (const bytes of socket) reply += String(bytes)
  return { status: Number(reply.slice(9, 12)), text: reply.slice(reply.indexOf('\r\n\r\n') + 4) }
}

async function metricsGrown(url: string): Promise<string | null> {
  const { text } = await send(url, { name: '', path: '/metrics', method: 'GET', body: () => empty }, empty)
  return text.length > mostMetrics ? `/metrics says ${text.length} bytes` : null
}

const empty = Buffer.alloc(0)

function complaint(check: () => void): string | null {
  try {
    check()
    return null
  } catch (error) {
    return (error as Error).message.slice(0, 300)
  }
}
