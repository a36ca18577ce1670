import { cutMessage } from '../errors.ts'
import type { Unreadable } from '../sample/sample.ts'

const mostOfDetail = 500

/** A row whose sample cannot be told, and why. */
export const badSample = (id: string, detail: string): Unreadable => ({
  id,
  failure: { kind: 'bad_sample', retryable: false, detail: cutMessage(detail, mostOfDetail) },
})
