import { hashText } from './hash.ts'
import { charactersPerToken } from './tokens.ts'

/** As vLLM's default. */
export const tokensPerBlock = 16
const blockLength = tokensPerBlock * charactersPerToken

/** vLLM's automatic prefix caching, modelled: full blocks of 16 tokens, chained hashes, least recently used out. */
export class PrefixCache {
  /** Tokens looked up and tokens found, as vLLM's two counters. */
  queries = 0
  hits = 0
  readonly #blocks = new Map<number, true>()
  readonly #limit: number

  /** `limit` blocks; 0 turns the cache off. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Looks a prompt up and keeps its blocks; answers how many of its tokens were found. */
  lookUp(prompt: string, tokens: number): number {
    if (this.#limit === 0) return 0
    this.queries += tokens
    let found = 0
    let isPrefix = true
    let chain = 0
    for (let start = 0; start + blockLength <= prompt.length; start += blockLength) {
      chain = hashText(prompt, chain % 2 ** 31, start, start + blockLength)
      isPrefix = this.#blocks.delete(chain) && isPrefix
      if (isPrefix) found += tokensPerBlock
      this.#blocks.set(chain, true)
    }
    this.#forgetOldest()
    this.hits += found
    return found
  }

  clear(): void {
    this.#blocks.clear()
  }

  #forgetOldest(): void {
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#limit) return
      this.#blocks.delete(block)
    }
  }
}
