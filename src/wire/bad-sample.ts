import type { Unreadable } from '../sample/sample.ts'

/** A row whose sample cannot be told, and why. */
export const badSample = (id: string, detail: string): Unreadable => ({
  id,
  failure: { kind: 'bad_sample', retryable: false, detail },
})
