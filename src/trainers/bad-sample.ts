import { cutMessage } from '../core/errors.ts'
import type { Unreadable } from '../core/sample/sample.ts'

const mostOfDetail = 500

/** A row whose sample cannot be told, and why. */
export const badSample = (id: string, detail: string): Unreadable => ({
  id,
  failure: { kind: 'bad_sample', retryable: false, detail: cutMessage(detail, mostOfDetail) },
})
