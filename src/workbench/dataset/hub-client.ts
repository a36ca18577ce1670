import { systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { keepSecret } from '../../core/secrets.ts'
import { fileTrouble, reasonOf } from '../../core/system-error.ts'

/** What a download needs of its surroundings. */
export interface HubOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** Called with a line for people: what is downloaded, and what is waited for. */
  readonly tell: (line: string) => void
  /** Waits; rejects when the signal aborts. Default: the system's clock. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

const publicHub = 'https://huggingface.co'
const mostRedirects = 5
const mostTries = 5
/** A hub that asks for more patience is an error. */
const longestWaitMs = 120_000
const longestText = 32 * 1024 * 1024
const statusesToRepeat: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

/**
 * Asks one hub. The token in HF_TOKEN goes to this hub's own origin only: where a reply leads elsewhere (files lie on other
 * hosts), the request goes on without it.
 */
export class HubClient {
  readonly #origin: string
  readonly #token: string | null
  readonly #options: HubOptions

  /** Throws RG_COMMAND_INVALID if HF_ENDPOINT is no address or would carry the token in plain text. */
  constructor(options: HubOptions) {
    const { HF_ENDPOINT: endpoint, HF_TOKEN: token } = options.env
    const origin = originOf(endpoint?.trim() || publicHub)
    if (origin === null)
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        'HF_ENDPOINT: an http or https address without a path is needed',
      )
    this.#token = token?.trim() || null
    keepSecret('HF_TOKEN', this.#token ?? undefined)
    if (this.#token !== null && !/^[\x21-\x7e]+$/.test(this.#token))
      throw new GatewayError('RG_COMMAND_INVALID', 'HF_TOKEN: has characters that no token has')
    if (this.#token !== null && !isConfidential(origin))
      throw new GatewayError('RG_COMMAND_INVALID', 'HF_ENDPOINT: HF_TOKEN is only sent over https')
    this.#origin = origin
    this.#options = options
  }

  /** The hub, as a part of a folder's name. */
  get host(): string {
    return new URL(this.#origin).host.replace(/[^\w.-]/g, '_')
  }

  /** A JSON reply and the address of its next page, on this hub; null if it is the last. */
  async json(path: string, what: string): Promise<{ readonly value: unknown; readonly next: string | null }> {
    const read = async (reply: Response): Promise<{ value: unknown; next: string | null }> => {
      const text = await textOf(reply, what)
      try {
        return { value: JSON.parse(text) as unknown, next: this.#nextPage(reply) }
      } catch {
        throw new GatewayError('RG_INPUT_INVALID', `${what}: the hub's answer is not JSON`)
      }
    }
    return this.#asked(path, what, read)
  }

  /** Hands the whole body of a file to `read`, from its start again if the connection breaks. */
  file<T>(path: string, what: string, read: (reply: Response) => Promise<T>): Promise<T> {
    return this.#asked(path, what, read)
  }

  async #asked<T>(path: string, what: string, read: (reply: Response) => Promise<T>): Promise<T> {
    const { signal, tell, wait = waited } = this.#options
    for (let tries = 1; ; tries++) {
      let fault: GatewayError
      let pauseMs = 1000 * 2 ** (tries - 1)
      try {
        const reply = await this.#followed(path)
        if (reply.ok) return await read(reply)
        await reply.body?.cancel()
        fault = refusal(reply, what, this.#token !== null)
        if (!statusesToRepeat.has(reply.status)) throw fault
        pauseMs = retryAfterMs(reply.headers.get('retry-after')) ?? pauseMs
      } catch (error) {
        if (signal.aborted) throw stopped(what)
        const isOwn =
          error instanceof GatewayError ? !(error instanceof BrokenDownload) : fileTrouble(error) !== null
        // A full disk is none of the hub's faults.
        if (isOwn) throw error
        fault =
          error instanceof GatewayError
            ? error
            : new GatewayError('RG_INPUT_INVALID', `${what}: ${connectionReason(error)}`)
      }
      if (tries >= mostTries || pauseMs > longestWaitMs) throw fault
      tell(`${fault.message}; asks again in ${Math.ceil(pauseMs / 1000)} s`)
      await wait(pauseMs, signal).catch(() => {
        throw stopped(what)
      })
    }
  }

  /** Follows redirects itself: `fetch` would also follow one from https to http. */
  async #followed(path: string): Promise<Response> {
    let url = new URL(this.#origin + path)
    for (let step = 0; step <= mostRedirects; step++) {
      const isOwn = url.origin === this.#origin
      const reply = await fetch(url.href, {
        redirect: 'manual',
        signal: this.#options.signal,
        headers: {
          'user-agent': 'reward-gateway',
          'accept-encoding': 'identity',
          ...(isOwn && this.#token !== null && { authorization: `Bearer ${this.#token}` }),
        },
      })
      const location = reply.headers.get('location')
      if (reply.status < 300 || reply.status > 399 || location === null) return reply
      await reply.body?.cancel()
      const next = URL.canParse(location, url.href) ? new URL(location, url.href) : null
      if (
        !next ||
        !/^https?:$/.test(next.protocol) ||
        (url.protocol === 'https:' && next.protocol !== 'https:')
      )
        throw new GatewayError('RG_INPUT_INVALID', 'the hub redirects to an address that is not https')
      next.username = ''
      next.password = ''
      url = next
    }
    throw new GatewayError('RG_INPUT_INVALID', `the hub redirects more than ${mostRedirects} times`)
  }

  #nextPage(reply: Response): string | null {
    const link = /<([^<>]{1,4000})>\s*;\s*rel="next"/.exec(reply.headers.get('link') ?? '')?.[1]
    if (link === undefined || !URL.canParse(link, this.#origin)) return null
    const url = new URL(link, this.#origin)
    return url.origin === this.#origin ? `${url.pathname}${url.search}` : null
  }
}

/** A file that did not arrive whole, which is worth another try. */
export class BrokenDownload extends GatewayError {
  constructor(message: string) {
    super('RG_INPUT_INVALID', message)
  }
}

function originOf(endpoint: string): string | null {
  if (!URL.canParse(endpoint)) return null
  const { protocol, origin, pathname, search, username } = new URL(endpoint)
  return /^https?:$/.test(protocol) && pathname === '/' && search === '' && username === '' ? origin : null
}

const isConfidential = (origin: string): boolean => {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
}

const stopped = (what: string): GatewayError =>
  new GatewayError('RG_INPUT_INVALID', `${what}: the download was stopped`)

/** What a status means. The hub's own text is not shown: it may quote the request. */
function refusal({ status, headers }: Response, what: string, hasToken: boolean): GatewayError {
  const code = headers.get('x-error-code')
  const named = (words: string) => new GatewayError('RG_INPUT_INVALID', `${what}: ${words}`)
  if (code === 'GatedRepo' || status === 403)
    return named(
      'this data set is restricted: accept its terms on the hub, and set HF_TOKEN to a token of that account',
    )
  if (status === 401)
    return named(
      hasToken
        ? 'the hub does not accept the token in HF_TOKEN'
        : 'there is no such data set, or it is private: set HF_TOKEN to a token that may read it',
    )
  if (code === 'RevisionNotFound') return named('the hub has no such revision')
  if (status === 404) return named('the hub has no such data set, revision or file')
  if (status === 429) return named('the hub limits requests (429)')
  return named(`the hub answers with status ${status}`)
}

/** Null if the header is absent or unreadable. */
function retryAfterMs(header: string | null): number | null {
  if (header === null) return null
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}

const connectionReason = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return `the connection to the hub failed: ${reasonOf(cause)}`
}

async function textOf(reply: Response, what: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of reply.body ?? []) {
    length += piece.length
    if (length > longestText)
      throw new GatewayError('RG_INPUT_INVALID', `${what}: the hub's answer is too long`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const waited = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    const cancel = systemClock.after(ms, () => {
      signal.removeEventListener('abort', end)
      resolve()
    })
    signal.addEventListener(
      'abort',
      () => {
        cancel()
        end()
      },
      { once: true },
    )
  })
