import { cyrb53 } from '../core/hash.ts'
import { uniform } from './hash.ts'

/** The simulated tokenizer cuts every four UTF-16 units. A short word alone is one token, like a verdict. */
export const charactersPerToken = 4

const oneWord = /^ ?[A-Za-z]{1,12}$/u
const longestWord = 13

/** All ids are below this. */
export const vocabularySize = 151_936

/** As many as `splitTokens` gives. */
export function countTokens(text: string): number {
  if (text.length <= longestWord && oneWord.test(text)) return 1
  if (!text.includes('<|')) return Math.ceil(text.length / charactersPerToken)
  let count = 0
  let from = 0
  for (const { 0: token, index } of text.matchAll(controlTokens)) {
    count += countPiece(text, from, index) + 1
    from = index + token.length
  }
  return count + countPiece(text, from, text.length)
}

function countPiece(text: string, from: number, to: number): number {
  const isWord = to - from > 0 && to - from <= longestWord && oneWord.test(text.slice(from, to))
  return isWord ? 1 : Math.ceil((to - from) / charactersPerToken)
}

const controlToken = /(<\|[a-z_]{1,40}\|>)/
const controlTokens = new RegExp(controlToken, 'g')

/** The text's tokens in order. Joined, they are the text. A control token is one token. */
export function splitTokens(text: string): string[] {
  if (oneWord.test(text)) return [text]
  if (text.includes('<|') && controlToken.test(text))
    return text
      .split(controlToken)
      .flatMap((piece, at) => (at % 2 === 1 ? [piece] : piece === '' ? [] : splitTokens(piece)))
  const tokens: string[] = []
  for (let start = 0; start < text.length; start += charactersPerToken) {
    tokens.push(text.slice(start, start + charactersPerToken))
  }
  return tokens
}

/** Ids of the text's tokens: hashes, the same in every process. */
export function tokenIds(text: string): number[] {
  return splitTokens(text).map(tokenId)
}

/** The id of a token. Single ASCII characters keep their code. */
export function tokenId(token: string): number {
  const code = token.charCodeAt(0)
  if (token.length === 1 && code < 128) return code
  return 128 + (cyrb53(token) % (vocabularySize - 128))
}

const words =
  'yes no true false correct incorrect right wrong good bad better worse pass fail tie A B C D E F G H I J'.split(
    ' ',
  )

const known = new Map(
  [...words, ...Array.from({ length: 11 }, (_, digit) => String(digit))]
    .flatMap((word) => [word, ` ${word}`, capital(word), word.toUpperCase()])
    .map((word) => [tokenId(word), word]),
)

/** The text of an id: a character, a verdict's word, or a remembered token. null for any other. */
export function tokenText(id: number): string | null {
  return known.get(id) ?? (id >= 0 && id < 128 ? String.fromCharCode(id) : null)
}

const texts = new Map<string, string>()

/** Remembers a tokenized text, so that a prompt of its ids can be decoded in this process. */
export function rememberText(text: string, ids: readonly number[]): void {
  if (texts.size >= 1000) texts.clear()
  texts.set(ids.join(), text)
}

/** Decodes a prompt of ids: a remembered text, or else token by token. */
export function textOfIds(ids: readonly number[]): string {
  return texts.get(ids.join()) ?? ids.map((id) => tokenText(id) ?? ' ').join('')
}

/** Remembers a single token, so that its id can be decoded in this process. */
export function remember(token: string): void {
  if (known.size < 5000) known.set(tokenId(token), token)
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** A token with its log probability and its alternatives, best first. */
export interface LabelledToken {
  readonly token: string
  readonly logprob: number
  readonly top: readonly { readonly token: string; readonly logprob: number }[]
}

/** The probability of the written label: high, but never 1. Determined by seed and text. */
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
