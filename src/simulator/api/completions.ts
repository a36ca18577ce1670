import {
  type Call,
  createdNow,
  type Endpoint,
  madeId,
  type Reply,
  type ReplyEvent,
  readTexts,
  requireModel,
} from '../call.ts'
import { type Completion, complete, readSampling, type Sampling } from '../completion.ts'
import { readMessages, renderChat, type Turn } from '../conversation.ts'
import type { Admitted } from '../model.ts'
import { badRequest } from '../refusal.ts'
import { type LabelledToken, splitTokens } from '../tokens.ts'

/** `usage` of a reply, in vLLM's fields. */
function usageOf(admitted: readonly Admitted[], completions: readonly Pick<Completion, 'tokens'>[]): object {
  const prompt = admitted.reduce((sum, { tokens }) => sum + tokens, 0)
  const completion = completions.reduce((sum, { tokens }) => sum + tokens, 0)
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    prompt_tokens_details: {
      cached_tokens: admitted.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    },
  }
}

/** `usage` of a request that generates nothing. */
export function promptUsage(admitted: readonly Admitted[]) {
  const tokens = admitted.reduce((sum, one) => sum + one.tokens, 0)
  return { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0, prompt_tokens_details: null }
}

/** OpenAI's `logprobs` of a chat choice or chunk. */
function chatLogprobs(tokens: readonly LabelledToken[] | null): object | null {
  if (tokens === null) return null
  const withBytes = ({ token, logprob }: { token: string; logprob: number }) => ({
    token,
    logprob,
    bytes: [...Buffer.from(token)],
  })
  return { content: tokens.map((token) => ({ ...withBytes(token), top_logprobs: token.top.map(withBytes) })) }
}

/** The older, column-wise form. `start` is the offset of the tokens in the choice's text. */
function textLogprobs(tokens: readonly LabelledToken[], start = 0): object {
  let offset = start
  return {
    text_offset: tokens.map(({ token }) => {
      offset += token.length
      return offset - token.length
    }),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    tokens: tokens.map(({ token }) => token),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.map(({ token, logprob }) => [token, logprob])),
    ),
  }
}

/** One streamed token of one choice. `end` comes with a last, empty token. */
interface Streamed {
  readonly index: number
  readonly admitted: Admitted
  /** The token's text, or null for a thought that a reasoning parser separates. */
  readonly text: string | null
  readonly thought: string | null
  readonly soFar: string
  /** Tokens of this choice so far. */
  readonly written: number
  /** null: not requested. */
  readonly logprobs: readonly LabelledToken[] | null
  readonly end: Completion | null
}

/**
 * The tokens of all choices, one choice after the other. A real server interleaves them, which `index` also
 * allows.
 */
export async function* streamed(
  call: Call,
  prompts: readonly Admitted[],
  sampling: Sampling,
): AsyncGenerator<Streamed> {
  for (const [place, admitted] of prompts.entries()) {
    for (let choice = 0; choice < sampling.n; choice++) {
      yield* oneChoice(call, admitted, sampling, choice, place * sampling.n + choice)
    }
  }
}

async function* oneChoice(
  call: Call,
  admitted: Admitted,
  sampling: Sampling,
  choice: number,
  index: number,
): AsyncGenerator<Streamed> {
  const { model } = call
  const completion = complete(model, admitted, sampling, choice)
  const thoughts = completion.reasoning === null ? [] : splitTokens(completion.reasoning)
  const texts = completion.text === '' ? [] : splitTokens(completion.text)
  const { tokens, finishReason } = completion
  const sequence = model.sequence(admitted, choice, call.slowdown, tokens, finishReason)
  const slot = await model.begin(call, sequence)
  const restMs = sequence.restMs / Math.max(1, thoughts.length + texts.length)
  let isWhole = slot !== null
  let soFar = ''
  let written = 0
  const shared = { index, admitted, end: null }
  try {
    for (const [at, piece] of isWhole ? [...thoughts, ...texts].entries() : []) {
      const place = at - thoughts.length
      const logprobs = completion.logprobs?.slice(place, place + 1) ?? null
      written += 1
      if (place < 0) yield { ...shared, text: null, thought: piece, soFar, written, logprobs: null }
      else {
        soFar += piece
        yield { ...shared, text: piece, thought: null, soFar, written, logprobs }
      }
      isWhole = (await slot?.passes(restMs)) === true
      if (!isWhole) break
    }
    slot?.end(isWhole)
    const end: Completion = isWhole
      ? completion
      : { ...completion, text: soFar, tokens: written, finishReason: 'abort', stopReason: null }
    model.counters.generationTokens += end.tokens
    yield { ...shared, text: '', thought: null, soFar, written, logprobs: null, end }
  } finally {
    slot?.end(false)
  }
}

