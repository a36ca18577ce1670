/** Entropy of a coin in bits: 0 where p is outside of 0 to 1, or at an end. */
export const binaryEntropy = (p: number): number =>
  p > 0 && p < 1 ? -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p)) : 0
