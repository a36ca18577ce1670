/** Unicode white space as Python sees it (JavaScript's `\s` also has U+FEFF and lacks 001C-001F, 0085); inside [] of a pattern. */
export const whiteSpace =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const space = new RegExp(`[${whiteSpace}]`)

/** True for one UTF-16 unit of white space; false for ''. */
export const isSpace = (unit: string): boolean => space.test(unit)

const spaces = new RegExp(`[${whiteSpace}]+`, 'g')

/** Every run of white space as one blank, none at the ends. */
export const singleSpaced = (text: string): string => trimSpace(text.replace(spaces, ' '))

/** Without white space at both ends. */
export function trimSpace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charAt(start))) start++
  while (end > start && isSpace(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/** The last `count` code points of a text, in time that does not depend on its length. */
export function lastCodePoints(text: string, count: number): string {
  return [...text.slice(-2 * count)].slice(-count).join('')
}

/** How many code points a text has; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

/** The code points of a text; a lone surrogate is one. */
export function codePointsOf(text: string): Uint32Array {
  const points = new Uint32Array(text.length)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at)!
    if (point > 0xffff) at++
    points[count++] = point
  }
  return points.subarray(0, count)
}

const digit = /\p{Nd}/u

/** What was found out; there are fewer than a thousand digits. */
const values = new Map<string, number>()

/** A text of Unicode decimal digits (`１`, `١`, `𝟒`) in ASCII; other characters stay. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (found) => (found >= '0' && found <= '9' ? found : `${digitValue(found)}`))
}

/** Digits stand in runs of ten from zero to nine (the mathematical ones in five such runs without a gap). */
function digitValue(found: string): number {
  const known = values.get(found)
  if (known !== undefined) return known
  const code = found.codePointAt(0) ?? 0
  let before = code
  while (digit.test(String.fromCodePoint(before - 1))) before--
  const value = (code - before) % 10
  values.set(found, value)
  return value
}

/** Python reads no longer text as an integer. */
export const maxIntegerDigits = 4300

const runOfMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * The text in Unicode's NFKC form, in time that no text can blow up: of a run of combining marks the first 30 stay
 * (ordering them is quadratic), and U+FDFA stays as it is (it would be 18 characters).
 */
export const compatible = (text: string): string =>
  text
    .replace(runOfMarks, '$1')
    .split('\ufdfa')
    .map((part) => part.normalize('NFKC'))
    .join('\ufdfa')
