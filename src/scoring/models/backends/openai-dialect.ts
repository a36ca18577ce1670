import type { Generation, Reply, TokenLogprob } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Rendered, Sampling } from '../interface/ask.ts'
import { bodyOf, imagesOfInput, questionJson } from '../interface/question-json.ts'
import {
  checkNoError,
  isNumbers,
  isObject,
  itemsOf,
  type JsonObject,
  malformedReply,
  type ParsedReply,
  usage,
} from '../transport/reply.ts'
import { orFault, UpstreamError } from '../transport/upstream-error.ts'
import type { Settings } from './backend.ts'
import {
  checkedAlternatives,
  checkedLogprob,
  checkFinished,
  noAnswer,
  type TextForm,
} from './generated-text.ts'

/** How servers with OpenAI's text endpoints differ. */
interface OpenaiServer {
  readonly model: string
  /** The rest of a request besides model and texts: JSON members, each preceded by a comma. */
  members(settings: Settings, isChat: boolean): string
  /** Path that takes a list of conversations; null if the server has none. */
  readonly chatBatchPath: string | null
  /** Throws UpstreamError if the reply does not come from the model. */
  checked(body: unknown): JsonObject
}

const isChat = (question: Rendered): boolean => typeof question !== 'string'

/** /v1/chat/completions for conversations, /v1/completions for plain prompts, which takes one or a list. */
export function openaiTexts({ model, members, chatBatchPath, checked }: OpenaiServer): TextForm {
  const start = `{"model":${JSON.stringify(model)}`
  return {
    translate(question, settings) {
      const chat = isChat(question)
      const parts = [start, chat ? ',"messages":' : ',"prompt":', ...questionJson(question)]
      return {
        path: chat ? '/v1/chat/completions' : '/v1/completions',
        body: bodyOf([...parts, members(settings, chat), '}'], imagesOfInput(question)),
      }
    },
    read: (body, question) => readGeneration(checked(body), question),
    batchKey(question, settings) {
      const chat = isChat(question)
      return chat && chatBatchPath === null ? null : `${chat} ${members(settings, chat)}`
    },
    translateBatch(questions, settings) {
      const chat = questions.some(isChat)
      const parts = [start, chat ? ',"messages":[' : ',"prompt":[']
      for (const [at, question] of questions.entries()) {
        if (at > 0) parts.push(',')
        for (const piece of questionJson(question)) parts.push(piece)
      }
      parts.push(']', members(settings, chat), '}')
      return { path: (chat ? chatBatchPath : null) ?? '/v1/completions', body: bodyOf(parts) }
    },
    readBatch(value, questions) {
      const body = checked(value)
      return readItems(
        body.choices,
        usage(body),
        questions.map(() => 'one'),
        (choice, at) => generationOf(choice, isChat(questions[at] as Rendered)),
      ) as ReturnType<TextForm['readBatch']>
    },
  }
}

/** By default, servers limit the completion of a plain prompt to 16 tokens, which is too few for a verdict. */
export const completionTokens = 1024

const chatMembers = memoizeByObject((sampling: Sampling) => membersOf(sampling, 0, true))
const plainMembers = memoizeByObject((sampling: Sampling) => membersOf(sampling, 0, false))

/** Sampling settings as JSON members, each preceded by a comma. Chat and plain prompts name logprobs differently. */
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
  // Qwen and others read enable_thinking, DeepSeek reads thinking. Templates ignore unknown settings.
  if (thinking !== undefined && chat) members.chat_template_kwargs = { enable_thinking: thinking, thinking }
  if (!chat) members.max_tokens ??= completionTokens
  const text = JSON.stringify(members)
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

/** vLLM's `structured_outputs`, since 0.11; the guided_* fields were removed in 0.12. */
export const structuredOutputs = (reply: Reply | undefined): string => (reply ? formOf(reply) : '')

const formOf = memoizeByObject((reply: Reply): string => {
  const form = 'schema' in reply ? { json: reply.schema } : reply
  return `,"structured_outputs":${JSON.stringify(form)}`
})

/** The single choice of a reply, in chat or completion format. */
function readGeneration(body: JsonObject, input: Rendered): ParsedReply<Generation> {
  const { choices } = body
  if (!Array.isArray(choices) || choices.length !== 1) throw malformedReply('not exactly one choice')
  const [choice] = choices as unknown[]
  if (!isObject(choice)) throw malformedReply('a choice is not an object')
  if (choice.index !== undefined && choice.index !== 0)
    throw malformedReply('the only choice is not the first')
  const answer = generationOf(choice, typeof input !== 'string')
  const { prompt, completion } = usage(body)
  return { answer, prompt, completion }
}

