import { hash } from 'node:crypto'

/** Longer values are known by their hash: that of a long one costs more than all else, and is made once. */
const shortLength = 1024

/** What stands for a value in the identity of its question; no two values have the same. */
export const identityOf = (value: string): string =>
  value.length <= shortLength ? `=${value}` : `#${hash('sha256', value)}`

/**
 * The lines around a value, with a nonce that its author cannot know: 48 bits of a SHA-256 keyed by the secret. It hangs
 * on the value's identity alone, so equal questions stay equal and what stands before a value stays cacheable.
 */
export function fenceOf(identity: string, secret: string): readonly [open: string, close: string] {
  const nonce = hash('sha256', `${secret}\n${identity}`).slice(0, 12)
  return [`⟦${nonce}\n`, `\n${nonce}⟧`]
}