/** Chunks of /v1/chat/completions with `stream: true`: the role, each token, the end, the usage, `[DONE]`. */
function chatChunks(
  call: Call,
  admitted: readonly Admitted[],
  sampling: Sampling,
): AsyncIterable<ReplyEvent> {
  return chunks(call, admitted, sampling, 'chat', ({ text, thought, logprobs }) => ({
    delta: thought === null ? { content: text } : { reasoning: thought, reasoning_content: thought },
    logprobs: chatLogprobs(logprobs),
  }))
}

/** Chunks of /v1/completions with `stream: true`, prompt by prompt. */
function textChunks(
  call: Call,
  admitted: readonly Admitted[],
  sampling: Sampling,
): AsyncIterable<ReplyEvent> {
  return chunks(call, admitted, sampling, 'text', ({ text, soFar, logprobs }) => ({
    text: text ?? '',
    logprobs: logprobs && textLogprobs(logprobs, soFar.length - (text?.length ?? 0)),
  }))
}

async function* chunks(
  call: Call,
  prompts: readonly Admitted[],
  sampling: Sampling,
  kind: 'chat' | 'text',
  content: (token: Streamed) => object,
): AsyncGenerator<ReplyEvent> {
  const isChat = kind === 'chat'
  const head = {
    id: madeId(isChat ? 'chatcmpl' : 'cmpl'),
    object: isChat ? 'chat.completion.chunk' : 'text_completion',
    created: createdNow(),
    model: call.model.name,
  }
  const options = (call.body.stream_options ?? {}) as Record<string, unknown>
  const wantsUsage = options.include_usage === true
  const completions: Completion[] = []
  const usage = (admitted: Admitted, tokens: number): object =>
    wantsUsage && options.continuous_usage_stats === true ? { usage: usageOf([admitted], [{ tokens }]) } : {}
  let opened = -1
  for await (const token of streamed(call, prompts, sampling)) {
    const { index, admitted, end, written } = token
    if (isChat && index > opened) {
      opened = index
      const role = { delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }
      yield event({ ...head, choices: [{ index, ...role }], ...usage(admitted, 0) }, 0)
    }
    if (end) completions.push(end)
    const finish = { finish_reason: end?.finishReason ?? null, stop_reason: end?.stopReason ?? null }
    const choice = { index, ...content(token), ...finish }
    yield event({ ...head, choices: [choice], ...usage(admitted, written) }, end ? 0 : 1)
  }
  if (wantsUsage) yield event({ ...head, choices: [], usage: usageOf(prompts, completions) }, 0)
  yield { data: '[DONE]', tokens: 0 }
}

const event = (chunk: object, tokens: number): ReplyEvent => ({ data: JSON.stringify(chunk), tokens })

/** POST /v1/chat/completions. */
export const chatCompletions: Endpoint = async (call) => {
  requireModel(call)
  const turns = readMessages(call.body.messages)
  if (!turns) throw badRequest('messages must be a list of turns', 'messages')
  const sampling = readSampling(call.body, chatTopLogprobs(call))
  const admitted = call.model.admit(rendered(call, turns), turns)
  if (call.body.stream === true) return { events: chatChunks(call, [admitted], sampling) }
  const completions = await answers(call, admitted, sampling)
  return { json: reply(call, [admitted], completions) }
}

