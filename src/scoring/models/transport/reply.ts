import type { AskName } from '../../../contract/index.ts'
import { depthLimit } from '../../../core/json/limits.ts'
import type { Reply } from './transport.ts'
import { UpstreamError } from './upstream-error.ts'

/** An answer and the tokens that it cost. */
export interface ParsedReply<T> {
  readonly answer: T
  readonly prompt: number
  readonly completion: number
}

/** Any JSON object, unchecked. */
export type JsonObject = { readonly [key: string]: unknown }

/** Whether a value is an object, and neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The error for a reply that breaks the server's API. Another instance may do better. */
export const malformedReply = (what: string): UpstreamError =>
  new UpstreamError('judge_unreachable', `the reply is unusable: ${what}`, { isAboutContent: true })

/** The JSON of a model server's reply with status 200. Throws UpstreamError. */
export function readJson(reply: Reply): unknown {
  const value = jsonIn(reply)
  if (isObject(value)) checkNoError(value)
  return value
}

/** The JSON of a reply with status 200. Where a service reports errors is for its author to say. Throws UpstreamError. */
export function jsonOf(ask: AskName, reply: Reply): unknown {
  if (ask !== 'service') return readJson(reply)
  // What a service says besides its status may repeat the sample.
  return jsonIn(reply.status === 200 ? reply : { ...reply, text: '' })
}

function jsonIn(reply: Reply): unknown {
  if (reply.status !== 200) throw refusal(reply)
  const names = namesIn(reply.text)
  if (names === null) throw malformedReply('it holds too many values')
  let value: unknown
  let isRepeated: boolean
  try {
    value = JSON.parse(reply.text)
    isRepeated = hasRepeatedKey(reply.text, value, names)
  } catch {
    throw malformedReply('it is not JSON')
  }
  if (isRepeated) throw malformedReply('an object has a duplicate key')
  return value
}

/** Throws UpstreamError if an object reports an error, whatever else it holds. */
export function checkNoError({ error, object }: JsonObject): void {
  const says = error !== undefined && error !== null && error !== false && error !== ''
  if (says || object === 'error') throw malformedReply('an error with status 200')
}

/** `value`, if it is a JSON object. Throws UpstreamError. */
export function objectOf(value: unknown): JsonObject {
  if (!isObject(value)) throw malformedReply('not a JSON object')
  return value
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The token usage of a reply; 0 if it reports none. */
export function usage(body: JsonObject): { prompt: number; completion: number } {
  const { usage } = body
  if (!isObject(usage)) return { prompt: 0, completion: 0 }
  const { prompt_tokens: prompt, completion_tokens: completion } = usage
  return { prompt: isCount(prompt) ? prompt : 0, completion: isCount(completion) ? completion : 0 }
}

/** Whether a value is a list, possibly empty, of finite numbers. */
export const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'number' && Number.isFinite(entry))

/** The entries of a list, ordered by their `index`. Throws UpstreamError unless there is exactly one for each input. */
export function itemsOf(list: unknown, count: number): JsonObject[] {
  if (!Array.isArray(list) || list.length !== count) throw malformedReply(`not ${count} entries`)
  const ordered: JsonObject[] = []
  for (const entry of list as unknown[]) {
    const { index } = objectOf(entry)
    if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= count)
      throw malformedReply('an entry has no valid index')
    if (ordered[index as number]) throw malformedReply('two entries have the same index')
    ordered[index as number] = entry as JsonObject
  }
  return ordered
}

/** The error for a reply whose status is not 200. Never quotes the server, whose message may contain the prompt. */
export function refusal(reply: Reply): UpstreamError {
  const { status } = reply
  const detail = `the server answered ${status}`
  if (status === 429 || status === 503)
    return new UpstreamError('overloaded', detail, {
      blame: false,
      waitMs: retryAfterMs(reply.retryAfter),
      isUnavailable: status === 503,
      isUnsent: true,
      isAway: true,
    })
  if (status === 501)
    return new UpstreamError('judge_rejected', `${detail}: it does not offer this path for its model`, {
      remedy: 'give-up',
    })
  // 502 and 504 come from a proxy whose server is down.
  const isAway = status === 502 || status === 504
  if (status >= 500) return new UpstreamError('judge_unreachable', detail, { isAboutContent: true, isAway })
  if (status === 408) return new UpstreamError('judge_timeout', detail)
  if (status === 400 || status === 413 || status === 422) {
    const room = roomFault(reply.text)
    if (room) return room
    if (isTooLong(reply.text))
      return new UpstreamError('prompt_too_long', "the prompt is longer than the model's window", {
        remedy: 'give-up',
        isAboutContent: true,
      })
    return new UpstreamError('judge_rejected', detail, { remedy: 'give-up', isAboutContent: true })
  }
  if (status === 404)
    return new UpstreamError('judge_rejected', `${detail}: does it serve this model and this path?`)
  if (status < 400) return malformedReply(`status ${status}`)
  return new UpstreamError('judge_rejected', detail, { remedy: 'give-up' })
}

/** Milliseconds of a Retry-After header, at most a minute. A date counts as one second. */
function retryAfterMs(value: string): number {
  if (value === '') return 0
  const seconds = Number(value)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 60) * 1000 : 1000
}

// The messages of vLLM ("This model's maximum context length is ..."; "longer than the maximum model length of"),
// SGLang ("is longer than the model's context length") and OpenAI (code context_length_exceeded).
const tooLongWords = [
  'context_length_exceeded',
  'maximum context length',
  'context length (',
  'maximum model length',
  '"input_tokens"',
]

