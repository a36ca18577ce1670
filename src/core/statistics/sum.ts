/** Pairwise sum in numpy's order of additions, so that figures agree with it to the last digit. */
export function sum(values: readonly number[]): number {
  return sumOf(values, 0, values.length)
}

function sumOf(values: readonly number[], from: number, count: number): number {
  if (count > 128) {
    const half = Math.floor(count / 2)
    const left = half - (half % 8)
    return sumOf(values, from, left) + sumOf(values, from + left, count - left)
  }
  const lanes = count < 8 ? 0 : count - (count % 8)
  let total = 0
  if (lanes > 0) {
    const [a, b, c, d, e, f, g, h] = laneSums(values, from, lanes)
    total = a + b + (c + d) + (e + f + (g + h))
  }
  for (let at = from + lanes; at < from + count; at++) total += values[at] ?? 0
  return total
}

type Eight = [number, number, number, number, number, number, number, number]

function laneSums(values: readonly number[], from: number, count: number): Eight {
  const lanes: Eight = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let at = 0; at < count; at++) lanes[at % 8] = (lanes[at % 8] ?? 0) + (values[from + at] ?? 0)
  return lanes
}
