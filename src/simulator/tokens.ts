import { hashText } from './hash.ts'

/** The simulated tokenizer cuts a text every four UTF-16 units; one short word alone is one token, as verdicts are. */
export const charactersPerToken = 4

const oneWord = /^ ?[A-Za-z]{1,12}$/u
const longestWord = 13

/** Every id is below it. */
export const vocabularySize = 151_936

/** How many tokens a text has. */
export function countTokens(text: string): number {
  if (text.length <= longestWord && oneWord.test(text)) return 1
  return Math.ceil(text.length / charactersPerToken)
}

/** The text's tokens in order; joined they are the text. */
export function splitTokens(text: string): string[] {
  if (oneWord.test(text)) return [text]
  const tokens: string[] = []
  for (let start = 0; start < text.length; start += charactersPerToken) {
    tokens.push(text.slice(start, start + charactersPerToken))
  }
  return tokens
}

/** Ids of the text's tokens: hashes, equal in every process. */
export function tokenIds(text: string): number[] {
  return splitTokens(text).map(tokenId)
}

/** One token's id; single ASCII characters keep their code. */
export function tokenId(token: string): number {
  const code = token.charCodeAt(0)
  if (token.length === 1 && code < 128) return code
  return 128 + (hashText(token) % (vocabularySize - 128))
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

/** The text of an id: a character, a verdict's word, or what `remember` was told; null for any other. */
export function tokenText(id: number): string | null {
  return known.get(id) ?? (id >= 0 && id < 128 ? String.fromCharCode(id) : null)
}

const texts = new Map<string, string>()

/** Keeps a text that was asked for, so that a prompt of its ids can be read back in this process. */
export function rememberText(text: string, ids: readonly number[]): void {
  if (texts.size >= 1000) texts.clear()
  texts.set(ids.join(), text)
}

/** The text of a prompt of ids: one that `rememberText` was told, else its tokens one by one. */
export function textOfIds(ids: readonly number[]): string {
  return texts.get(ids.join()) ?? ids.map((id) => tokenText(id) ?? ' ').join('')
}

/** Keeps single tokens that were asked for, so that their ids can be read back in this process. */
export function remember(token: string): void {
  if (known.size < 5000) known.set(tokenId(token), token)
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
