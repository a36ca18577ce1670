/** Per object or list, without its contents. */
const ofContainer = 48
const ofEntry = 16
/** Values counted per tree. Larger values are held only as long as their request. */
const mostValues = 1_000_000
const deepest = 256

/**
 * Estimated memory of a value, used to bound what waits. Strings count two bytes per character. Shared parts
 * count each time.
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
      // Field names are shared, but names that a sample brings along are not.
      bytes += 2 * key.length + this.of((value as Record<string, unknown>)[key], depth + 1)
    }
    return bytes
  }
}
