/** Kendall's tau-b of two rankings: 1 where they agree on every pair, -1 where on none; pairs tied in one count for less. */
export function kendallTau(a: readonly number[], b: readonly number[]): number {
  let [agreed, untiedA, untiedB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < i; j++) {
      const x = order(a[i], a[j])
      const y = order(b[i], b[j])
      agreed += x * y
      untiedA += x * x
      untiedB += y * y
    }
  }
  return agreed / Math.sqrt(untiedA * untiedB)
}

const order = (left = 0, right = 0): number => (Math.abs(left - right) < 1e-9 ? 0 : Math.sign(left - right))
