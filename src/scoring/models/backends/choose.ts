import type { Generation, TokenLogprob } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Sampling } from '../api/ask.ts'
import { malformedReply } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Settings } from './backend.ts'
import { mostMass } from './logprobs.ts'

/** Labels with less of the probability than this together were not what the model was about to say. */
const leastMass = 0.01

/** A choice is the first token of an answer: its likeliest tokens tell the probability of each label. */
export const choiceSettings = ({ sampling, draw }: Settings): Settings => ({
  sampling: oneToken(sampling),
  reply: undefined,
  draw,
})

/** The likeliest tokens that are asked for. */
const alternatives = 20

/** How much of the labels' probability may hide behind a list that is shorter than what was asked for. */
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

/** Probability of each label from the first token's alternatives; sums to 1. Throws UpstreamError where no label is likely. */
export function readChoice(labels: readonly string[], { logprobs }: Generation): Record<string, number> {
  const [first] = logprobs ?? []
  if (!first) throw malformedReply('no logprobs')
  if (isForeign(first)) throw malformedReply('the token and its alternatives are of no one distribution')
  const mass = new Map<string, number>(labels.map((label) => [label, 0]))
  for (const { token, logprob } of first.top) {
    const label = labelOf(token, labels)
    if (label !== null) mass.set(label, (mass.get(label) ?? 0) + Math.exp(logprob))
  }
  const known = shares(mass)
  if (hidden(mass, first.top) > mostHidden)
    throw malformedReply('too few alternatives to know every label by')
  return known
}

/** By rounding alone two logarithms of one probability may differ by so much. */
const nearly = 0.02

/** Whether the token that was said cannot be of the distribution that its alternatives are of. */
function isForeign({ token, logprob, top }: TokenLogprob): boolean {
  const own = top.filter((one) => one.token === token)
  // Servers may show one token by two texts, so that another's equal probability can be its own.
  if ((own.length > 0 ? own : top).some((one) => Math.abs(one.logprob - logprob) < nearly)) return false
  return top.reduce((sum, one) => sum + Math.exp(one.logprob), Math.exp(logprob)) > mostMass
}

/** The share that labels which a short list lacks may have at most: no more than its last token has, nor than it leaves. */
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

/** The labels' probabilities as shares of their sum. Throws UpstreamError where together they are unlikely, or more than certain. */
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

/** The only label that begins with the token; null: none, or several. */
function labelOf(token: string, labels: readonly string[]): string | null {
  // Byte-level tokenizers show a leading space as Ġ, SentencePiece as ▁, in some servers' replies.
  const text = token.replace(/^[Ġ▁\s]+/u, '').trimEnd()
  if (text === '') return null
  if (labels.includes(text)) return text
  const begun = labels.filter((label) => label.startsWith(text))
  return begun.length === 1 ? (begun[0] as string) : null
}
