import { Stop } from './abort.ts'
import { askError } from './ask-error.ts'
import { dispatch } from './dispatch.ts'
import type { Model } from './model.ts'
import type { Rendered } from './models.ts'
import { readJson } from './reply.ts'

/** What a chat template adds to a message, at most, in tokens. */
const messageOverhead = 16

/** Tokens of a rendered question: the server's count, or a quarter of its bytes. Rejects with AskError. */
export async function countTokens(model: Model, input: Rendered): Promise<number> {
  const texts = typeof input === 'string' ? [input] : input.map(({ content }) => content)
  const overhead = typeof input === 'string' ? 1 : messageOverhead * texts.length
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const { backend, dispatcher, headers } = model.parts
  const { count_tokens, max_prompt_tokens } = model.config
  const { tokens } = backend
  if (count_tokens === 'estimate' || !tokens) return Math.ceil(bytes / 4) + overhead
  // A token is never less than a byte: what is short enough by bytes needs no count.
  if (bytes + overhead <= max_prompt_tokens) return bytes + overhead
  try {
    const { path, body } = tokens.translate(input)
    const done = await dispatch(
      dispatcher,
      {
        ask: 'generate',
        prefix: '',
        message: { method: 'POST', path, headers, body },
        read: (reply) => ({ answer: tokens.read(readJson(reply)), prompt: 0, completion: 0 }),
      },
      new Stop(),
    )
    return done.answer
  } catch (error) {
    throw askError(error)
  }
}
