/** An assignment of rows to columns. */
export type Pairs = readonly (readonly [row: number, column: number])[]

/**
 * Assigns rows to columns, each at most once, with the largest sum of gains (the Hungarian method). Ragged or missing gains are
 * 0. Cubic in the longer side: bound both.
 */
export function bestAssignment(gains: readonly (readonly number[])[]): Pairs {
  const size = Math.max(gains.length, ...gains.map((row) => row.length), 0)
  const cost = (row: number, column: number): number => -(gains[row - 1]?.[column - 1] ?? 0)
  // Potentials of rows and columns, and the row that holds each column. Number 0 stands for none.
  const rowPotential = new Float64Array(size + 1)
  const columnPotential = new Float64Array(size + 1)
  const holder = new Int32Array(size + 1)
  for (let row = 1; row <= size; row++) {
    const slack = new Float64Array(size + 1).fill(Number.POSITIVE_INFINITY)
    const before = new Int32Array(size + 1)
    const isDone = new Uint8Array(size + 1)
    let column = 0
    holder[0] = row
    do {
      isDone[column] = 1
      const held = holder[column]!
      let [step, next] = [Number.POSITIVE_INFINITY, 0]
      for (let other = 1; other <= size; other++) {
        if (isDone[other]) continue
        const reduced = cost(held, other) - rowPotential[held]! - columnPotential[other]!
        if (reduced < slack[other]!) {
          slack[other] = reduced
          before[other] = column
        }
        if (slack[other]! < step) [step, next] = [slack[other]!, other]
      }
      for (let other = 0; other <= size; other++) {
        if (isDone[other]) {
          rowPotential[holder[other]!]! += step
          columnPotential[other]! -= step
        } else slack[other]! -= step
      }
      column = next
    } while (holder[column] !== 0)
    for (; column !== 0; column = before[column]!) holder[column] = holder[before[column]!]!
  }
  return Array.from(holder.subarray(1), (row, column) => [row - 1, column] as const).filter(
    ([row, column]) => gains[row]?.[column] !== undefined,
  )
}
