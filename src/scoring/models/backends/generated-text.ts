import type { AskName, Asks, Generation, TokenLogprob } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Rendered, RenderedInput, Sampling } from '../interface/ask.ts'
import { malformedReply, type ParsedReply } from '../transport/reply.ts'
import { orFault, UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Settings, Translation } from './backend.ts'

/** How one kind of server generates text, for one question or for several in one request. */
export interface TextForm {
  translate(question: Rendered, settings: Settings): Translation
  /** Throws UpstreamError. */
  read(body: unknown, question: Rendered): ParsedReply<Generation>
  /** Equal for questions that may share a request; null if this one may not. */
  batchKey(question: Rendered, settings: Settings): string | null
  /** The request for questions with one batch key. */
  translateBatch(questions: readonly Rendered[], settings: Settings): Translation
  /** Throws UpstreamError if the whole reply is unusable. */
  readBatch(body: unknown, questions: readonly Rendered[]): readonly (ParsedReply<unknown> | UpstreamError)[]
}

/** Whether the server answers with generated text. */
export const isTextAsk = (ask: AskName): ask is 'generate' | 'choose' =>
  ask === 'generate' || ask === 'choose'

type TextAsks = Pick<Backend, 'translate' | 'read' | 'batchKey' | 'translateBatch' | 'readBatch'>

/** `generate` and `choose` of a backend: a choice is the first token of a generated text. */
export function textAsks(form: TextForm): TextAsks {
  return {
    translate: (ask, input, settings) => form.translate(questionOf(ask, input), own(ask, settings)),
    read<A extends AskName>(ask: A, body: unknown, input: RenderedInput[A]) {
      const reading = form.read(body, questionOf(ask, input))
      return answered(ask, input, reading) as ParsedReply<Asks[A]['answer']>
    },
    batchKey: (ask, input, settings) => form.batchKey(questionOf(ask, input), own(ask, settings)),
    translateBatch: (ask, inputs, settings) =>
      form.translateBatch(
        inputs.map((input) => questionOf(ask, input)),
        own(ask, settings),
      ),
    readBatch(ask, body, inputs) {
      const questions = inputs.map((input) => questionOf(ask, input))
      return form.readBatch(body, questions).map((reading, at) => {
        if (ask !== 'choose' || reading instanceof UpstreamError) return reading
        return orFault(() =>
          answered(ask, inputs[at] as RenderedInput['choose'], reading as ParsedReply<Generation>),
        )
      })
    },
  }
}

const questionOf = (ask: AskName, input: RenderedInput[AskName]): Rendered =>
  ask === 'choose' ? (input as RenderedInput['choose']).question : (input as Rendered)

const own = (ask: AskName, settings: Settings): Settings =>
  ask === 'choose' ? choiceSettings(settings) : settings

const answered = (
  ask: AskName,
  input: RenderedInput[AskName],
  reading: ParsedReply<Generation>,
): ParsedReply<unknown> =>
  ask === 'choose'
    ? { ...reading, answer: readChoice((input as RenderedInput['choose']).labels, reading.answer) }
    : reading

/** If all labels together have less probability than this, the model was about to say something else. */
const leastMass = 0.01

/** Settings for a choice: one token, whose most likely alternatives give the probability of each label. */
export const choiceSettings = ({ sampling, draw }: Settings): Settings => ({
  sampling: oneToken(sampling),
  reply: undefined,
  draw,
})

/** How many alternatives to the answer's token are requested. */
const alternatives = 20

/** Share of the labels' probability that may be missing from a list with fewer alternatives than requested. */
const mostHidden = 0.1

const oneToken = memoizeByObject(
  (sampling: Sampling): Sampling => ({
    ...sampling,
    temperature: 0,
    max_tokens: 1,
    logprobs: alternatives,
    thinking: sampling.thinking ?? false,
  }),
)

/** Probability of each label from the first token's alternatives; sums to 1. Throws UpstreamError if no label is likely. */
const readChoice = (labels: readonly string[], generation: Generation): Record<string, number> =>
  shares(labelMass(labels, generation))

/** Probability of each label among the first token's alternatives, as the server reports them. Throws as `readChoice`. */
export function labelMass(labels: readonly string[], { logprobs }: Generation): ReadonlyMap<string, number> {
  const [first] = logprobs ?? []
  if (!first) throw malformedReply('no logprobs')
  if (isForeign(first)) throw malformedReply('the token and its alternatives do not form one distribution')
  const mass = new Map<string, number>(labels.map((label) => [label, 0]))
  for (const { token, logprob } of first.top) {
    const label = labelOf(token, labels)
    if (label !== null) mass.set(label, (mass.get(label) ?? 0) + Math.exp(logprob))
  }
  shares(mass)
  if (hidden(mass, first.top) > mostHidden)
    throw malformedReply('too few alternatives to tell the probability of every label')
  return mass
}

/** Two logprobs of one probability may differ this much by rounding. */
const nearly = 0.02

/** Whether the chosen token cannot come from the same distribution as its alternatives. */
function isForeign({ token, logprob, top }: TokenLogprob): boolean {
  const own = top.filter((one) => one.token === token)
  // Servers may show one token as two texts, so an alternative with equal probability may be the token itself.
  if ((own.length > 0 ? own : top).some((one) => Math.abs(one.logprob - logprob) < nearly)) return false
  return top.reduce((sum, one) => sum + Math.exp(one.logprob), Math.exp(logprob)) > mostMass
}

