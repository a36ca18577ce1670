import { RE2JS } from 're2js'

/** A pattern whose cost is linear in the text, whatever the pattern. */
export interface LinearPattern {
  /** Whether it matches somewhere, or the whole text where `whole`. */
  matches(text: string, whole: boolean): boolean
}

const flagBits: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
}
const kept = 256
const patterns = new Map<string, LinearPattern>()

/** A pattern in RE2 syntax (no lookaround, no back-references) with flags of `ims`; throws an Error that says what is wrong. */
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

/** Why a text is no pattern; null: it is one. */
export function patternProblem(source: string, flags = ''): string | null {
  try {
    linearPattern(source, flags)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
