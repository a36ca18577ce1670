/** Length of the longest common subsequence; linear in `a`, by 32 symbols of `b` a step (Hyyrö's bit-parallel recurrence). */
export function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  const places = bitsBySymbol(b)
  const rest = new Uint32Array(Math.ceil(b.length / 32)).fill(0xffffffff)
  for (const symbol of a) {
    const matches = places.get(symbol)
    if (!matches) continue
    let carry = 0
    for (let i = 0; i < rest.length; i++) {
      const left = rest[i]!
      const match = matches[i]!
      const sum = left + ((left & match) >>> 0) + carry
      carry = sum > 0xffffffff ? 1 : 0
      rest[i] = sum | (left & ~match)
    }
  }
  let length = 0
  for (let i = 0; i < b.length; i++) if (((rest[i >>> 5]! >>> (i & 31)) & 1) === 0) length++
  return length
}

function bitsBySymbol(symbols: readonly string[]): Map<string, Uint32Array> {
  const places = new Map<string, Uint32Array>()
  for (const [i, symbol] of symbols.entries()) {
    const bits = places.get(symbol) ?? new Uint32Array(Math.ceil(symbols.length / 32))
    bits[i >>> 5]! |= 1 << (i & 31)
    places.set(symbol, bits)
  }
  return places
}
