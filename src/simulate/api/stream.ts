import type { Call } from '../call.ts'
import { type Completion, complete, type Sampling } from '../completion.ts'
import { createdNow, madeId } from '../identity.ts'
import type { Admitted } from '../model.ts'
import { splitTokens } from '../tokens.ts'
import { usageOf } from './usage.ts'

/** A share of a sequence's time passes before its first token. */
const firstTokenShare = 0.3

type Frame = (delta: { text: string; isFirst: boolean }, end: Completion | null) => object

/** Chunks of /v1/chat/completions with `stream: true`, each as JSON text, then `[DONE]`. */
export function chatChunks(call: Call, admitted: Admitted, sampling: Sampling): AsyncIterable<string> {
  return chunks(call, admitted, sampling, 'chat.completion.chunk', ({ text, isFirst }, end) => ({
    delta: isFirst ? { role: 'assistant', content: text } : { content: text },
    logprobs: null,
    ...endOf(end),
  }))
}

/** Chunks of /v1/completions with `stream: true`. */
export function textChunks(call: Call, admitted: Admitted, sampling: Sampling): AsyncIterable<string> {
  return chunks(call, admitted, sampling, 'text_completion', ({ text }, end) => ({
    text,
    logprobs: null,
    ...endOf(end),
  }))
}

function endOf(end: Completion | null): object {
  return { finish_reason: end?.finishReason ?? null, stop_reason: end?.stopReason ?? null }
}

/** Choices follow one another; a real server mixes them, which `index` allows too. */
async function* chunks(
  call: Call,
  admitted: Admitted,
  sampling: Sampling,
  object: string,
  frame: Frame,
): AsyncIterable<string> {
  const { model } = call
  const head = { id: madeId('cmpl'), object, created: createdNow(), model: model.name }
  const completions: Completion[] = []
  for (let index = 0; index < sampling.n; index++) {
    const completion = complete(model, admitted, sampling, index)
    completions.push(completion)
    const tokens = splitTokens(completion.text)
    const ms = model.sequenceMs(admitted, index, call.slowdown)
    await model.run(ms * firstTokenShare, call.signal, completion.finishReason)
    for (const [at, text] of [...tokens, ''].entries()) {
      const isEnd = at === tokens.length
      const choice = frame({ text, isFirst: at === 0 }, isEnd ? completion : null)
      yield JSON.stringify({ ...head, choices: [{ index, ...choice }] })
      if (!isEnd) await model.pause((ms * (1 - firstTokenShare)) / tokens.length, call.signal)
    }
    model.counters.generationTokens += completion.tokens
  }
  const options = call.body.stream_options as { include_usage?: unknown } | null | undefined
  if (options?.include_usage === true) {
    yield JSON.stringify({ ...head, choices: [], usage: usageOf([admitted], completions) })
  }
  yield '[DONE]'
}
