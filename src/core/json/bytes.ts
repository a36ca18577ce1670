import { isAscii } from 'node:buffer'
import { inSlices } from '../slices.ts'
import { type JsonLimits, noJsonLimits } from './limits.ts'
import { JsonReader } from './reader.ts'
import { parseSmall, type SizedText } from './text.ts'

/** V8 gives a text beyond half a page of its heap, 128 KiB, pages of its own: those cost more than to parse it in parts. */
const longBytes = 100_000

/**
 * JSON from UTF-8 bytes, as parseJsonText reads it. A long body is read in slices: each holds up the event loop for some
 * milliseconds. `taken` hears how much of the heap the value takes so far, bytes; what it throws ends the reading.
 * Throws or rejects with SyntaxError, which is a JsonLimitError where the body holds more than it may.
 */
export function parseJsonBytes(
  bytes: Buffer,
  limits: JsonLimits = noJsonLimits,
  taken: (heapBytes: number) => void = () => {},
): SizedText | Promise<SizedText> {
  // So few bytes hold no more values than a row may.
  if (bytes.length <= Math.min(longBytes, 2 * limits.maxValues)) {
    const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
    const small = parseSmall(text, () => bytes, false, limits)
    taken(small.heapBytes)
    return small
  }
  const reader = new JsonReader(bytes, limits)
  const reading = inSlices(
    () => {
      const isMore = reader.step()
      taken(reader.heapBytes)
      return isMore
    },
    undefined,
    1,
  )
  return reading === null ? reader : reading.then(() => reader)
}
