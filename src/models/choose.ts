import type { Generation } from '../contract/index.ts'
import type { Settings } from './backend.ts'
import { Fault } from './fault.ts'
import { madeOnce } from './made-once.ts'
import type { Sampling } from './models.ts'
import { garbled } from './reply.ts'

/** Labels with less of the probability than this together were not what the model was about to say. */
const leastMass = 0.01

/** A choice is the first token of an answer: its likeliest tokens tell the probability of each label. */
export const choiceSettings = ({ sampling, draw }: Settings): Settings => ({
  sampling: oneToken(sampling),
  reply: undefined,
  draw,
})

const oneToken = madeOnce(
  (sampling: Sampling): Sampling => ({
    ...sampling,
    temperature: 0,
    max_tokens: 1,
    logprobs: 20,
    thinking: sampling.thinking ?? false,
  }),
)

/** Probability of each label from the first token's alternatives; sums to 1. Throws Fault where no label is likely. */
export function readChoice(labels: readonly string[], { logprobs }: Generation): Record<string, number> {
  const [first] = logprobs ?? []
  if (!first) throw garbled('no logprobs')
  const mass = new Map<string, number>(labels.map((label) => [label, 0]))
  for (const { token, logprob } of first.top) {
    const label = labelOf(token, labels)
    if (label !== null) mass.set(label, (mass.get(label) ?? 0) + Math.exp(logprob))
  }
  return shares(mass)
}

/** The labels' probabilities as shares of their sum. Throws Fault where together they are unlikely. */
export function shares(mass: ReadonlyMap<string, number>): Record<string, number> {
  let total = 0
  for (const share of mass.values()) total += share
  if (!(total >= leastMass))
    throw new Fault('judge_unparseable', 'none of the labels is a likely answer', {
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
