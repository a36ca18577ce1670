import { askError, dispatch, type UpstreamRequest } from './dispatch/dispatch.ts'
import type { Rendered, WaitLimits } from './interface/ask.ts'
import { type CancelToken, SingleFlight } from './interface/cancel-token.ts'
import { imagesOfInput } from './interface/question-json.ts'
import type { Model } from './model.ts'
import { estimatedTokens, loadOf } from './pool/capacity.ts'
import { readJson } from './transport/reply.ts'

/** The most tokens that a chat template adds to a message. */
const messageOverhead = 16

/** The tokens of a rendered question: the server's count, or a quarter of its bytes. Rejects with AskError. */
export async function countTokens(model: Model, input: Rendered, patience: WaitLimits): Promise<number> {
  const { deadline, signal } = patience
  const texts = typeof input === 'string' ? [input] : input.map(({ content }) => content)
  const overhead = typeof input === 'string' ? 1 : messageOverhead * texts.length
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const { count_tokens, max_prompt_tokens } = model.config
  if (count_tokens === 'estimate' || !model.parts.backend.tokens) return estimatedTokens(bytes) + overhead
  // A token has at least one byte, so a text that is short enough in bytes needs no count.
  if (bytes + overhead <= max_prompt_tokens) return bytes + overhead
  const { clock } = model.parts.dispatcher
  const since = clock.now()
  const flight = new SingleFlight(
    (stop) => counted(model, withoutImages(input), patience, stop),
    () => {},
  )
  try {
    return await flight.join(clock, deadline, signal, (why) => model.missed(why, since))
  } catch (error) {
    throw askError(error)
  }
}

/** Servers count texts. Images are estimated by whoever asks. */
const withoutImages = (input: Rendered): Rendered =>
  imagesOfInput(input).length === 0 || typeof input === 'string'
    ? input
    : input.map(({ role, content }) => ({ role, content }))

/** Asks a server to count. Like a question, this wakes a sleeping model. */
async function counted(
  model: Model,
  input: Rendered,
  { deadline, signal }: WaitLimits,
  stop: CancelToken,
): Promise<number> {
  const { backend, dispatcher, headers } = model.parts
  const { translate, read } = backend.tokens as NonNullable<typeof backend.tokens>
  const { path, body } = translate(input)
  const work: UpstreamRequest<number> = {
    ask: 'generate',
    prefix: '',
    request: signal,
    deadline,
    load: loadOf(body),
    message: { method: 'POST', path, headers, body },
    read: (reply) => ({ answer: read(readJson(reply)), prompt: 0, completion: 0 }),
  }
  await model.enter(stop)
  try {
    return (await dispatch(dispatcher, work, stop)).answer
  } finally {
    model.leave()
  }
}
