import type { Call } from '../call.ts'
import type { Completion, Sampling } from '../completion.ts'
import { madeId } from '../identity.ts'
import type { Admitted } from '../model.ts'
import { countTokens } from '../tokens.ts'
import { streamed } from './stream.ts'

/** Events of /generate with `stream: true`: each holds the whole text so far. */
export async function* sglangChunks(
  call: Call,
  admitted: Admitted,
  sampling: Sampling,
): AsyncGenerator<string> {
  const id = madeId('sgl')
  for await (const { index, soFar, end } of streamed(call, admitted, sampling)) {
    const meta = {
      id,
      finish_reason: end && finishReason(end),
      prompt_tokens: admitted.tokens,
      completion_tokens: countTokens(soFar),
      cached_tokens: admitted.cachedTokens,
    }
    yield JSON.stringify({ text: soFar, meta_info: meta, index })
  }
  yield '[DONE]'
}

/** An object with a type, where OpenAI has a word. */
export function finishReason({ finishReason, stopReason, tokens }: Completion): object {
  if (finishReason === 'length') return { type: 'length', length: tokens }
  if (finishReason === 'abort') return { type: 'abort', message: 'Abort in waiting or running queue' }
  return { type: 'stop', matched: stopReason ?? '<|im_end|>' }
}
