import type { NonJsonLiteral } from '../core/json/limits.ts'

/** Oddities by the row that holds them: the second step of their paths, whichever list it is in. */
export function odditiesByRow(
  oddities: readonly NonJsonLiteral[],
): ReadonlyMap<number, readonly NonJsonLiteral[]> {
  const byRow = new Map<number, NonJsonLiteral[]>()
  for (const oddity of oddities) {
    const [, row] = oddity.path
    if (typeof row !== 'number') continue
    const own = byRow.get(row)
    if (own) own.push(oddity)
    else byRow.set(row, [oddity])
  }
  return byRow
}
