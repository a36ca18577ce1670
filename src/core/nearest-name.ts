/**
 * The known name closest to a misspelt one, or null if none is close. A difference in case costs a quarter.
 */
export function nearestName(name: string, known: Iterable<string>): string | null {
  let best: string | null = null
  if (name.length > 100) return null
  // Two typos in a short word make a different word.
  let limit = Math.max(1, Math.floor(name.length / 3)) + 0.5
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= limit) continue
    const distance = editDistance(name, candidate)
    if (distance < limit) {
      best = candidate
      limit = distance
    }
  }
  return best
}

/** `; did you mean 'x'?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known)
  return nearest === null ? '' : `; did you mean '${nearest}'?`
}

/**
 * Levenshtein distance with swaps of neighbours as one edit (optimal string alignment). A change of case
 * costs a quarter.
 */
function editDistance(a: string, b: string): number {
  let twoAbove: readonly number[] = []
  let above: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const [left = '', right = ''] = [a[row - 1], b[column - 1]]
      const change = left === right ? 0 : left.toLowerCase() === right.toLowerCase() ? 0.25 : 1
      const swapped = row > 1 && column > 1 && left === b[column - 2] && right === a[row - 2]
      current.push(
        Math.min(
          (above[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (above[column - 1] ?? 0) + change,
          swapped ? (twoAbove[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    twoAbove = above
    above = current
  }
  return above[b.length] ?? 0
}
