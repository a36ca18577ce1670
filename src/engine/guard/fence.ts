import { hash } from 'node:crypto'

/**
 * A value between lines with a nonce that its author cannot know: 48 bits of a SHA-256 keyed by the secret. It depends
 * on the value alone, so equal questions stay equal and what stands before a value stays cacheable.
 */
export function fence(value: string, secret: string): string {
  const nonce = hash('sha256', `${secret}\n${value}`).slice(0, 12)
  return `⟦${nonce}\n${value}\n${nonce}⟧`
}
