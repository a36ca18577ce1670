import type { Call, ReplyEvent } from '../call.ts'
import type { Completion, Sampling } from '../completion.ts'
import { madeId } from '../identity.ts'
import type { LabelledToken } from '../logprobs.ts'
import type { Admitted } from '../model.ts'
import { tokenId } from '../tokens.ts'
import { streamed } from './stream.ts'

/** Events of /generate with `stream: true`: each holds the whole text, and the log probabilities, so far. */
export async function* sglangChunks(
  call: Call,
  prompts: readonly Admitted[],
  sampling: Sampling,
): AsyncGenerator<ReplyEvent> {
  let id = ''
  let last = -1
  let logprobs: LabelledToken[] = []
  for await (const one of streamed(call, prompts, sampling)) {
    const { index, admitted, soFar, end, written } = one
    if (index > last) {
      last = index
      id = madeId('sgl')
      logprobs = []
    }
    logprobs.push(...(one.logprobs ?? []))
    const meta = {
      id,
      finish_reason: end && finishReason(end),
      prompt_tokens: admitted.tokens,
      weight_version: 'default',
      ...(sampling.topLogprobs !== null && nativeLogprobs(call, logprobs)),
      completion_tokens: written,
      cached_tokens: admitted.cachedTokens,
    }
    yield {
      data: JSON.stringify({ text: soFar, output_ids: [], meta_info: meta, index }),
      tokens: end ? 0 : 1,
    }
  }
  yield { data: '[DONE]', tokens: 0 }
}

/** `meta_info`'s log probabilities: `[logprob, token id, text]`, the text only where it is asked for. */
export function nativeLogprobs({ body }: Call, tokens: readonly LabelledToken[]): object {
  const withText = body.return_text_in_logprobs === true
  const triple = ({ token, logprob }: { token: string; logprob: number }) => [
    logprob,
    tokenId(token),
    withText ? token : null,
  ]
  return {
    input_token_logprobs: [],
    output_token_logprobs: tokens.map(triple),
    output_top_logprobs: tokens.map(({ top }) => top.map(triple)),
  }
}

/** An object with a type, where OpenAI has a word. */
export function finishReason({ finishReason, stopReason, tokens }: Completion): object {
  if (finishReason === 'length') return { type: 'length', length: tokens }
  if (finishReason === 'abort') return { type: 'abort', message: 'Abort in waiting or running queue' }
  return { type: 'stop', matched: stopReason ?? '<|im_end|>' }
}
