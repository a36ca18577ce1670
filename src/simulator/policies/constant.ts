import type { Policy } from './policy.ts'

/** The same verdict for everything; a text is the whole reply, and the prompt is not even read. */
export function constantPolicy(value: number | string): Policy {
  const verdict = typeof value === 'string' ? value : { score: value, reason: 'Always the same.' }
  return () => verdict
}
