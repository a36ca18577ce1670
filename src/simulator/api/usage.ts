import type { Completion } from '../completion.ts'
import type { Admitted } from '../model.ts'

/** `usage` of a reply, in vLLM's fields. */
export function usageOf(
  admitted: readonly Admitted[],
  completions: readonly Pick<Completion, 'tokens'>[],
): object {
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

/** `usage` of a pass that writes nothing. */
export function promptUsage(admitted: readonly Admitted[]): object {
  const tokens = admitted.reduce((sum, one) => sum + one.tokens, 0)
  return { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0, prompt_tokens_details: null }
}
