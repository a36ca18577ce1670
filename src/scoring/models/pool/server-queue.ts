import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'

/** Where a kind of server tells of its line. */
export interface QueueMetrics {
  readonly headers: Record<string, string>
  readonly names: { readonly running: string; readonly waiting: string }
}

const endless = Number.POSITIVE_INFINITY

/** Between two looks at a server's line, milliseconds. */
const everyMs = 1000

/** What may wait in a server beside so many that it works on: a little, so that it never stands idle between two looks. */
const spare = (running: number): number => Math.max(2, Math.ceil(running / 8))

/**
 * As many questions as may be under way at a server with this line. Of those that wait, ours are taken for as many as of all
 * that are there: others' lines are not ours to wait for. Without a line it grows by half, with a short one by one, and in no
 * case does it go below one.
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
 * Keeps a server's own line short, where it tells of one: what waits there cannot go to another server, nor in another order.
 * Looks only while calls are open, and forgets what it saw when none are. Runs until ended.
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
    // Calls may have come or gone while it answered.
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

/** What a server says of itself at /metrics, in Prometheus' text form; null: nothing in time. */
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

/** The sum of all series of these metrics in a text of Prometheus; null: there is none. */
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
