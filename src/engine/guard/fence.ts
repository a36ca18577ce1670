import { hash } from 'node:crypto'

/** What a question's value is known by, and what its fence is made of. */
export interface Seal {
  /** Stands for the value in the identity of its question; no two values have the same. */
  readonly identity: string
  /** 48 bits that the value's author cannot know. */
  readonly nonce: string
}

/** Longer values are known by their hash. */
const shortLength = 1024
const nonceLength = 12

/**
 * One SHA-256 of a value, keyed by the secret, serves both. The nonce hangs on the value alone, so equal questions stay
 * equal and what stands before a value stays cacheable; the identity shares no bit with it.
 */
export function sealOf(value: string, secret: string): Seal {
  const digest = hash('sha256', `${secret}\n${value}`)
  return {
    identity: value.length <= shortLength ? `=${value}` : `#${digest.slice(nonceLength)}`,
    nonce: digest.slice(0, nonceLength),
  }
}
