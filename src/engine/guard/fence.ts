import { createHmac } from 'node:crypto'
import type { Prompt } from '../../contract/index.ts'

/**
 * A prompt as text: every value stands between lines with a nonce that its author cannot know.
 * The nonce is an HMAC of the value, so equal questions stay equal and the constant beginning stays cacheable.
 */
export function fence(prompt: Prompt, secret: string): string {
  let text = prompt.literals[0] ?? ''
  for (const [index, value] of prompt.values.entries()) {
    const nonce = createHmac('sha256', secret).update(value).digest('hex').slice(0, 12)
    text += `⟦${nonce}\n${value}\n${nonce}⟧${prompt.literals[index + 1] ?? ''}`
  }
  return text
}
