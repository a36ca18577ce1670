import { readFloat } from '../python/number.ts'
import { trimSpace } from '../white-space.ts'

/** The best value of a problem, as the original reads its label: whole, of either sign; undefined where it has none. */
export function publishedBestValue(label: unknown): number | undefined {
  if (label === undefined || label === null) return undefined
  if (typeof label === 'string' && trimSpace(label) === '') return undefined
  const value = typeof label === 'string' ? floatOf(label) : numberOf(label)
  if (value === null || !Number.isFinite(value))
    throw new Error('extra_info.exact_answer is no finite number')
  return Math.trunc(value)
}

/** The best value of a problem: a number from 0 on, or plain decimal text of one; undefined for any other label. */
export function strictBestValue(label: unknown): number | undefined {
  const isText = typeof label === 'string' && /^\d+(?:\.\d+)?$/.test(label.trim())
  const value = isText ? Number(label) : label
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** `float()` leaves the separators that `strip` takes, and then refuses the text. */
const separators = ['\x1c', '\x1d', '\x1e', '\x1f']

function floatOf(text: string): number | null {
  return separators.some((separator) => text.includes(separator)) ? null : readFloat(text)
}

function numberOf(label: unknown): number | null {
  return typeof label === 'number' || typeof label === 'boolean' ? Number(label) : null
}
