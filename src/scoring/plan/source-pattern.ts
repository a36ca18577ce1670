import type { SourcePattern } from './plan.ts'

/**
 * Patterns of a data source: `*` is any text, a pattern with a leading `!` excludes, only exclusions include all
 * else. A sample without a data source counts as the empty text.
 */
export function sourcePattern(patterns: readonly string[]): SourcePattern {
  const excluded = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .map((pattern) => pattern.slice(1).split('*'))
  const included = patterns.filter((pattern) => !pattern.startsWith('!')).map((pattern) => pattern.split('*'))
  return {
    patterns,
    matches(dataSource = '') {
      if (excluded.some((pieces) => fits(dataSource, pieces))) return false
      return included.length === 0 || included.some((pieces) => fits(dataSource, pieces))
    },
  }
}

/** Whether the text is the pieces in order with anything between them; linear, since the first fit is as good as any. */
function fits(text: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const piece of rest) {
    const at = text.indexOf(piece, from)
    if (at === -1) return false
    from = at + piece.length
  }
  return from <= text.length - last.length
}