/** Upper bound on the share of labels that a short list lacks: each is at most as likely as the last token of the list. */
function hidden(mass: ReadonlyMap<string, number>, top: readonly { readonly logprob: number }[]): number {
  if (top.length === 0 || top.length >= alternatives) return 0
  let [known, unseen] = [0, 0]
  for (const share of mass.values()) {
    known += share
    if (share === 0) unseen += 1
  }
  if (known === 0) return 0
  const listed = top.map(({ logprob }) => Math.exp(logprob))
  const rest = Math.max(0, 1 - listed.reduce((sum, share) => sum + share, 0))
  const bound = Math.min(rest, unseen * Math.min(...listed))
  return bound / (known + bound)
}

/** Normalizes the labels' probabilities to a sum of 1. Throws UpstreamError if the sum is too low or above 1. */
export function shares(mass: ReadonlyMap<string, number>): Record<string, number> {
  let total = 0
  for (const share of mass.values()) total += share
  if (total > mostMass) throw malformedReply('the probabilities of labels add up to more than 1')
  if (!(total >= leastMass))
    throw new UpstreamError('judge_unparseable', 'none of the labels is a likely answer', {
      remedy: 'give-up',
      blame: false,
    })
  return Object.fromEntries([...mass].map(([label, share]) => [label, share / total]))
}

/** The only label that begins with the token; null if none or several do. */
function labelOf(token: string, labels: readonly string[]): string | null {
  // Some servers show a leading space as Ġ (byte-level tokenizers) or ▁ (SentencePiece).
  const text = token.replace(/^[Ġ▁\s]+/u, '').trimEnd()
  if (text === '') return null
  if (labels.includes(text)) return text
  const begun = labels.filter((label) => label.startsWith(text))
  return begun.length === 1 ? (begun[0] as string) : null
}

/** A logprob may exceed 0 by this much through rounding. */
const roundedUp = 1e-3

/** The largest sum of probabilities that were rounded to 16 bits. */
const mostMass = 1.01

/**
 * The most tokens of a vocabulary that are shown as the same text: with and without a leading space, and as a byte. Fragments
 * of characters and special tokens are exempt, since many of them share a text.
 */
const mostAlike = 4

interface Alternative {
  readonly token: string
  readonly logprob: number
}

/** `value` if it is a logprob. Throws UpstreamError: servers can be configured to return logits instead. */
export function checkedLogprob(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw malformedReply('a logprob is not a number')
  if (value > roundedUp) throw malformedReply('a logprob is above 0; does the server report logits?')
  return value
}

/** `alternatives` if they can belong to one distribution. Throws UpstreamError. */
export function checkedAlternatives<A extends Alternative>(alternatives: readonly A[]): readonly A[] {
  if (alternatives.length < 2) return alternatives
  let mass = 0
  const counts = new Map<string, number>()
  for (const { token, logprob } of alternatives) {
    mass += Math.exp(logprob)
    if (token === '' || token.includes('\ufffd')) continue
    const count = (counts.get(token) ?? 0) + 1
    if (count > mostAlike) throw malformedReply('one token appears many times among the alternatives')
    counts.set(token, count)
  }
  if (mass > mostMass) throw malformedReply('the probabilities of alternatives add up to more than 1')
  return alternatives
}

/**
 * The finish_reason of a usable text: `stop` or `length`. Throws UpstreamError for any other. vLLM also reports `abort`,
 * `error`, `repetition` and `tool_calls`, SGLang `abort`, OpenAI's API `content_filter`, `tool_calls` and `function_call`.
 */
export function checkFinished(reason: unknown): 'stop' | 'length' {
  if (reason === 'stop' || reason === 'length') return reason
  if (typeof reason !== 'string') throw malformedReply('no finish_reason')
  throw noAnswer(reason)
}

/** Caused by the model: every server of it would end the same way. */
const ownDoing: ReadonlyMap<string, string> = new Map([
  ['refusal', 'the model refused to answer'],
  ['content_filter', "the server's filter cut the answer"],
])

/** Caused by this one text: a retry may succeed, and the server is not at fault. */
const ofThisText: ReadonlyMap<string, string> = new Map([
  ['tool_calls', 'the model called a tool instead of answering'],
  ['function_call', 'the model called a tool instead of answering'],
  ['repetition', 'the model repeated itself endlessly'],
])

/** The error for a reply that holds no answer, by its `finish_reason` or equivalent. */
export function noAnswer(reason: string): UpstreamError {
  const own = ownDoing.get(reason)
  if (own !== undefined) return new UpstreamError('judge_rejected', own, { remedy: 'give-up', blame: false })
  const text = ofThisText.get(reason)
  if (text !== undefined) return new UpstreamError('judge_unparseable', text, { blame: false })
  // A server that shuts down ends its texts this way; they are fragments. Unknown reasons are not quoted.
  const named = reason === 'abort' || reason === 'error' ? `'${reason}'` : 'an unknown finish_reason'
  return malformedReply(`the server ended the text with ${named}`)
}
