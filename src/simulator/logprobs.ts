import { uniform } from './hash.ts'
import { splitTokens } from './tokens.ts'

/** A token with its log probability and those of its rivals, best first. */
export interface LabelledToken {
  readonly token: string
  readonly logprob: number
  readonly top: readonly { readonly token: string; readonly logprob: number }[]
}

/** The written label's probability: sure, but never certain. A fact about seed and text. */
export function confidence(text: string, seed: string | number): number {
  return 0.8 + 0.18 * uniform(seed, 'confidence', text)
}

/** Log probabilities of a text's tokens. The first token shares its probability with the first tokens of `labels`. */
export function logprobsOf(
  text: string,
  labels: readonly string[],
  alternatives: number,
  seed: string | number,
): LabelledToken[] {
  return splitTokens(text).map((token, index) => {
    const rivals = index === 0 ? rivalsOf(token, labels) : []
    const sure = rivals.length === 0 ? 0.99 : confidence(text, seed)
    const own = { token, logprob: Math.log(sure) }
    const rest = Math.log((1 - sure) / Math.max(1, rivals.length))
    const top = [own, ...rivals.map((rival) => ({ token: rival, logprob: rest }))]
    return { ...own, top: top.slice(0, alternatives) }
  })
}

const opposites: readonly (readonly [string, string])[] = [
  ['1', '0'],
  ['yes', 'no'],
  ['Yes', 'No'],
  ['YES', 'NO'],
  ['A', 'B'],
]

function rivalsOf(token: string, labels: readonly string[]): string[] {
  const others = labels.map((label) => splitTokens(label)[0] ?? '').filter((first) => first !== token)
  if (others.length > 0) return [...new Set(others)]
  const pair = opposites.find((words) => words.includes(token))
  return pair ? pair.filter((word) => word !== token) : []
}
