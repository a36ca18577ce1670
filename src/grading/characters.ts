import { isBlank as hasNoShape } from '../core/sample/sample.ts'

/**
 * Python's Unicode white space, for use inside [] of a pattern. JavaScript's `\s` also has U+FEFF and lacks
 * 001C-001F and 0085.
 */
export const whiteSpace =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const space = new RegExp(`[${whiteSpace}]`)

/** True for one UTF-16 unit of white space. False for ''. */
export const isSpace = (unit: string): boolean => space.test(unit)

const spaces = new RegExp(`[${whiteSpace}]+`, 'g')

/** Collapses each run of white space to one blank and trims the ends. */
export const singleSpaced = (text: string): string => trimSpace(text.replace(spaces, ' '))

/**
 * Removes white space from both ends.
 *
 * @example
 * ```ts
 * import { trimSpace } from 'reward-gateway/grading'
 *
 * trimSpace('\u3000 yes\n') // 'yes'
 * ```
 */
export function trimSpace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charAt(start))) start++
  while (end > start && isSpace(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/**
 * The last `count` code points of a text, in constant time.
 *
 * @example
 * ```ts
 * import { lastCodePoints } from 'reward-gateway/grading'
 *
 * lastCodePoints('a😀b', 2) // '😀b'
 * ```
 */
export function lastCodePoints(text: string, count: number): string {
  return [...text.slice(-2 * count)].slice(-count).join('')
}

/**
 * The number of code points. A lone surrogate counts as one.
 *
 * @example
 * ```ts
 * import { countCodePoints } from 'reward-gateway/grading'
 *
 * countCodePoints('a😀') // 2
 * ```
 */
export function countCodePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

/**
 * The code points of a text, including lone surrogates.
 *
 * @example
 * ```ts
 * import { codePointsOf } from 'reward-gateway/grading'
 *
 * codePointsOf('a😀') // Uint32Array.of(97, 128512)
 * ```
 */
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

/** A cache; there are fewer than a thousand digits. */
const values = new Map<string, number>()

/** Replaces Unicode decimal digits (`１`, `١`, `𝟒`) with ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (found) => (found >= '0' && found <= '9' ? found : `${digitValue(found)}`))
}

/** Unicode digits come in runs of ten from zero to nine. The mathematical ones are five adjacent runs. */
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

/** Python refuses to convert longer texts to integers. */
export const maxIntegerDigits = 4300

const runOfMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * The NFKC form, at bounded cost: it keeps the first 30 of a run of combining marks, because ordering them is
 * quadratic. It leaves U+FDFA alone, which would become 18 characters.
 */
export const compatible = (text: string): string =>
  text
    .replace(runOfMarks, '$1')
    .split('\ufdfa')
    .map((part) => part.normalize('NFKC'))
    .join('\ufdfa')

const decoration = /^(\*{1,3}|_{1,3}|`{1,3}|\$)(?=\S)(.*\S)\1$/s
const command = /^\\(?:text|textbf|textit|mathrm|mathbf|boxed|texttt)\{(.*)\}$/s
const tagged = /^<(answer|b|strong|i|em|p|code|mark)>(.*)<\/\1>$/is
const headed = /^#{1,6}[ \t]+(?=\S[^\n]*$)/

/**
 * A text without marks of Markdown, LaTeX or HTML around the whole of it: `**yes**`, `\text{yes}`, `<answer>yes</answer>`.
 * Linear.
 */
export function undecorated(text: string): string {
  let plain = trimSpace(text).replace(headed, '')
  for (let depth = 0; depth < 4; depth++) {
    const bare = withoutOuter(plain)
    if (bare === undefined || isBlank(bare)) return plain
    plain = trimSpace(bare)
  }
  return plain
}

/** A text without the one mark around the whole of it. undefined: there is none. */
function withoutOuter(text: string): string | undefined {
  const [, mark, inner] = decoration.exec(text) ?? []
  if (mark !== undefined && inner !== undefined && !inner.includes(mark)) return inner
  const [, name = '', within] = tagged.exec(text) ?? []
  if (within !== undefined && !within.toLowerCase().includes(`<${name.toLowerCase()}`)) return within
  const [, content] = command.exec(text) ?? []
  return content !== undefined && isBalanced(content) ? content : undefined
}

/** Whether no brace of a text closes one before it. */
function isBalanced(text: string): boolean {
  let depth = 0
  for (const sign of text) {
    if (sign === '{') depth++
    else if (sign === '}' && --depth < 0) return false
  }
  return depth === 0
}

/** Aspects that a comparison of texts may ignore. `width`: full-width and other compatibility forms. */
export const ignorable = ['width', 'case', 'punctuation', 'articles', 'space'] as const
export type Ignorable = (typeof ignorable)[number]

const without: Readonly<Record<Ignorable, (text: string) => string>> = {
  width: compatible,
  case: (text) => text.toLowerCase(),
  punctuation: (text) => text.replace(/\p{P}/gu, ''),
  articles: (text) => text.replace(/\b(?:a|an|the)\b/gi, ' '),
  space: singleSpaced,
}

/**
 * Removes the ignored aspects, in the order of `ignorable`.
 *
 * @example
 * ```ts
 * import { plainText } from 'reward-gateway/grading'
 *
 * plainText('The Answer!', ['case', 'punctuation', 'articles', 'space']) // 'answer'
 * ```
 */
export const plainText = (text: string, ignored: readonly Ignorable[]): string =>
  ignorable.filter((what) => ignored.includes(what)).reduce((plain, what) => without[what](plain), text)

/**
 * Comparisons of texts. `eq`: equal. `ne`: not equal. `like`: the first contains the second. `ilike`: the
 * same, ignoring case.
 */
export const textOperations = ['eq', 'ne', 'like', 'ilike'] as const

/** Whether a comparison of two texts holds. */
export function textHolds(
  operation: (typeof textOperations)[number],
  given: string,
  wanted: string,
): boolean {
  if (operation === 'like') return given.includes(wanted)
  if (operation === 'ilike') return given.toLowerCase().includes(wanted.toLowerCase())
  return (given === wanted) === (operation === 'eq')
}

/**
 * True for a text that is empty or has only white space and invisible characters.
 *
 * @example
 * ```ts
 * import { isBlank } from 'reward-gateway/grading'
 *
 * isBlank('\u200b \u3164') // true
 * ```
 */
export const isBlank = (text: string): boolean => hasNoShape(text)