/**
 * POST /v1/chat/completions/batch: `messages` is a list of conversations, and the reply has one choice for
 * each.
 */
export const chatCompletionsBatch: Endpoint = async (call): Promise<Reply> => {
  requireModel(call)
  const { messages } = call.body
  const conversations = Array.isArray(messages) ? (messages as readonly unknown[]).map(readMessages) : []
  if (conversations.length === 0 || conversations.includes(null)) {
    throw badRequest('messages must be a list of conversations', 'messages')
  }
  const sampling = readSampling(call.body, chatTopLogprobs(call))
  const admitted = conversations.map((turns) => call.model.admit(rendered(call, turns ?? []), turns ?? []))
  const completions = await Promise.all(admitted.map((one) => answers(call, one, { ...sampling, n: 1 })))
  return { json: reply(call, admitted, completions.flat()) }
}

/** All choices of one prompt. Throws Gone if nobody waits for them. */
export function answers(call: Call, admitted: Admitted, sampling: Sampling): Promise<Completion[]> {
  return Promise.all(
    Array.from({ length: sampling.n }, async (_, choice) => {
      const completion = complete(call.model, admitted, sampling, choice)
      const { tokens, finishReason } = completion
      const sequence = call.model.sequence(admitted, choice, call.slowdown, tokens, finishReason)
      const finished = await call.model.run(call, sequence)
      if (!finished)
        return { ...completion, text: '', tokens: 0, finishReason: 'abort' as const, logprobs: null }
      call.model.counters.generationTokens += completion.tokens
      return completion
    }),
  )
}

function rendered({ body }: Call, turns: readonly Turn[]): string {
  return renderChat(turns, body.add_generation_prompt !== false && body.continue_final_message !== true)
}

function chatTopLogprobs({ body }: Call): number | null {
  if (body.logprobs !== true) return null
  return typeof body.top_logprobs === 'number' ? body.top_logprobs : 0
}

function reply({ model }: Call, admitted: readonly Admitted[], completions: readonly Completion[]): object {
  return {
    id: madeId('chatcmpl'),
    object: 'chat.completion',
    created: createdNow(),
    model: model.name,
    choices: completions.map((completion, index) => ({
      index,
      message: {
        role: 'assistant',
        content: completion.text,
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [],
        reasoning: completion.reasoning,
        reasoning_content: completion.reasoning,
      },
      logprobs: chatLogprobs(completion.logprobs),
      finish_reason: completion.finishReason,
      stop_reason: completion.stopReason,
      token_ids: null,
    })),
    service_tier: null,
    system_fingerprint: null,
    usage: usageOf(admitted, completions),
    prompt_logprobs: null,
    prompt_token_ids: null,
    kv_transfer_params: null,
  }
}

/** POST /v1/completions: one prompt or a list. The choices of prompt i start at i * n. */
export const completions: Endpoint = async (call) => {
  requireModel(call)
  const prompts = readTexts(call.body.prompt, 'prompt')
  const sampling = readSampling(call.body, completionTopLogprobs(call))
  const admitted = prompts.map((prompt) => call.model.admit(prompt))
  if (call.body.stream === true) return { events: textChunks(call, admitted, sampling) }
  const all = (await Promise.all(admitted.map((one) => answers(call, one, sampling)))).flat()
  return {
    json: {
      id: madeId('cmpl'),
      object: 'text_completion',
      created: createdNow(),
      model: call.model.name,
      choices: all.map((completion, index) => choiceOf(completion, index)),
      service_tier: null,
      system_fingerprint: null,
      usage: usageOf(admitted, all),
      kv_transfer_params: null,
    },
  }
}

function completionTopLogprobs({ body }: Call): number | null {
  return typeof body.logprobs === 'number' ? body.logprobs : null
}

function choiceOf(completion: Completion, index: number): object {
  return {
    index,
    text: completion.text,
    logprobs: completion.logprobs && textLogprobs(completion.logprobs),
    finish_reason: completion.finishReason,
    stop_reason: completion.stopReason,
    token_ids: null,
    prompt_logprobs: null,
    prompt_token_ids: null,
  }
}
