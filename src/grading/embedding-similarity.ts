/** Cosine of two vectors, -1 to 1; NaN where one has no length or their lengths differ. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return Number.NaN
  let dot = 0
  let squaresA = 0
  let squaresB = 0
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? 0
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  return dot / Math.sqrt(squaresA * squaresB)
}

/** Spreads the similarities at which bge-large-zh tells sentences apart, 0.65 to 0.85, over 0.1 to 1, steeper at the top. */
export function spreadSimilarity(similarity: number): number {
  if (similarity <= 0.65) return 0.1
  if (similarity >= 0.85) return 1
  return (10000 ** similarity / 10000 ** 0.9 - 0.1) * 1.69811 + 0.1
}
