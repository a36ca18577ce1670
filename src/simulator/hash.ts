/** 53-bit hash of a text or a part of it (cyrb53): fast and the same in every process, not cryptographic. */
export function hashText(text: string, seed = 0, start = 0, end = text.length): number {
  let a = 0xdeadbeef ^ seed
  let b = 0x41c6ce57 ^ seed
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}

/** Hash of several values in order; ('ab', 'c') and ('a', 'bc') differ. */
export function hashOf(...values: readonly (string | number)[]): number {
  return hashText(values.join('\u0000'))
}

/** A number in [0, 1) that is a fact about the values. */
export function uniform(...values: readonly (string | number)[]): number {
  return hashOf(...values) / 2 ** 53
}

/** A standard normal number that is a fact about the values (Box-Muller). */
export function normal(...values: readonly (string | number)[]): number {
  const radius = Math.sqrt(-2 * Math.log(1 - uniform(...values, 'radius')))
  return radius * Math.cos(2 * Math.PI * uniform(...values, 'angle'))
}
