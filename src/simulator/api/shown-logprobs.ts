import type { LabelledToken } from '../logprobs.ts'

/** OpenAI's `logprobs` of a chat choice, whole or of one chunk. */
export function chatLogprobs(tokens: readonly LabelledToken[] | null): object | null {
  if (tokens === null) return null
  const withBytes = ({ token, logprob }: { token: string; logprob: number }) => ({
    token,
    logprob,
    bytes: [...Buffer.from(token)],
  })
  return { content: tokens.map((token) => ({ ...withBytes(token), top_logprobs: token.top.map(withBytes) })) }
}

/** The older, column-wise form; `start`: where in the choice's text the tokens begin. */
export function textLogprobs(tokens: readonly LabelledToken[], start = 0): object {
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
