/** Of an object or a list, beside what it holds. */
const ofContainer = 48
const ofEntry = 16
/** Values of one tree that are counted; what holds more is held for no longer than its request. */
const mostValues = 1_000_000
const deepest = 256

/**
 * About the bytes of memory that a value takes, so that what waits can be bounded: each text counts two bytes a character,
 * whatever field it is in. What several places share is counted in each of them.
 */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return ofEntry + 2 * value.length
  if (typeof value !== 'object' || value === null) return ofEntry
  return new Count().of(value, 0)
}

class Count {
  #left = mostValues

  of(value: unknown, depth: number): number {
    if (typeof value === 'string') return ofEntry + 2 * value.length
    if (typeof value !== 'object' || value === null || depth > deepest) return ofEntry
    let bytes = ofContainer
    if (ArrayBuffer.isView(value)) return bytes + value.byteLength
    if (Array.isArray(value)) {
      for (const item of value) {
        if (--this.#left < 0) break
        bytes += this.of(item, depth + 1)
      }
      return bytes
    }
    for (const key in value) {
      if (--this.#left < 0) break
      // Names of fields are shared; those that a sample brings along are not.
      bytes += 2 * key.length + this.of((value as Record<string, unknown>)[key], depth + 1)
    }
    return bytes
  }
}
