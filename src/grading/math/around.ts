import { OverBudget } from './budget.ts'
import { isRounded } from './chain.ts'
import { equalAnswers } from './compare.ts'
import { readAnswer } from './read-answer.ts'
import { functionNames, symbolNames, synonyms } from './vocabulary.ts'

const operators = new Set(
  'frac binom sqrt sum prod int lim overset underset stackrel bar overline'.split(' '),
)
const shapes = new Set(['triangle', 'angle', 'star'])

/** Whether a command takes what stands next to it as an argument or a factor. */
function joins(written: string): boolean {
  const name = synonyms.get(written) ?? written
  return operators.has(name) || functionNames.has(name) || (symbolNames.has(name) && !shapes.has(name))
}

const commandBefore = /\\([A-Za-z]+)(?:\s*\[[^\]{}]{0,20}\])?(?:\s*\{[^{}]{0,60}\})?[\s{(]*$/
const commandAfter = /^(?:\s|\\[,;:! ])*\\([A-Za-z]+)/
/** A power or an index that is a box, and the argument of a function. */
const raised = /[\^_]\s*\{?\s*$|(?<![\p{L}])[A-Za-z]\s?\(\s*$/u
/** More digits, or a factor of one letter that is no unit. */
const continued = /^(?:\{,\}|[.,]|\\[,!])\d|^[abceijknpqrtuxyz](?![A-Za-z])/

/**
 * Whether a box is only a part of the formula that it stands in: `\frac{1}{\boxed{42}}`, `\boxed{42}\pi`,
 * `\boxed{42}{,}000`. Constant time.
 */
export function isPartOfFormula(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 100), start)
  const after = text.slice(end, end + 40)
  if (raised.test(before) || continued.test(after)) return true
  const [governing, factor] = [commandBefore.exec(before)?.[1], commandAfter.exec(after)?.[1]]
  return (governing !== undefined && joins(governing)) || (factor !== undefined && joins(factor))
}

const usual = { precision: 6, strict: true, relationAsSet: false }

/** Whether two texts are answers that differ. False if one of them cannot be read. */
export function differ(one: string, other: string): boolean {
  const [a, b] = [readAnswer(one), readAnswer(other)]
  if (a === null || b === null) return false
  try {
    return equalAnswers(a, b, usual) === null && equalAnswers(b, a, usual) === null && !isRounded(a, b)
  } catch (error) {
    if (error instanceof OverBudget) return false
    throw error
  }
}

const alternative =
  /^[\s$*)\]\\}]*,?\s*\(?or\s+(?:(?:else|even|maybe|perhaps|possibly|alternatively|rather|also|just)\s+){0,2}(?:\$\s?([^$\n]{1,200})\$|\\\(([^\n]{1,200}?)\\\)|(-?\d[\d.,/]*))/i
const correction =
  /(?:^|[.!?。\n])\W*(?:actually|correction|no|wait|sorry|rather|oops|hmm+|i\s+meant?)\W+(?:(?:it|that|this|the\s+(?:correct\s+)?answer)(?:\s+(?:is|was|should\s+be|must\s+be)|['’]s)\s+)?(?:actually\s+|really\s+)?\$?(-?\d[\d.,/]*)/gi

/** Whether the text after an answer offers another one (`or maybe 43`) or corrects it (`Actually 43.`). */
export function isReplaced(answer: string, after: string): boolean {
  const near = after.slice(0, 1000)
  const [, dollars, brackets, bare] = alternative.exec(near) ?? []
  const others = [dollars ?? brackets ?? bare, ...Array.from(near.matchAll(correction), ([, found]) => found)]
  return others.some((other) => other !== undefined && differ(answer, other.replace(/[.,]+$/, '')))
}
