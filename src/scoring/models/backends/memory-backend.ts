import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { isObject, type JsonObject } from '../transport/reply.ts'
import type { HttpMessage, Reply } from '../transport/transport.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/**
 * An order that was not carried out. `asItWas`: nothing was changed, so the server goes on as before. `isFinal`: so it is for as
 * long as its process runs.
 */
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

/** How one kind of server gives its GPU memory back and takes it again. Rejects with UpstreamError or OrderFailed. */
export interface MemoryBackend {
  /** Whether an order that changes nothing kills the server: then only what is known to be awake is put to sleep, and only what was put to sleep is woken. */
  readonly isFragile: boolean
  /** Whether it sleeps; null: it does not say. */
  isAsleep(server: ServerCalls): Promise<boolean | null>
  /** What tells the process that runs there from one that is started later; '': it says nothing of the kind. */
  processOf(server: ServerCalls): Promise<string>
  /** The path from which a later wake reads the weights; '': it needs none. Rejects with OrderFailed where the server would lose its weights. */
  prepare(server: ServerCalls, level: number): Promise<string>
  sleep(server: ServerCalls, level: number): Promise<void>
  wake(server: ServerCalls, level: number, prepared: string): Promise<void>
  /** The answer to the known question; null: none of the server's endpoints takes it. */
  askKnown(server: ServerCalls, model: string): Promise<KnownAnswer | null>
}

/** /server_info of a large SGLang server is the longest of the replies. */
const mostReplyBytes = 8 * 1024 * 1024

/** Requests to one server beside its line and breaker. They reject with UpstreamError. */
export interface ServerCalls {
  get(path: string): Promise<Reply>
  /**
   * `once`: a broken connection must not be followed by the same request, since the first one may have been obeyed. `ms`:
   * a time of its own instead of the order's.
   */
  post(path: string, body: unknown, how?: { readonly once?: true; readonly ms?: number }): Promise<Reply>
  /** Resolves after `ms`. */
  pause(ms: number): Promise<void>
  /** Milliseconds until the order's time is over, and of all of it. */
  readonly leftMs: number
  readonly limitMs: number
}

/** Whom to call, and how long. */
export interface CalledServer {
  readonly clock: Clock
  readonly endpoint: Endpoint
  readonly headers: Record<string, string>
  readonly timeoutMs: number
}

/** The JSON object of a reply with status 200; null for anything else. */
export function objectIn({ status, text }: Reply): JsonObject | null {
  if (status !== 200) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Calls to one endpoint, whose time is over after `timeoutMs` together. */
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
        // A kept connection breaks when its server has died; only another one shows that nothing listens.
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

/** Two plain texts: a model that tells them apart has its weights. */
export const knownTexts = ['The capital of France is', 'Seven times six makes'] as const

/** What a server said to the known question: a text and how likely its first token's alternatives were, or numbers. */
export interface KnownAnswer {
  readonly text: string
  /** Logprobs of the first token's alternatives, by token; empty where the server gives none. */
  readonly likely: ReadonlyMap<string, number>
  /** One list for each known text; empty where the model writes. */
  readonly numbers: readonly (readonly number[])[]
}

/** The answer of a model that writes. `alternatives`: token and logprob. */
export const writtenAnswer = (
  text: string,
  alternatives: readonly (readonly [string, number])[],
): KnownAnswer => ({ text, likely: new Map(alternatives), numbers: [] })

/** The answer of a model that gives numbers; null where there is not a list for each text. */
export function numbersAnswer(
  entries: unknown,
  numbersOf: (entry: JsonObject) => unknown,
): KnownAnswer | null {
  if (!Array.isArray(entries) || entries.length !== knownTexts.length) return null
  const numbers = entries.map((entry: unknown) => (isObject(entry) ? flat(numbersOf(entry)) : []))
  if (numbers.some(({ length }) => length === 0)) return null
  return { text: '', likely: new Map(), numbers }
}

/** Numbers of lists within lists, two deep. */
const flat = (value: unknown): number[] =>
  [value].flat(2).filter((entry): entry is number => typeof entry === 'number' && Number.isFinite(entry))

/** Nats by which the likeliest token may move; other batches and kernels move it by some hundredths. */
const nats = 0.5
/** Share of its length by which a vector may move, and what is added for one that is close to 0. */
const share = 0.05
const least = 0.02

/** Why an answer cannot come from a model that judges; '' where it can. `before`: what the server said before it slept. */
export function doubtAbout(answer: KnownAnswer, before: KnownAnswer | null): string {
  if (isConstant(answer)) return 'it says the same to everything, as a model without weights does'
  if (before && differs(answer, before))
    return 'it answers a known question otherwise than before it slept: its weights may be lost'
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

/** Between two vectors; what one of them lacks is 0. */
function distance(one: readonly number[], other: readonly number[]): number {
  let sum = 0
  for (const [at, value] of one.entries()) sum += (value - (other[at] ?? 0)) ** 2
  return Math.sqrt(sum)
}
