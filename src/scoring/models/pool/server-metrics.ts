import type { Endpoint } from '../transport/endpoint.ts'

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
