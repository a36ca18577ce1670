/**
 * Watches a server while calls are in flight: keeps its own queue short, so that questions wait where they can still be moved,
 * and finds out whether it hangs. Both read what the server says at /metrics.
 */
import type { AskName } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { askingOf, type Backend, type Translation, type WatchedServer } from '../backends/backend.ts'
import type { RenderedInput } from '../interface/ask.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import type { HttpMessage, Reply } from '../transport/transport.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { PoolMember } from './pool-member.ts'

/** How to read a server's queue from its metrics. */
export interface QueueMetrics {
  readonly headers: Record<string, string>
  readonly names: { readonly running: string; readonly waiting: string }
}

const endless = Number.POSITIVE_INFINITY

/** Milliseconds between two looks at a server's queue. */
const everyMs = 1000

/** How many requests may wait in a server in addition to the running ones, so that it is never idle between two looks. */
const spare = (running: number): number => Math.max(2, Math.ceil(running / 8))

/**
 * The limit on questions in flight for a server with this queue. Our share of the queue is assumed to be our share of all
 * requests there. The limit grows by half if the queue is empty, by one if it is short, and is at least one.
 */
function inFlightLimit(
  before: number,
  line: { readonly running: number; readonly waiting: number; readonly ours: number },
): number {
  const { running, waiting, ours } = line
  if (waiting === 0) return Math.max(before + 1, Math.ceil(before * 1.5))
  const room = spare(running)
  if (waiting <= room) return before + 1
  return Math.max(1, Math.ceil((ours * (running + room)) / (running + waiting)))
}

/**
 * Keeps a server's own queue short, if it reports one: a question that waits there can neither move to another server nor be
 * reordered. Only looks while calls are in flight, and resets the limit when none is. Runs until ended.
 */
export function watchServerQueue(
  endpoint: Endpoint,
  clock: Clock,
  { headers, names }: QueueMetrics,
): () => void {
  let isEnded = false
  let isLooking = false
  let cancel = () => {}

  const later = () => {
    isLooking = true
    cancel = clock.after(everyMs, () => void look())
  }

  const look = async (): Promise<void> => {
    const before = endpoint.inFlight
    const text = before > 0 ? await metricsOf(endpoint, headers, everyMs) : null
    if (isEnded) return
    const running = text === null ? null : sumOf(text, [names.running])
    const waiting = text === null ? null : sumOf(text, [names.waiting])
    // Calls may have begun or ended while the server answered.
    const ours = Math.max(before, endpoint.inFlight)
    const isKnown = endpoint.inFlight > 0 && running !== null && waiting !== null
    const most = isKnown ? inFlightLimit(endpoint.maxInFlight, { running, waiting, ours }) : endless
    let limits = 0
    for (const { limit } of endpoint.members) limits += limit
    endpoint.setMaxInFlight(most < limits ? most : endless)
    isLooking = false
    if (endpoint.inFlight > 0) later()
  }

  endpoint.onBegin = () => {
    if (!isLooking) later()
  }
  if (endpoint.inFlight > 0) later()
  return () => {
    isEnded = true
    endpoint.onBegin = null
    cancel()
    endpoint.setMaxInFlight(endless)
  }
}

/** Settings of the watchdog of one member. */
export interface ProgressSettings {
  readonly clock: Clock
  readonly backend: WatchedServer
  readonly headers: Record<string, string>
  /** Time without progress until a member is suspect; if it does not count tokens, at least three times `p99`. */
  readonly stalledMs: number
  /** Time limit of a call. Half of it replaces three times `p99` if that is unknown. */
  readonly timeoutMs: number
  /** The p99 latency at this server, or else at the model's other servers; null if unknown. */
  p99(): number | null
}

/** Milliseconds that a server has to answer a one-token question before it is suspect. */
const doubtMs = 3000
/** Milliseconds between questions to a suspect server. */
const recoveryMs = 1000
const p99Factor = 3
/** Longest patience, in milliseconds, if latencies are unknown and the server does not count tokens. */
const mostPatienceMs = 60_000

/**
 * Finds servers that hang while /health still answers. A member with calls in flight and none finished for too long is asked for
 * one token, and its token counters are read twice. If neither shows progress, it is suspect until one of them does.
 * A slow server that makes progress is never suspect. Runs until ended.
 */
