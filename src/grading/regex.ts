import { RE2JS } from 're2js'

/** A pattern that always matches in linear time. */
export interface LinearPattern {
  /** Whether the pattern matches anywhere, or with `whole` the whole text. */
  matches(text: string, whole: boolean): boolean
}

const flagBits: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
}
const kept = 256
const patterns = new Map<string, LinearPattern>()

/**
 * Compiles a pattern in RE2 syntax (no lookaround, no back-references) with flags from `ims`. Throws an Error
 * that names the problem.
 */
export function linearPattern(source: string, flags = ''): LinearPattern {
  const key = `${flags}/${source}`
  const known = patterns.get(key)
  if (known) return known
  const bits = [...flags].reduce((all, flag) => all | (flagBits[flag] ?? 0), 0)
  const compiled = RE2JS.compile(source, bits)
  const pattern: LinearPattern = {
    matches: (text, whole) => (whole ? compiled.testExact(text) : compiled.test(text)),
  }
  if (patterns.size >= kept) patterns.clear()
  patterns.set(key, pattern)
  return pattern
}

/** The problem of a pattern, or null if it is valid. */
export function patternProblem(source: string, flags = ''): string | null {
  try {
    linearPattern(source, flags)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
