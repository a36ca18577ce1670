import type { Generation, Reply, TokenLogprob } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Rendered, Sampling } from '../api/ask.ts'
import { bodyOf, questionJson } from '../api/question-json.ts'
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

/** What servers with OpenAI's two endpoints for texts differ in. */
export interface OpenaiServer {
  readonly model: string
  /** What a request holds beside model and texts: JSON members, each with a comma before it. */
  members(settings: Settings, isChat: boolean): string
  /** Where a list of conversations goes; null: the server has no such endpoint. */
  readonly chatBatchPath: string | null
  /** Throws UpstreamError where the reply is not the model's. */
  checked(body: unknown): JsonObject
}

const isChat = (question: Rendered): boolean => typeof question !== 'string'

/** /v1/chat/completions for conversations, /v1/completions for plain prompts, of which a request may hold a list. */
export function openaiTexts({ model, members, chatBatchPath, checked }: OpenaiServer): TextForm {
  const start = `{"model":${JSON.stringify(model)}`
  return {
    translate(question, settings) {
      const chat = isChat(question)
      const parts = [start, chat ? ',"messages":' : ',"prompt":', ...questionJson(question)]
      return {
        path: chat ? '/v1/chat/completions' : '/v1/completions',
        body: bodyOf([...parts, members(settings, chat), '}']),
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

/** The number of one class: of `probs`, `score`, or the last row of pooled `data`. */
export function classItem(label: number | undefined): ReadItem {
  return (item) => {
    const { probs, score, data, num_classes: classes } = item
    const numbers = probs ?? (score === undefined ? lastRow(data) : [score])
    if (!isNumbers(numbers)) throw malformedReply('a score is not a number')
    if (typeof classes === 'number' && probs !== undefined && classes !== numbers.length)
      throw malformedReply('not one number a class')
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

/** One number a step. */
export function stepItem(column: number): ReadItem {
  return ({ data }) => {
    // The product of no steps is 1.
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

/** The embedding of one text. */
const vectorItem: ReadItem = ({ embedding }) => {
  if (!isNumbers(embedding) || embedding.length === 0) throw malformedReply('an embedding is not a vector')
  return embedding
}

const lastRow = (data: unknown): unknown =>
  Array.isArray(data) && Array.isArray(data.at(-1)) ? data.at(-1) : data

/** What `data` holds for each question. */
export const readData = (
  body: JsonObject,
  counts: Counts,
  read: ReadItem,
): (ParsedReply<unknown> | UpstreamError)[] => readItems(body.data, usage(body), counts, read)

/** The embeddings of each question's texts. Throws UpstreamError where they come from spaces of several dimensions. */
export function readVectors(body: JsonObject, counts: Counts): (ParsedReply<unknown> | UpstreamError)[] {
  let dimensions: number | null = null
  return readData(body, counts, (item, at) => {
    const vector = vectorItem(item, at) as readonly number[]
    dimensions ??= vector.length
    if (vector.length !== dimensions) throw malformedReply('embeddings differ in length')
    return vector
  })
}

/** Reads one entry of a list, which belongs to the question at `at`. Throws UpstreamError. */
export type ReadItem = (item: JsonObject, at: number) => unknown

/** How many entries of the list each question has; `one`: an entry that is the answer itself. */
export type Counts = readonly (number | 'one')[]

/** The answers that a list holds; what is wrong with one harms no other. Tokens are shared out evenly. */
export function readItems(
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
