import type { Access } from '../../http/inspector/messages.ts'

const place = 'reward-gateway.key'

/** The key of this tab; '' if none. It is stored in the tab's session and nowhere else. */
export const sessionKey = (): string => sessionStorage.getItem(place) ?? ''

/** Stores a key; '' removes it. */
export function keepKey(key: string): void {
  if (key === '') sessionStorage.removeItem(place)
  else sessionStorage.setItem(place, key)
}

/** An error response of the gateway. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Sends a request with the tab's key. Rejects with Refused on an error response, and with TypeError if there is no response. */
export async function ask(path: string, init: RequestInit = {}, key = sessionKey()): Promise<Response> {
  const headers = new Headers(init.headers)
  if (key !== '') headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(path, { ...init, headers, credentials: 'omit', redirect: 'error' })
  if (response.ok) return response
  const body: { error?: { message?: unknown } } | null = await response.json().catch(() => null)
  const message = body?.error?.message
  throw new Refused(
    response.status,
    typeof message === 'string' ? message : `The gateway returned status ${response.status}`,
  )
}

/** Sends a request and returns the JSON of the response. */
export const askJson = async <T>(path: string, init?: RequestInit, key?: string): Promise<T> =>
  (await ask(path, init, key)).json() as Promise<T>

/** Posts JSON. */
export const post = <T>(path: string, body: object, key?: string): Promise<T> =>
  askJson<T>(
    path,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    key,
  )

/** The scopes of a key. */
export const accessOf = (key?: string): Promise<Access> => askJson<Access>('api/access', {}, key)

/** Maximum characters of one event; this gateway sends none that are longer. */
const longest = 32 * 1024 * 1024

/** Reads server-sent events to the end of the stream, and calls `heard` for each. Rejects if the stream breaks. */
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
