/** Known names that `name` may have been meant to be, nearest first; three at most. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(name.length / 3))
  return known
    .map((other) => ({ other, distance: editDistance(name.slice(0, 100), other) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ other }) => other)
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
