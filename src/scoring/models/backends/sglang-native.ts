import type { Generation, Reply, TokenLogprob } from '../../../contract/index.ts'
import { checkFinished } from '../transport/finish-reason.ts'
import type { ParsedReply } from '../transport/reply.ts'
import {
  checkNoError,
  isNumbers,
  isObject,
  type JsonObject,
  malformedReply,
  objectOf,
  usage,
} from '../transport/reply.ts'
import { orFault, UpstreamError } from '../transport/upstream-error.ts'
import type { Settings, Translation } from './backend.ts'
import { checkedAlternatives, checkedLogprob } from './logprobs.ts'
import { completionTokens } from './openai-form.ts'
import type { TextForm } from './text-asks.ts'

/** Plain prompts by /generate, which takes one text or a list and answers with one object or a list. */
export const nativeTexts: TextForm = {
  translate: (question, settings) => generate(question as string, settings),
  read: (body) => readNative(body),
  kind: (_question, settings) => JSON.stringify(paramsOf(settings)),
  translateAll: (questions, settings) => generate(questions as readonly string[], settings),
  readAll(body, questions) {
    if (!Array.isArray(body) || body.length !== questions.length)
      throw malformedReply(`not ${questions.length} entries`)
    return body.map((entry: unknown) => orFault(() => readNative(entry)))
  },
}

const generate = (text: string | readonly string[], settings: Settings): Translation => ({
  path: '/generate',
  body: JSON.stringify({ text, ...paramsOf(settings) }),
})

/** What a request holds beside its texts; `sampling_params` as in docs.sglang.io, basic_usage/sampling_params. */
function paramsOf({ sampling, reply, draw }: Settings): object {
  const { max_tokens, seed, logprobs, thinking: _thinking, include_stop_str_in_output, ...named } = sampling
  const params = {
    ...named,
    max_new_tokens: max_tokens ?? completionTokens,
    ...(include_stop_str_in_output === undefined ? {} : { no_stop_trim: include_stop_str_in_output }),
    ...(seed === undefined ? {} : { sampling_seed: seed + draw }),
    ...nativeForm(reply),
  }
  const wanted =
    logprobs === undefined
      ? {}
      : { return_logprob: true, top_logprobs_num: logprobs, return_text_in_logprobs: true }
  return { sampling_params: params, ...wanted }
}

const nativeForm = (reply: Reply | undefined): { regex?: string; json_schema?: string } => {
  if (!reply) return {}
  return 'schema' in reply ? { json_schema: JSON.stringify(reply.schema) } : { regex: regexOf(reply) }
}

/** The members of a conversation's request that force the form of its reply. */
export function chatForm(reply: Reply | undefined): string {
  if (!reply) return ''
  const form =
    'schema' in reply
      ? { response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema: reply.schema } } }
      : { regex: regexOf(reply) }
  return `,${JSON.stringify(form).slice(1, -1)}`
}

const regexOf = (reply: Exclude<Reply, { schema: unknown }>): string =>
  'regex' in reply
    ? reply.regex
    : `(${reply.choice.map((label) => label.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`

/** What /generate answers: `{text, meta_info: {finish_reason: {type}, prompt_tokens, ...}}`. */
function readNative(value: unknown): ParsedReply<Generation> {
  const body = objectOf(value)
  checkNoError(body)
  const { text, meta_info: info } = body
  if (typeof text !== 'string' || !isObject(info)) throw malformedReply('no text')
  checkNoError(info)
  const finishReason = checkFinished(typeOf(info.finish_reason))
  const { output_token_logprobs: tokens, output_top_logprobs: tops } = info
  const logprobs = Array.isArray(tokens) ? tokens.map((entry, at) => tokenAt(entry, tops, at)) : null
  return {
    answer: logprobs ? { text, finishReason, logprobs } : { text, finishReason },
    ...usage({ usage: info }),
  }
}

const typeOf = (finish: unknown): unknown => (isObject(finish) ? finish.type : finish)

function tokenAt(entry: unknown, tops: unknown, at: number): TokenLogprob {
  const top: unknown = Array.isArray(tops) ? tops[at] : null
  if (!Array.isArray(top)) return { ...tokenOf(entry), top: [] }
  const ids = top.flatMap((one: unknown) => (Array.isArray(one) && Number.isInteger(one[1]) ? [one[1]] : []))
  if (new Set(ids).size < ids.length) throw malformedReply('one token stands twice among the alternatives')
  return { ...tokenOf(entry), top: checkedAlternatives(top.map(tokenOf)) }
}

/** `[logprob, token id, text]`. */
function tokenOf(entry: unknown): { token: string; logprob: number } {
  const [logprob, , token] = Array.isArray(entry) ? (entry as unknown[]) : []
  if (typeof token !== 'string') throw malformedReply('a token is not a text')
  return { token, logprob: checkedLogprob(logprob) }
}

/** What /classify answers: a list, or one object for one text, of `{embedding: [score, ...], meta_info}`. */
export function readRewards(
  value: unknown,
  count: number,
  isScalar: boolean,
): (ParsedReply<unknown> | UpstreamError)[] {
  const entries: unknown[] = Array.isArray(value) ? value : [value]
  if (entries.length !== count) throw malformedReply(`not ${count} entries`)
  return entries.map((entry) => {
    const fault = isObject(entry) ? errorOf(entry) : null
    if (fault) return fault
    if (!isObject(entry) || !isNumbers(entry.embedding) || entry.embedding.length === 0)
      return malformedReply('a score is not a number')
    if (isScalar && entry.embedding.length !== 1)
      return new UpstreamError('judge_rejected', 'the model gives several numbers, not one score', {
        remedy: 'give-up',
        blame: false,
      })
    const answer = isScalar ? entry.embedding[0] : entry.embedding
    return { answer, ...usage({ usage: entry.meta_info }) }
  })
}

/** What is wrong with an entry that says so itself, whatever number it holds. */
function errorOf(entry: JsonObject): UpstreamError | null {
  const done = orFault(() => {
    checkNoError(entry)
    const { meta_info: info } = entry
    if (!isObject(info)) return null
    checkNoError(info)
    const ended = typeOf(info.finish_reason)
    if (ended !== undefined && ended !== null) checkFinished(ended)
    return null
  })
  return done instanceof UpstreamError ? done : null
}
