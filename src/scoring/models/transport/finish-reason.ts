import { malformedReply } from './reply.ts'
import { UpstreamError } from './upstream-error.ts'

/**
 * Why a model stopped, where its text counts: at its end (`stop`) or at its token limit (`length`). vLLM also says
 * `abort`, `error`, `repetition` and `tool_calls`, SGLang `abort`, OpenAI's API `content_filter`, `tool_calls` and
 * `function_call`; what a server says next year is no end either. Throws UpstreamError.
 */
export function checkFinished(reason: unknown): 'stop' | 'length' {
  if (reason === 'stop' || reason === 'length') return reason
  if (typeof reason !== 'string') throw malformedReply('no finish_reason')
  throw noAnswer(reason)
}

/** Of the model's own doing: each of its servers would say the same. */
const ownDoing: ReadonlyMap<string, string> = new Map([
  ['refusal', 'the model refused to answer'],
  ['content_filter', "the server's filter cut the answer"],
])

/** Of this text alone: another try may end otherwise, and the server is not to blame. */
const ofThisText: ReadonlyMap<string, string> = new Map([
  ['tool_calls', 'the model called a tool in place of an answer'],
  ['function_call', 'the model called a tool in place of an answer'],
  ['repetition', 'the model repeated itself without an end'],
])

/** What a reply fails with that is no answer, for a `finish_reason` or what takes its place. */
export function noAnswer(reason: string): UpstreamError {
  const own = ownDoing.get(reason)
  if (own !== undefined) return new UpstreamError('judge_rejected', own, { remedy: 'give-up', blame: false })
  const text = ofThisText.get(reason)
  if (text !== undefined) return new UpstreamError('judge_unparseable', text, { blame: false })
  // A server that stops ends its work so; the text is a fragment. Its own words stay out of messages.
  const named = reason === 'abort' || reason === 'error' ? `'${reason}'` : 'an unknown finish_reason'
  return malformedReply(`the server ended the text with ${named}`)
}
