/** Uniform numbers in [0, 1), the same for the same seed on every machine; not for secrets. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** `size` of the items, each set of them as likely as any other, in their order; all of them where there are no more. */
export function drawn<T>(items: readonly T[], size: number, random: () => number): readonly T[] {
  let needed = size
  return items.filter((_, index) => {
    if (random() * (items.length - index) >= needed) return false
    needed--
    return true
  })
}
