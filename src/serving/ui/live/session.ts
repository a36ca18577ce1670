import type { Access } from '../../http/inspector/messages.ts'

const place = 'reward-gateway.key'

/** The key of this tab; '' for none. It is kept in the tab's session and nowhere else. */
export const sessionKey = (): string => sessionStorage.getItem(place) ?? ''

/** Keeps a key, or with '' forgets it. */
export function keepKey(key: string): void {
  if (key === '') sessionStorage.removeItem(place)
  else sessionStorage.setItem(place, key)
}

/** What the gateway says to a request that it refuses. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Asks the gateway, with the key of this tab in a header. Rejects with Refused, or TypeError where nobody answers. */
export async function ask(path: string, init: RequestInit = {}, key = sessionKey()): Promise<Response> {
  const headers = new Headers(init.headers)
  if (key !== '') headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(path, { ...init, headers, credentials: 'omit', redirect: 'error' })
  if (response.ok) return response
  const body: { error?: { message?: unknown } } | null = await response.json().catch(() => null)
  const message = body?.error?.message
  throw new Refused(
    response.status,
    typeof message === 'string' ? message : `the gateway answered ${response.status}`,
  )
}

/** The JSON of an answer. */
export const askJson = async <T>(path: string, init?: RequestInit, key?: string): Promise<T> =>
  (await ask(path, init, key)).json() as Promise<T>

/** POSTs JSON. */
export const post = <T>(path: string, body: object, key?: string): Promise<T> =>
  askJson<T>(
    path,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    key,
  )

/** What a key may do. */
export const accessOf = (key?: string): Promise<Access> => askJson<Access>('api/access', {}, key)

/** Characters of one event at most; what is longer is not from this gateway. */
const longest = 32 * 1024 * 1024

/** Reads server-sent events to their end; calls `heard` once an event. Rejects where the stream breaks off. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  heard: (name: string, data: unknown) => void,
): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest: string[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest.push(value)
    length += value.length
    if (length > longest) throw new RangeError('the stream holds no events')
    if (!value.includes('\n')) continue
    const blocks = rest.join('').split('\n\n')
    const last = blocks.pop() ?? ''
    rest = [last]
    length = last.length
    for (const block of blocks) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? []
      if (name !== undefined && data !== undefined) heard(name, JSON.parse(data))
    }
  }
}
