import { hashText } from './hash.ts'

/** The simulated tokenizer cuts a text every four UTF-16 units; a count costs nothing. */
export const charactersPerToken = 4

export const vocabularySize = 151_936

/** How many tokens a text has. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken)
}

/** The text's tokens in order; joined they are the text. */
export function splitTokens(text: string): string[] {
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
