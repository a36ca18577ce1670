import { malformedReply } from '../transport/reply.ts'

/** A logarithm of a probability may be so much above 0 by rounding. */
const roundedUp = 1e-3

/** Probabilities that were rounded to 16 bits add up to so much more than 1 at most. */
export const mostMass = 1.01

/**
 * So many tokens of a vocabulary are shown as the same text: with and without a space before, and as a byte. Fragments of
 * characters and special tokens are many more.
 */
const mostAlike = 4

interface Alternative {
  readonly token: string
  readonly logprob: number
}

/** `value`, if it is the logarithm of a probability. Throws UpstreamError; servers can be set up to give logits in its place. */
export function checkedLogprob(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw malformedReply('a logprob is not a number')
  if (value > roundedUp) throw malformedReply('a logprob is above 0; does the server report logits?')
  return value
}

/** `alternatives`, if they can be a part of one distribution. Throws UpstreamError. */
export function checkedAlternatives<A extends Alternative>(alternatives: readonly A[]): readonly A[] {
  if (alternatives.length < 2) return alternatives
  let mass = 0
  const counts = new Map<string, number>()
  for (const { token, logprob } of alternatives) {
    mass += Math.exp(logprob)
    if (token === '' || token.includes('\ufffd')) continue
    const count = (counts.get(token) ?? 0) + 1
    if (count > mostAlike) throw malformedReply('one token stands many times among the alternatives')
    counts.set(token, count)
  }
  if (mass > mostMass) throw malformedReply('the probabilities of alternatives add up to more than 1')
  return alternatives
}
