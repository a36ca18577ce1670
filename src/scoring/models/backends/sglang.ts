import type { AskName, Asks, Generation, Reply, TokenLogprob } from '../../../contract/index.ts'
import type { Message } from '../../../core/sample/sample.ts'
import type { Rendered, RenderedInput } from '../interface/ask.ts'
import type { ChatTemplateConfig, ModelConfig } from '../interface/model-config.ts'
import { imagesOfInput } from '../interface/question-json.ts'
import {
  checkNoError,
  isNumbers,
  isObject,
  type JsonObject,
  malformedReply,
  objectOf,
  type ParsedReply,
  usage,
} from '../transport/reply.ts'
import { orFault, UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Settings, Translation } from './backend.ts'
import {
  checkedAlternatives,
  checkedLogprob,
  checkFinished,
  isTextAsk,
  type TextForm,
  textAsks,
} from './generated-text.ts'
import { completionTokens, openaiTexts, readVectors, samplingMembers } from './openai-dialect.ts'
import { sglangMemory } from './sglang-memory.ts'

/**
 * SGLang. Plain prompts go to its native /generate, conversations to its OpenAI endpoint, texts for reward models to
 * /classify (docs.sglang.io, basic_usage: native_api, sampling_params, openai_api_completions).
 */
export function sglangBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`

  const chats = openaiTexts({
    model: config.model,
    members({ sampling: { include_stop_str_in_output: keepsStop, ...sampling }, reply, draw }) {
      const kept = keepsStop === undefined ? '' : `,"no_stop_trim":${keepsStop}`
      return samplingMembers(sampling, draw, true) + kept + chatForm(reply)
    },
    chatBatchPath: null,
    checked: objectOf,
  })
  const formOf = (question: Rendered | undefined) => (typeof question === 'string' ? nativeTexts : chats)
  const texts = textAsks({
    translate: (question, settings) => formOf(question).translate(question, settings),
    read: (body, question) => formOf(question).read(body, question),
    batchKey: (question, settings) => formOf(question).batchKey(question, settings),
    translateBatch: (questions, settings) => formOf(questions[0]).translateBatch(questions, settings),
    readBatch: (body, questions) => formOf(questions[0]).readBatch(body, questions),
  })

  const write = config.chat_template === undefined ? null : chatText(config.chat_template)
  const plain = (question: Rendered): string => {
    if (typeof question === 'string') return question
    if (imagesOfInput(question).length > 0)
      throw new UpstreamError(
        'judge_rejected',
        "SGLang's reward models take plain text, but the question has images",
        { remedy: 'give-up', blame: false },
      )
    if (write) return write(question)
    throw new UpstreamError(
      'judge_rejected',
      "SGLang's reward models take plain text: set chat_template in the model's config",
      { remedy: 'give-up', blame: false },
    )
  }

  const pooled = (ask: AskName, inputs: readonly RenderedInput[AskName][]): Translation => {
    if (ask === 'embed')
      return { path: '/v1/embeddings', body: `${model},"input":${JSON.stringify(inputs.flat())}}` }
    const texts = (inputs as readonly Rendered[]).map(plain)
    return { path: '/classify', body: `${model},"text":${JSON.stringify(texts)}}` }
  }

  const readPooled = (ask: AskName, value: unknown, inputs: readonly RenderedInput[AskName][]) => {
    if (ask !== 'embed') return readRewards(value, inputs.length, ask === 'classify')
    const counts = (inputs as readonly RenderedInput['embed'][]).map(({ length }) => length)
    return readVectors(objectOf(value), counts)
  }

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    namesModels: true,
    // Only with --enable-metrics.
    tokenCounters: ['sglang:generation_tokens_total'],
    queueMetrics: { running: 'sglang:num_running_reqs', waiting: 'sglang:num_queue_reqs' },
    generativeScoring: null,
    memory: sglangMemory,
    translate(ask, input, settings) {
      if (isTextAsk(ask)) return texts.translate(ask, input, settings)
      return pooled(ask, [input])
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      if (isTextAsk(ask)) return texts.read(ask, value, input)
      const [reading] = readPooled(ask, value, [input])
      if (reading instanceof UpstreamError) throw reading
      return reading as ParsedReply<Asks[A]['answer']>
    },
    batchKey(ask, input, settings) {
      if (isTextAsk(ask)) return texts.batchKey(ask, input, settings)
      return ask === 'embed' || typeof input === 'string' || write ? '' : null
    },
    translateBatch: (ask, inputs, settings) =>
      isTextAsk(ask) ? texts.translateBatch(ask, inputs, settings) : pooled(ask, inputs),
    readBatch: (ask, value, inputs) =>
      isTextAsk(ask) ? texts.readBatch(ask, value, inputs) : readPooled(ask, value, inputs),
    tokens: {
      translate: (input) => ({
        path: '/tokenize',
        // The gateway renders a reward model's conversation, the server renders any other.
        body:
          typeof input === 'string' || write
            ? `${model},"prompt":${JSON.stringify(plain(input))}}`
            : `${model},"messages":${JSON.stringify(input)}}`,
      }),
      read(value) {
        const { count } = objectOf(value)
        if (!Number.isSafeInteger(count)) throw malformedReply('no count of tokens')
        return count as number
      },
    },
  }
}

/** Plain prompts through /generate, which takes one text or a list and returns one object or a list. */
const nativeTexts: TextForm = {
  translate: (question, settings) => generate(question as string, settings),
  read: (body) => readNative(body),
  batchKey: (_question, settings) => JSON.stringify(paramsOf(settings)),
  translateBatch: (questions, settings) => generate(questions as readonly string[], settings),
  readBatch(body, questions) {
    if (!Array.isArray(body) || body.length !== questions.length)
      throw malformedReply(`not ${questions.length} entries`)
    return body.map((entry: unknown) => orFault(() => readNative(entry)))
  },
}

const generate = (text: string | readonly string[], settings: Settings): Translation => ({
  path: '/generate',
  body: JSON.stringify({ text, ...paramsOf(settings) }),
})

/** The rest of a request besides its texts. `sampling_params`: docs.sglang.io, basic_usage/sampling_params. */
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

/** JSON members of a chat request that constrain the format of the reply. */
function chatForm(reply: Reply | undefined): string {
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

/** Reads a reply of /generate: `{text, meta_info: {finish_reason: {type}, prompt_tokens, ...}}`. */
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
  if (new Set(ids).size < ids.length) throw malformedReply('one token appears twice among the alternatives')
  return { ...tokenOf(entry), top: checkedAlternatives(top.map(tokenOf)) }
}

/** `[logprob, token id, text]`. */
function tokenOf(entry: unknown): { token: string; logprob: number } {
  const [logprob, , token] = Array.isArray(entry) ? (entry as unknown[]) : []
  if (typeof token !== 'string') throw malformedReply('a token is not a text')
  return { token, logprob: checkedLogprob(logprob) }
}

/** Reads a reply of /classify: a list, or one object for one text, of `{embedding: [score, ...], meta_info}`. */
function readRewards(
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
      return new UpstreamError('judge_rejected', 'the model returns several numbers, not one score', {
        remedy: 'give-up',
        blame: false,
      })
    const answer = isScalar ? entry.embedding[0] : entry.embedding
    return { answer, ...usage({ usage: entry.meta_info }) }
  })
}

/** The error that an entry itself reports, whatever number it holds; null if it reports none. */
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

/** Inserted into text that looks like part of the template, as the guard does with control tokens. */
const mark = '·'

/** Renders conversations by a template. No content can end its turn or begin another one. */
function chatText(config: ChatTemplateConfig): (messages: readonly Message[]) => string {
  const { start, turn, end, roles } = typeof config === 'string' ? families[config] : config
  const names: Readonly<Record<string, string>> = roles
  const [before = '', after = ''] = turn.split('{content}')
  const marks = [before, after, start, end]
    .flatMap((text) => text.split('{role}'))
    .map((text) => text.trim())
    .filter((text) => text.length > 1)
  const safe = (content: string): string => {
    let text = content
    for (const part of marks)
      if (text.includes(part)) text = text.split(part).join(`${part[0]}${mark}${part.slice(1)}`)
    return text
  }
  return (messages) => {
    let text = start
    for (const { role, content } of messages) {
      const name = Object.hasOwn(names, role) ? (names[role] ?? role) : role
      text += before.split('{role}').join(name) + safe(content) + after.split('{role}').join(name)
    }
    return text + end
  }
}

/** Templates of model families. Tokens that the tokenizer adds itself, such as Llama's first, are left out. */
const families = {
  chatml: { start: '', turn: '<|im_start|>{role}\n{content}<|im_end|>\n', end: '', roles: {} },
  llama3: {
    start: '',
    turn: '<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>',
    end: '',
    roles: { tool: 'ipython' },
  },
  gemma: {
    start: '',
    turn: '<start_of_turn>{role}\n{content}<end_of_turn>\n',
    end: '',
    roles: { assistant: 'model' },
  },
} as const satisfies Record<Extract<ChatTemplateConfig, string>, Exclude<ChatTemplateConfig, string>>
