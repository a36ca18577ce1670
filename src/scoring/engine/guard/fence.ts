import { hash } from 'node:crypto'
import type { KnownText } from '../../models/api/rendered-message.ts'
import { longHash } from '../long-hash.ts'

/** What a question's value is known by, and what its fence is made of. */
export interface Seal {
  /** Stands for the value in the identity of its question; no two values have the same. */
  readonly identity: string
  /** 48 bits that the value's author cannot know. */
  readonly nonce: string
}

/** Longer values are known by their hash. */
const shortLength = 64
const nonceLength = 12

/**
 * One SHA-256 of a value, keyed by the secret, serves both. The nonce hangs on the value alone, so equal questions stay
 * equal and what stands before a value stays cacheable; the identity shares no bit with it.
 */
export const sealOf = (value: string, secret: string): Seal =>
  sealBy(value, hash('sha256', `${secret}\n${value}`))

/** The same seal, of a value of any length, in pieces. */
export function* sealing(value: string, secret: string): Generator<void, Seal> {
  return sealBy(value, yield* longHash(`${secret}\n`, value, 'utf8'))
}

const sealBy = (value: string, digest: string): Seal => ({
  identity: value.length <= shortLength ? `=${value}` : `#${digest.slice(nonceLength)}`,
  nonce: digest.slice(0, nonceLength),
})

/** What stands before a fenced value. The brackets are escapes in JSON: one wide character doubles a text's bytes. */
export const opening = (nonce: string): KnownText => ({
  text: `⟦${nonce}\n`,
  json: `\\u27e6${nonce}\\n`,
})

/** What stands after it. */
export const closing = (nonce: string): KnownText => ({
  text: `\n${nonce}⟧`,
  json: `\\n${nonce}\\u27e7`,
})