const isTooLong = (text: string): boolean => {
  const head = text.slice(0, 4096)
  return tooLongWords.some((words) => head.includes(words))
}

// SGLang: "maximum context length of 8192 tokens. You requested a total of 9033 tokens: 33 tokens from the input messages and
// 9000 tokens for the completion". vLLM: "'max_tokens' ... is too large: 9000. This model's maximum context length is 8192
// tokens and your request has 33 input tokens"; before, "(33 in the messages, 9000 in the completion)".
const requests = [
  /context length of (?<window>\d+) tokens\. You requested a total of \d+ tokens: (?<prompt>\d+) tokens from the input messages and (?<reply>\d+) tokens/,
  /too large: (?<reply>\d+)\. This model's maximum context length is (?<window>\d+) tokens and your request has (?<prompt>\d+) input tokens/,
  /context length is (?<window>\d+) tokens\. However, you requested \d+ tokens \((?<prompt>\d+) in the messages, (?<reply>\d+) in the completion\)/,
]

/** The error if `max_tokens` is what does not fit: it is larger than the prompt. null if the message does not say so. */
function roomFault(text: string): UpstreamError | null {
  const head = text.slice(0, 4096)
  for (const request of requests) {
    const { window, prompt, reply } = request.exec(head)?.groups ?? {}
    if (Number(reply) <= Number(prompt) || reply === undefined) continue
    return new UpstreamError(
      'judge_rejected',
      `max_tokens ${reply} does not fit into the model's window of ${window} tokens together with a prompt of ${prompt}`,
      { remedy: 'give-up', blame: false, isAboutContent: Number(reply) < Number(window) },
    )
  }
  return null
}

/**
 * Whether an object in a JSON text has the same key twice; JSON.parse keeps the last. `value` is the parsed text, `keys` the
 * number of keys in the text. Only a text with more keys than its value is scanned: scanning all costs a batch of judged samples
 * 9 % more (`npm run against`). It stays, small as it is: see Speed in docs/architecture.md.
 */
function hasRepeatedKey(text: string, value: unknown, keys: number): boolean {
  return keys > keysOf(value) && namesTwice(text)
}

function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  // Lists of numbers hold nothing else in practice, and a vector has thousands.
  if (Array.isArray(value)) for (const item of value) count += typeof item === 'object' ? keysOf(item) : 0
  else
    for (const key in value) {
      const inner = (value as Record<string, unknown>)[key]
      count += typeof inner === 'object' ? 1 + keysOf(inner) : 1
    }
  return count
}

/** Scans a valid JSON text. */
function namesTwice(text: string): boolean {
  // null stands for a list.
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === 0x7b) open.push(new Set())
    else if (char === 0x5b) open.push(null)
    else if (char === 0x7d || char === 0x5d) open.pop()
    else if (char === quote) {
      const end = endOfText(text, at + 1)
      let next = end + 1
      while (isSpace(text.charCodeAt(next))) next += 1
      if (text.charCodeAt(next) === 0x3a) {
        const key = JSON.parse(text.slice(at, end + 1)) as string
        const keys = open.at(-1)
        if (keys?.has(key)) return true
        keys?.add(key)
      }
      at = end
    }
  }
  return false
}

const isSpace = (char: number): boolean => char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09

/**
 * Limit on lists, objects, keys and strings in one reply; a number counts as a twelfth. JSON.parse takes about 50 ms for this
 * many. The largest honest replies, batches of embeddings and logprobs, hold fewer.
 */
const mostValues = 50_000
const numberShare = 12

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
/** What each character counts outside of strings. */
const weights = new Uint8Array(128)
weights[0x2c] = 1
for (const opening of [quote, 0x5b, 0x7b]) weights[opening] = numberShare
/** Marks the colon, which counts keys. */
const name = 255
weights[colon] = name
const closing = 254
for (const bracket of [0x5d, 0x7d]) weights[bracket] = closing

/**
 * Counts the keys of a JSON text without parsing it; null if it holds more values than any honest reply. Throws UpstreamError for a
 * text that is nested so deeply that reading it further may need more stack than there is. Linear time.
 */
function namesIn(text: string): number | null {
  let left = numberShare * mostValues
  let names = 0
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    const weight = char < 128 ? (weights[char] as number) : 0
    if (weight === 0) continue
    if (weight === name) {
      names += 1
      continue
    }
    if (weight === closing) {
      depth -= 1
      continue
    }
    left -= weight
    if (left < 0) return null
    if (char === quote) at = endOfText(text, at + 1)
    else if (weight === numberShare && ++depth > depthLimit) throw malformedReply('it is nested too deeply')
  }
  return names
}

/** `indexOf` costs as much as reading this many characters. Text full of escaped quotes is faster to read one by one. */
const nearChars = 32
const mostNearChars = 4096

/** The index of the quote that ends the string whose first character is at `from`; the length if there is none. */
function endOfText(text: string, from: number): number {
  let at = from
  for (let near = nearChars; ; near = Math.min(4 * near, mostNearChars)) {
    for (const until = Math.min(at + near, text.length); at < until; at++) {
      const char = text.charCodeAt(at)
      if (char === quote) return at
      if (char === backslash) at++
    }
    const end = text.indexOf('"', at)
    if (end < 0) return text.length
    let before = end
    while (before > at && text.charCodeAt(before - 1) === backslash) before--
    if ((end - before) % 2 === 0) return end
    at = end + 1
  }
}
