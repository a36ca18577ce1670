import { compatible, whiteSpace } from './characters.ts'

const space = new RegExp(`[${whiteSpace}\\p{Cf}]+`, 'gu')

/** The set of a text's character n-grams, without case, white space and invisible characters. A shorter text is one n-gram. Linear. */
export function gramsOf(text: string, n: number): ReadonlySet<string> {
  const points = Array.from(compatible(text).toLowerCase().replace(space, ''))
  const grams = new Set<string>()
  if (points.length > 0 && points.length < n) grams.add(points.join(''))
  for (let at = 0; at + n <= points.length; at++)
    grams.add(n === 1 ? (points[at] ?? '') : points.slice(at, at + n).join(''))
  return grams
}

/** The share of common members in all members of two sets, 0 to 1; 0 for two empty ones. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a]
  let same = 0
  for (const one of small) if (large.has(one)) same++
  return same === 0 ? 0 : same / (a.size + b.size - same)
}