/** A choice in chat or completion format. Throws UpstreamError unless it is a complete text answer. */
function generationOf(choice: JsonObject, isChat: boolean): Generation {
  checkNoError(choice)
  const finishReason = checkFinished(choice.finish_reason)
  if (isFiltered(choice.content_filter_results)) throw noAnswer('content_filter')
  const text = isChat ? textOf(choice.message) : choice.text
  if (typeof text !== 'string') throw malformedReply('no text')
  const logprobs = isChat ? chatLogprobs(choice.logprobs) : completionLogprobs(choice.logprobs)
  return logprobs ? { text, finishReason, logprobs } : { text, finishReason }
}

/** The content of a message; null, which a model that spent its tokens on thinking returns, is ''. Throws UpstreamError. */
function textOf(message: unknown): unknown {
  if (!isObject(message)) return undefined
  checkNoError(message)
  const { content, refusal, tool_calls: calls, function_call: call } = message
  if (says(refusal)) throw noAnswer('refusal')
  if (says(calls) || says(call)) throw noAnswer('tool_calls')
  return content ?? ''
}

/** Whether a member that is usually null, false or empty is set. */
const says = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : value !== undefined && value !== null && value !== false && value !== ''

/** Whether Azure filtered the text after it was generated; its finish_reason is still `stop`. */
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

/** Reads the number of one class from `probs`, `score`, or the last row of pooled `data`. */
export function classItem(label: number | undefined): ReadItem {
  return (item) => {
    const { probs, score, data, num_classes: classes } = item
    const numbers = probs ?? (score === undefined ? lastRow(data) : [score])
    if (!isNumbers(numbers)) throw malformedReply('a score is not a number')
    if (typeof classes === 'number' && probs !== undefined && classes !== numbers.length)
      throw malformedReply('not one number per class')
    if (numbers.length > 1 && label === undefined && probs !== undefined)
      throw new UpstreamError(
        'judge_rejected',
        'the model has several classes: classify.label says which one counts',
        {
          remedy: 'give-up',
          blame: false,
        },
      )
    const value = numbers.at(label ?? -1)
    if (value === undefined) throw malformedReply('no such class')
    return value
  }
}

/** Reads one number per step. */
export function stepItem(column: number): ReadItem {
  return ({ data }) => {
    // The product of no steps would be 1.
    if (Array.isArray(data) && data.length === 0) throw malformedReply('no steps')
    if (isNumbers(data)) return data
    if (!Array.isArray(data)) throw malformedReply('steps are not a list')
    return data.map((row: unknown) => {
      const value = isNumbers(row) ? row.at(column) : undefined
      if (value === undefined) throw malformedReply('a step is not a number')
      return value
    })
  }
}

/** Reads the embedding of one text. */
const vectorItem: ReadItem = ({ embedding }) => {
  if (!isNumbers(embedding) || embedding.length === 0) throw malformedReply('an embedding is not a vector')
  return embedding
}

const lastRow = (data: unknown): unknown =>
  Array.isArray(data) && Array.isArray(data.at(-1)) ? data.at(-1) : data

/** The entries of `data` for each question. */
export const readData = (
  body: JsonObject,
  counts: Counts,
  read: ReadItem,
): (ParsedReply<unknown> | UpstreamError)[] => readItems(body.data, usage(body), counts, read)

/** The embeddings of each question's texts. Throws UpstreamError if their dimensions differ. */
export function readVectors(body: JsonObject, counts: Counts): (ParsedReply<unknown> | UpstreamError)[] {
  let dimensions: number | null = null
  return readData(body, counts, (item, at) => {
    const vector = vectorItem(item, at) as readonly number[]
    dimensions ??= vector.length
    if (vector.length !== dimensions) throw malformedReply('embeddings differ in length')
    return vector
  })
}

/** Reads one entry of a list. `at` is the index of its question. Throws UpstreamError. */
export type ReadItem = (item: JsonObject, at: number) => unknown

/** How many entries each question has; `one` if its single entry is the answer itself. */
export type Counts = readonly (number | 'one')[]

/** The answers in a list. An invalid entry fails only its own question. Tokens are divided evenly. */
function readItems(
  list: unknown,
  tokens: { readonly prompt: number; readonly completion: number },
  counts: Counts,
  read: ReadItem,
): (ParsedReply<unknown> | UpstreamError)[] {
  const total = counts.reduce<number>((sum, count) => sum + (count === 'one' ? 1 : count), 0)
  const items = itemsOf(list, total)
  const prompt = Math.round(tokens.prompt / counts.length)
  const completion = Math.round(tokens.completion / counts.length)
  let next = 0
  return counts.map((count, at) => {
    const own = items.slice(next, next + (count === 'one' ? 1 : count))
    next += own.length
    return orFault(() => {
      own.forEach(checkNoError)
      return {
        answer: count === 'one' ? read(own[0] as JsonObject, at) : own.map((item) => read(item, at)),
        prompt,
        completion,
      }
    })
  })
}
