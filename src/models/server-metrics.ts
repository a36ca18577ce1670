import type { Clock } from '../clock.ts'
import type { Endpoint } from './endpoint.ts'
import { Fault } from './fault.ts'
import { send } from './transport.ts'

const mostReplyBytes = 16 * 1024 * 1024

/** What a server says of itself at /metrics, in Prometheus' text form; null: nothing in time. */
export async function metricsOf(
  { connections, basePath }: Endpoint,
  {
    clock,
    headers,
    ms,
  }: { readonly clock: Clock; readonly headers: Record<string, string>; readonly ms: number },
): Promise<string | null> {
  const message = { method: 'GET' as const, path: '/metrics', headers, body: null }
  const exchange = send(connections, message, { basePath, maxReplyBytes: mostReplyBytes })
  const cancel = clock.after(ms, () => exchange.abort(new Fault('judge_timeout', 'no answer')))
  try {
    const { status, text } = await exchange.reply
    return status === 200 ? text : null
  } catch {
    return null
  } finally {
    cancel()
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
