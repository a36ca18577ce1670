import type { Call, ReplyEvent } from '../call.ts'
import { type Completion, complete, type Sampling } from '../completion.ts'
import { createdNow, madeId } from '../identity.ts'
import type { LabelledToken } from '../logprobs.ts'
import type { Admitted } from '../model.ts'
import { splitTokens } from '../tokens.ts'
import { chatLogprobs, textLogprobs } from './shown-logprobs.ts'
import { usageOf } from './usage.ts'

/** One token of one choice; `end` with the last, empty one. */
interface Streamed {
  readonly index: number
  readonly admitted: Admitted
  /** Of the text; null: a thought, which a reasoning parser keeps apart. */
  readonly text: string | null
  readonly thought: string | null
  readonly soFar: string
  /** Tokens of this choice so far. */
  readonly written: number
  /** null: not asked for. */
  readonly logprobs: readonly LabelledToken[] | null
  readonly end: Completion | null
}

/** Tokens of all choices, one choice after the other; a real server mixes them, which `index` allows too. */
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

/** Chunks of /v1/chat/completions with `stream: true`: the role, token by token, the end, the usage, `[DONE]`. */
export function chatChunks(
  call: Call,
  admitted: readonly Admitted[],
  sampling: Sampling,
): AsyncIterable<ReplyEvent> {
  return chunks(call, admitted, sampling, 'chat', ({ text, thought, logprobs }) => ({
    delta: thought === null ? { content: text } : { reasoning: thought, reasoning_content: thought },
    logprobs: chatLogprobs(logprobs),
  }))
}

/** Chunks of /v1/completions with `stream: true`; of many prompts one after another. */
export function textChunks(
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
