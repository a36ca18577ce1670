/** Uniform numbers in [0, 1), the same for the same seed (xoshiro128**, Blackman and Vigna 2018). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  // SplitMix32 spreads the seed over the four words.
  const word = (): number => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return mixed ^ (mixed >>> 15)
  }
  let [a, b, c, d] = [word(), word(), word(), word()]
  return () => {
    const scaled = Math.imul(b, 5)
    const result = Math.imul((scaled << 7) | (scaled >>> 25), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result / 2 ** 32
  }
}

/** 0 to count - 1 in a random order (Fisher and Yates). */
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
