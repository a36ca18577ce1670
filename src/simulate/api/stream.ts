import type { Call } from '../call.ts'
import { type Completion, complete, type Sampling } from '../completion.ts'
import { createdNow, madeId } from '../identity.ts'
import type { Admitted } from '../model.ts'
import { splitTokens } from '../tokens.ts'
import { usageOf } from './usage.ts'

/** A share of a sequence's time passes before its first token. */
const firstTokenShare = 0.3

/** One token of one choice; `end` with the last, empty one. */
interface Streamed {
  readonly index: number
  readonly text: string
  readonly soFar: string
  readonly end: Completion | null
}

/** Tokens of all choices, one choice after the other; a real server mixes them, which `index` allows too. */
export async function* streamed(
  call: Call,
  admitted: Admitted,
  sampling: Sampling,
): AsyncGenerator<Streamed> {
  const { model } = call
  for (let index = 0; index < sampling.n; index++) {
    const completion = complete(model, admitted, sampling, index)
    const tokens = splitTokens(completion.text)
    const ms = model.sequenceMs(admitted, index, call.slowdown)
    const isWritten = await model.run(ms * firstTokenShare, call.signal, completion.finishReason)
    let soFar = ''
    for (const text of isWritten ? tokens : []) {
      soFar += text
      yield { index, text, soFar, end: null }
      await model.pause((ms * (1 - firstTokenShare)) / tokens.length, call.signal)
    }
    const end = isWritten
      ? completion
      : { ...completion, text: '', tokens: 0, finishReason: 'abort' as const }
    model.counters.generationTokens += end.tokens
    yield { index, text: '', soFar, end }
  }
}

/** Chunks of /v1/chat/completions with `stream: true`, each as JSON text, then `[DONE]`. */
export function chatChunks(call: Call, admitted: Admitted, sampling: Sampling): AsyncIterable<string> {
  return chunks(call, admitted, sampling, 'chat.completion.chunk', ({ text, soFar }) => ({
    delta: soFar === text ? { role: 'assistant', content: text } : { content: text },
  }))
}

/** Chunks of /v1/completions with `stream: true`. */
export function textChunks(call: Call, admitted: Admitted, sampling: Sampling): AsyncIterable<string> {
  return chunks(call, admitted, sampling, 'text_completion', ({ text }) => ({ text }))
}

async function* chunks(
  call: Call,
  admitted: Admitted,
  sampling: Sampling,
  object: string,
  content: (token: Streamed) => object,
): AsyncGenerator<string> {
  const head = { id: madeId('cmpl'), object, created: createdNow(), model: call.model.name }
  const completions: Completion[] = []
  for await (const token of streamed(call, admitted, sampling)) {
    const { index, end } = token
    if (end) completions.push(end)
    const finish = { finish_reason: end?.finishReason ?? null, stop_reason: end?.stopReason ?? null }
    yield JSON.stringify({ ...head, choices: [{ index, ...content(token), logprobs: null, ...finish }] })
  }
  const options = call.body.stream_options as { include_usage?: unknown } | null | undefined
  if (options?.include_usage === true) {
    yield JSON.stringify({ ...head, choices: [], usage: usageOf([admitted], completions) })
  }
  yield '[DONE]'
}
