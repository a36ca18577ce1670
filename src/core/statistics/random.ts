/** A generator of uniform numbers in [0, 1), identical for a seed on every machine. Not for secrets. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** A uniform random subset of `size` items, in their order. All items if there are no more. */
export function drawn<T>(items: readonly T[], size: number, random: () => number): readonly T[] {
  let needed = size
  return items.filter((_, index) => {
    if (random() * (items.length - index) >= needed) return false
    needed--
    return true
  })
}

/** A uniform random permutation of 0 to count - 1 (Fisher-Yates). */
export function permutation(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, at) => at)
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const kept = order[at] ?? 0
    order[at] = order[other] ?? 0
    order[other] = kept
  }
  return order
}