export function watchProgress(member: PoolMember, settings: ProgressSettings): () => void {
  const { clock } = settings
  let isEnded = false
  let isWatching = false
  let cancel = () => {}
  /** The tokens that it had counted when it became suspect, or at the last look since. */
  let counted: number | null = null
  const later = (ms: number, fn: () => void) => {
    cancel = clock.after(Math.max(ms, 1), fn)
  }

  /** Whether its token counters have changed. */
  const hasCounted = async (): Promise<boolean> => {
    const before = counted
    counted = (await tokensCounted(member, settings)) ?? before
    return before !== null && counted !== before
  }

  const look = (): void => {
    if (isEnded) return
    isWatching = member.inFlight > 0 || member.suspect
    if (!isWatching) return
    const doubtAt = member.progressAt + settings.stalledMs - doubtMs
    if (clock.now() < doubtAt || member.asleep) later(Math.max(doubtAt - clock.now(), doubtMs), look)
    else void doubt()
  }

  const doubt = async (): Promise<void> => {
    const since = member.progressAt
    counted = await tokensCounted(member, settings)
    if (counted === null) {
      const p99 = settings.p99()
      const patienceMs = p99 === null ? Math.min(settings.timeoutMs / 2, mostPatienceMs) : p99Factor * p99
      const leftMs = since + patienceMs - doubtMs - clock.now()
      if (leftMs > 0) {
        if (!isEnded) later(leftMs, look)
        return
      }
    }
    const hasMoved = (await answers(member, settings)) || (await hasCounted())
    if (isEnded) return
    if (hasMoved) member.progressed()
    // Unless a call has ended or the server was put to sleep meanwhile.
    else if (member.progressAt === since && member.inFlight > 0 && !member.asleep) {
      member.mark({ suspect: true })
      later(recoveryMs, () => void recover())
      return
    }
    look()
  }

  const recover = async (): Promise<void> => {
    // A server that others keep busy may be too late with a question.
    const hasMoved = !member.asleep && ((await answers(member, settings)) || (await hasCounted()))
    if (isEnded) return
    if (!hasMoved) {
      later(recoveryMs, () => void recover())
      return
    }
    member.progressed()
    member.mark({ suspect: false })
    look()
  }

  member.onBegin = () => {
    if (isWatching) return
    isWatching = true
    later(settings.stalledMs - doubtMs, look)
  }
  if (member.suspect) void recover()
  else look()
  return () => {
    isEnded = true
    member.onBegin = null
    cancel()
  }
}

/** Whether the member answers a one-token question in time. */
async function answers(member: PoolMember, settings: ProgressSettings): Promise<boolean> {
  const { backend } = settings
  const until = settings.clock.now() + doubtMs
  const { ping } = backend
  const questions = ping ? [ping] : 'translate' in backend ? shortestQuestions(backend, member.lastAsk) : []
  for (const question of questions) {
    const leftMs = until - settings.clock.now()
    if (leftMs <= 0) return false
    const message = { method: 'POST', headers: settings.headers, ...question } as const
    const reply = await replied(member.endpoint, message, leftMs)
    if (reply === null) return false
    if (reply.status === 200) return true
  }
  return false
}

const greeting = { role: 'user', content: 'Hi' } as const
const texts = [[greeting], 'Hi', [greeting, { role: 'assistant', content: 'Hi' } as const]] as const
const decision = { about: [greeting], asked: { question: 'Is it a greeting?', as: { yesno: {} } } } as const

/** The shortest inputs of each ask, in every form that a server may support. Labels are asked for as text. */
const shortest: { readonly [A in AskName]: readonly RenderedInput[A][] } = {
  generate: texts,
  classify: texts,
  rewards: texts,
  embed: [['Hi']],
  choose: [],
  decide: [decision],
  service: [],
}

/** One-token questions in every form that this kind of server may support. */
function shortestQuestions(
  backend: Pick<Backend, 'translate' | 'decisions'>,
  lastAsk: AskName | 'execute',
): readonly Translation[] {
  const settings = { sampling: { max_tokens: 1, temperature: 0 }, reply: undefined, draw: 0 }
  const ask = lastAsk === 'choose' || lastAsk === 'execute' ? 'generate' : lastAsk
  return shortest[ask].flatMap((input) => {
    try {
      return [askingOf(backend, ask).translate(ask, input, settings)]
    } catch (error) {
      // This kind of server does not support the ask.
      if (error instanceof UpstreamError) return []
      throw error
    }
  })
}

/** The tokens that the server has generated so far; null if it does not report them. */
async function tokensCounted(member: PoolMember, settings: ProgressSettings): Promise<number | null> {
  const { tokenCounters } = settings.backend
  if (tokenCounters.length === 0) return null
  const text = await metricsOf(member.endpoint, settings.headers, doubtMs / 2)
  return text === null ? null : sumOf(text, tokenCounters)
}

/** The text of a server's /metrics, in Prometheus format; null if there was none in time. */
async function metricsOf(
  endpoint: Endpoint,
  headers: Record<string, string>,
  ms: number,
): Promise<string | null> {
  const reply = await replied(endpoint, { method: 'GET', path: '/metrics', headers, body: null }, ms)
  return reply?.status === 200 ? reply.text : null
}

const mostReplyBytes = 16 * 1024 * 1024

/** The reply; null if there was none in time. */
async function replied(endpoint: Endpoint, message: HttpMessage, ms: number): Promise<Reply | null> {
  try {
    return await endpoint.replyTo(message, ms, mostReplyBytes)
  } catch {
    return null
  }
}

/** The sum of all series of these metrics in a Prometheus text; null if there is none. */
function sumOf(text: string, names: readonly string[]): number | null {
  let sum: number | null = null
  for (const name of names)
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
      const after = text[at + name.length]
      if ((at > 0 && text[at - 1] !== '\n') || (after !== '{' && after !== ' ')) continue
      const end = text.indexOf('\n', at)
      const line = text.slice(at, end < 0 ? undefined : end)
      const value = Number(line.slice(line.lastIndexOf(' ') + 1))
      if (Number.isFinite(value)) sum = (sum ?? 0) + value
    }
  return sum
}
