import { hasRepeatedKey } from './repeated-keys.ts'
import { namesIn } from './reply-values.ts'
import type { Reply } from './transport.ts'
import { UpstreamError } from './upstream-error.ts'

/** An answer with what it cost. */
export interface ParsedReply<T> {
  readonly answer: T
  readonly prompt: number
  readonly completion: number
}

/** Any JSON object, unchecked. */
export type JsonObject = { readonly [key: string]: unknown }

/** Not null, not a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A reply that is not what its server promises: another instance may do better. */
export const malformedReply = (what: string): UpstreamError =>
  new UpstreamError('judge_unreachable', `the reply is unusable: ${what}`, { isAboutContent: true })

/** The JSON of a reply with status 200. Throws UpstreamError. */
export function readJson(reply: Reply): unknown {
  if (reply.status !== 200) throw refusal(reply)
  const names = namesIn(reply.text)
  if (names === null) throw malformedReply('it holds more values than any answer')
  let value: unknown
  let isRepeated: boolean
  try {
    value = JSON.parse(reply.text)
    isRepeated = hasRepeatedKey(reply.text, value, names)
  } catch {
    // A RangeError tells of thousands of lists within each other.
    throw malformedReply('not JSON, or nested too deeply')
  }
  if (isRepeated) throw malformedReply('an object names a key twice')
  if (isObject(value)) checkNoError(value)
  return value
}

/** Throws UpstreamError where an object tells of an error, whatever else it holds. */
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

/** Tokens of a reply; 0 where it does not say. */
export function usage(body: JsonObject): { prompt: number; completion: number } {
  const { usage } = body
  if (!isObject(usage)) return { prompt: 0, completion: 0 }
  const { prompt_tokens: prompt, completion_tokens: completion } = usage
  return { prompt: isCount(prompt) ? prompt : 0, completion: isCount(completion) ? completion : 0 }
}

/** A list of finite numbers; the empty one too. */
export const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'number' && Number.isFinite(entry))

/** The entries of a list, by their `index` in the order of what was asked. Throws UpstreamError. */
export function itemsOf(list: unknown, count: number): JsonObject[] {
  if (!Array.isArray(list) || list.length !== count) throw malformedReply(`not ${count} entries`)
  const ordered: JsonObject[] = []
  for (const entry of list as unknown[]) {
    const { index } = objectOf(entry)
    if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= count)
      throw malformedReply('an entry has no place')
    if (ordered[index as number]) throw malformedReply('two entries have one place')
    ordered[index as number] = entry as JsonObject
  }
  return ordered
}

/** The UpstreamError of a reply whose status is not 200. Never holds the server's own words: they may quote the prompt. */
export function refusal(reply: Reply): UpstreamError {
  const { status } = reply
  const detail = `the server answered ${status}`
  if (status === 429 || status === 503)
    return new UpstreamError('overloaded', detail, {
      blame: false,
      waitMs: retryAfterMs(reply.retryAfter),
      isUnavailable: status === 503,
      isAway: true,
    })
  // 502 and 504 are a proxy's, whose server is not there.
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

/** Milliseconds that a Retry-After of seconds asks for, at most a minute; a date counts as a second. */
export function retryAfterMs(value: string): number {
  if (value === '') return 0
  const seconds = Number(value)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 60) * 1000 : 1000
}

// The words of vLLM ("This model's maximum context length is ..."; "longer than the maximum model length of"),
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

/** Where a reply may be longer than the prompt is, it is the reply that does not fit; null: nothing is said of that. */
function roomFault(text: string): UpstreamError | null {
  const head = text.slice(0, 4096)
  for (const request of requests) {
    const { window, prompt, reply } = request.exec(head)?.groups ?? {}
    if (Number(reply) <= Number(prompt) || reply === undefined) continue
    return new UpstreamError(
      'judge_rejected',
      `max_tokens ${reply} does not fit into the model's window of ${window} tokens beside a prompt of ${prompt}`,
      { remedy: 'give-up', blame: false, isAboutContent: Number(reply) < Number(window) },
    )
  }
  return null
}
