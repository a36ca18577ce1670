import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'

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
export function inFlightLimit(
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
    const text = before > 0 ? await metricsOf(endpoint, { headers, ms: everyMs }) : null
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

const mostReplyBytes = 16 * 1024 * 1024

/** The text of a server's /metrics, in Prometheus format; null if there was none in time. */
export async function metricsOf(
  endpoint: Endpoint,
  { headers, ms }: { readonly headers: Record<string, string>; readonly ms: number },
): Promise<string | null> {
  const message = { method: 'GET', path: '/metrics', headers, body: null } as const
  try {
    const { status, text } = await endpoint.replyTo(message, ms, mostReplyBytes)
    return status === 200 ? text : null
  } catch {
    return null
  }
}

/** The sum of all series of these metrics in a Prometheus text; null if there is none. */
export function sumOf(text: string, names: readonly string[]): number | null {
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
