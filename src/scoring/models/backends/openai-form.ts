import type { Generation, Reply, TokenLogprob } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Rendered, Sampling } from '../api/ask.ts'
import { checkFinished, noAnswer } from '../transport/finish-reason.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { checkNoError, isObject, type JsonObject, malformedReply, usage } from '../transport/reply.ts'
import { checkedAlternatives, checkedLogprob } from './logprobs.ts'

/** Servers give a completion of a plain prompt 16 tokens where none are named: too few for any verdict. */
export const completionTokens = 1024

const chatMembers = memoizeByObject((sampling: Sampling) => membersOf(sampling, 0, true))
const plainMembers = memoizeByObject((sampling: Sampling) => membersOf(sampling, 0, false))

/** Settings as the members of a request's JSON, each with a comma before it. Chat and plain prompts differ in logprobs. */
export function samplingMembers(sampling: Sampling, seedOffset: number, chat: boolean): string {
  if (sampling.seed !== undefined) return membersOf(sampling, seedOffset, chat)
  return chat ? chatMembers(sampling) : plainMembers(sampling)
}

function membersOf(sampling: Sampling, seedOffset: number, chat: boolean): string {
  const { logprobs, seed, thinking, ...named } = sampling
  const members: Record<string, unknown> = { ...named }
  if (seed !== undefined) members.seed = seed + seedOffset
  if (logprobs !== undefined && chat) members.logprobs = true
  if (logprobs !== undefined) members[chat ? 'top_logprobs' : 'logprobs'] = logprobs
  // Qwen and others read enable_thinking, DeepSeek reads thinking; a template ignores what it does not know.
  if (thinking !== undefined && chat) members.chat_template_kwargs = { enable_thinking: thinking, thinking }
  if (!chat) members.max_tokens ??= completionTokens
  const text = JSON.stringify(members)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

/** `structured_outputs`, vLLM's form since 0.11 (the guided_* fields are gone since 0.12). */
export const structuredOutputs = (reply: Reply | undefined): string => (reply ? formOf(reply) : '')

const formOf = memoizeByObject((reply: Reply): string => {
  const form = 'schema' in reply ? { json: reply.schema } : reply
  return `,"structured_outputs":${JSON.stringify(form)}`
})

/** The only choice of a reply, in chat or completion form. */
export function readGeneration(body: JsonObject, input: Rendered): ParsedReply<Generation> {
  const { choices } = body
  if (!Array.isArray(choices) || choices.length !== 1) throw malformedReply('not one choice')
  const [choice] = choices as unknown[]
  if (!isObject(choice)) throw malformedReply('a choice is not an object')
  if (choice.index !== undefined && choice.index !== 0)
    throw malformedReply('the only choice is not the first')
  const answer = generationOf(choice, typeof input !== 'string')
  const { prompt, completion } = usage(body)
  return { answer, prompt, completion }
}

/** A choice in chat or completion form, which must be a whole answer in words. Throws UpstreamError. */
export function generationOf(choice: JsonObject, isChat: boolean): Generation {
  checkNoError(choice)
  const finishReason = checkFinished(choice.finish_reason)
  if (isFiltered(choice.content_filter_results)) throw noAnswer('content_filter')
  const text = isChat ? textOf(choice.message) : choice.text
  if (typeof text !== 'string') throw malformedReply('no text')
  const logprobs = isChat ? chatLogprobs(choice.logprobs) : completionLogprobs(choice.logprobs)
  return logprobs ? { text, finishReason, logprobs } : { text, finishReason }
}

/** A model that only thought, until its tokens were spent, has null for its content. Throws UpstreamError where it did not answer. */
function textOf(message: unknown): unknown {
  if (!isObject(message)) return undefined
  checkNoError(message)
  const { content, refusal, tool_calls: calls, function_call: call } = message
  if (says(refusal)) throw noAnswer('refusal')
  if (says(calls) || says(call)) throw noAnswer('tool_calls')
  return content ?? ''
}

/** Whether a member that is usually null, false or empty holds something, in whatever form. */
const says = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : value !== undefined && value !== null && value !== false && value !== ''

/** Azure tells so of a text that a filter found fault with after it was written, beside `stop`. */
const isFiltered = (results: unknown): boolean =>
  isObject(results) && Object.values(results).some((one) => isObject(one) && one.filtered === true)

function chatLogprobs(value: unknown): TokenLogprob[] | null {
  if (!isObject(value) || !Array.isArray(value.content)) return null
  return value.content.map((entry: unknown) => {
    if (!isObject(entry)) throw malformedReply('a logprob is not an object')
    const top = Array.isArray(entry.top_logprobs) ? entry.top_logprobs : []
    return { ...tokenOf(entry), top: checkedAlternatives(top.map(tokenOf)) }
  })
}

function tokenOf(entry: unknown): { token: string; logprob: number } {
  if (!isObject(entry)) throw malformedReply('a logprob is not an object')
  const { token, logprob } = entry
  if (typeof token !== 'string') throw malformedReply('a token is not a text')
  return { token, logprob: checkedLogprob(logprob) }
}

function completionLogprobs(value: unknown): TokenLogprob[] | null {
  if (!isObject(value)) return null
  const { tokens, token_logprobs: logprobs, top_logprobs: tops } = value
  if (!Array.isArray(tokens) || !Array.isArray(logprobs) || tokens.length !== logprobs.length)
    throw malformedReply('logprobs do not match the tokens')
  return tokens.map((token: unknown, at) => {
    const top: unknown = Array.isArray(tops) ? tops[at] : null
    const entries = isObject(top) ? Object.entries(top) : []
    return {
      ...tokenOf({ token, logprob: logprobs[at] }),
      top: checkedAlternatives(entries.map(([token, logprob]) => tokenOf({ token, logprob }))),
    }
  })
}
