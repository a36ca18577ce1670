import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { isObject, type JsonObject } from '../transport/reply.ts'
import type { HttpMessage, Reply } from '../transport/transport.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** An order failed. `isUnchanged`: the server goes on as before. `isFinal`: its process can never obey the order. */
export class OrderFailed extends Error {
  override readonly name = 'OrderFailed' as const
  readonly isUnchanged: boolean
  readonly isFinal: boolean

  constructor(reason: string, asItWas: boolean, isFinal = false) {
    super(reason)
    this.isUnchanged = asItWas
    this.isFinal = isFinal
  }
}

/** How one kind of server releases its GPU memory and takes it again. Rejects with UpstreamError or OrderFailed. */
export interface MemoryBackend {
  /** Whether a redundant order crashes the server. If so, only servers known to be awake are put to sleep, and vice versa. */
  readonly isFragile: boolean
  /** Whether the server sleeps; null if it does not report it. */
  isAsleep(server: ServerCalls): Promise<boolean | null>
  /** Identifies the server process, so that a restart is noticed; '' if the server reports nothing suitable. */
  processOf(server: ServerCalls): Promise<string>
  /** The path that `wake` reloads the weights from; '' if none is needed. Rejects with OrderFailed if they would be lost. */
  prepare(server: ServerCalls, level: number): Promise<string>
  sleep(server: ServerCalls, level: number): Promise<void>
  wake(server: ServerCalls, level: number, prepared: string): Promise<void>
  /** The answer to the known question; null if no endpoint takes it. */
  askKnown(server: ServerCalls, model: string): Promise<KnownAnswer | null>
}

/** The longest reply is /server_info of a large SGLang server. */
const mostReplyBytes = 8 * 1024 * 1024

/** Requests to one server, past its queue and breaker. They reject with UpstreamError. */
export interface ServerCalls {
  get(path: string): Promise<Reply>
  /** `once`: never resend after a broken connection, since the server may have obeyed. `ms`: a time limit instead of the order's. */
  post(path: string, body: unknown, how?: { readonly once?: true; readonly ms?: number }): Promise<Reply>
  /** Resolves after `ms`. */
  pause(ms: number): Promise<void>
  /** Milliseconds left for the order, and its time limit. */
  readonly leftMs: number
  readonly limitMs: number
}

/** A server to call, and the time limit for all calls together. */
export interface CalledServer {
  readonly clock: Clock
  readonly endpoint: Endpoint
  readonly headers: Record<string, string>
  readonly timeoutMs: number
}

/** The JSON object in a reply with status 200; null for anything else. */
export function objectIn({ status, text }: Reply): JsonObject | null {
  if (status !== 200) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Calls to one endpoint that share one time limit. */
export function callsTo({ clock, endpoint, headers, timeoutMs }: CalledServer): ServerCalls {
  const until = clock.now() + timeoutMs
  const leftMs = () => Math.max(until - clock.now(), 0)
  const sent = (message: Omit<HttpMessage, 'headers'>, ms = leftMs()): Promise<Reply> =>
    endpoint.replyTo({ ...message, headers }, ms, mostReplyBytes)
  const isBroken = (error: unknown): boolean =>
    error instanceof UpstreamError && error.kind === 'judge_unreachable' && !error.isRefused
  const got = (path: string) => ({ method: 'GET', path, body: null }) as const
  return {
    get leftMs() {
      return leftMs()
    },
    limitMs: timeoutMs,
    pause: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    async get(path) {
      return sent(got(path)).catch((error) => (isBroken(error) ? sent(got(path)) : Promise.reject(error)))
    },
    async post(path, body, { once = false, ms } = {}) {
      const message = { method: 'POST', path, body: body === null ? '' : JSON.stringify(body) } as const
      try {
        return await sent(message, ms)
      } catch (error) {
        // A kept-alive connection breaks when its server dies; only a new one shows that nothing listens.
        if (!isBroken(error)) throw error
        if (!once) return sent(message, ms)
        await sent(got('/v1/models')).catch((other: unknown) => {
          if (other instanceof UpstreamError && other.isRefused) throw other
        })
        throw error
      }
    },
  }
}

/** Two plain texts. A model that answers them differently has its weights. */
export const knownTexts = ['The capital of France is', 'Seven times six makes'] as const

/** A server's answer to the known question: a text with the alternatives of its first token, or numbers. */
export interface KnownAnswer {
  readonly text: string
  /** Logprobs of the first token's alternatives, by token; empty if the server returns none. */
  readonly likely: ReadonlyMap<string, number>
  /** One list for each known text; empty for a model that generates text. */
  readonly numbers: readonly (readonly number[])[]
}

/** The answer of a model that generates text. `alternatives`: token and logprob. */
export const writtenAnswer = (
  text: string,
  alternatives: readonly (readonly [string, number])[],
): KnownAnswer => ({ text, likely: new Map(alternatives), numbers: [] })

/** The answer of a model that returns numbers; null unless there is a list for each text. */
export function numbersAnswer(
  entries: unknown,
  numbersOf: (entry: JsonObject) => unknown,
): KnownAnswer | null {
  if (!Array.isArray(entries) || entries.length !== knownTexts.length) return null
  const numbers = entries.map((entry: unknown) => (isObject(entry) ? flat(numbersOf(entry)) : []))
  if (numbers.some(({ length }) => length === 0)) return null
  return { text: '', likely: new Map(), numbers }
}

/** The numbers in lists nested up to two deep. */
const flat = (value: unknown): number[] =>
  [value].flat(2).filter((entry): entry is number => typeof entry === 'number' && Number.isFinite(entry))

/** Nats by which the most likely token may change; other batches and kernels change it by some hundredths. */
const nats = 0.5
/** Share of its length by which a vector may change, plus a constant for vectors close to 0. */
const share = 0.05
const least = 0.02

/** Why a working model cannot have given the answer; '' if it can. `before`: the server's answer before it slept. */
export function doubtAbout(answer: KnownAnswer, before: KnownAnswer | null): string {
  if (isConstant(answer)) return 'it gives the same answer to everything, like a model without weights'
  if (before && differs(answer, before))
    return 'it answers a known question differently than before it slept: its weights may be lost'
  return ''
}

function isConstant({ text, likely, numbers }: KnownAnswer): boolean {
  const [one, other] = numbers
  if (one && other) return distance(one, other) === 0
  if (likely.size > 2) {
    const logprobs = [...likely.values()]
    return Math.max(...logprobs) - Math.min(...logprobs) < 1e-3
  }
  return /^!{2,}$/.test(text)
}

function differs(answer: KnownAnswer, before: KnownAnswer): boolean {
  if (answer.numbers.length !== before.numbers.length) return true
  if (before.numbers.length > 0)
    return before.numbers.some((numbers, at) => {
      const now = answer.numbers[at] ?? []
      return now.length !== numbers.length || distance(now, numbers) > share * distance(numbers, []) + least
    })
  if (before.likely.size === 0 || answer.likely.size === 0) return answer.text !== before.text
  let best: readonly [string, number] = ['', Number.NEGATIVE_INFINITY]
  for (const entry of before.likely) if (entry[1] > best[1]) best = entry
  const now = answer.likely.get(best[0])
  return now === undefined || Math.abs(now - best[1]) > nats
}

/** Euclidean distance; missing entries count as 0. */
function distance(one: readonly number[], other: readonly number[]): number {
  let sum = 0
  for (const [at, value] of one.entries()) sum += (value - (other[at] ?? 0)) ** 2
  return Math.sqrt(sum)
}
