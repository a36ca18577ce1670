import { trimSpace } from './characters.ts'

const wrapper =
  /\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathit|mathsf|mathtt|operatorname)\s?(?=\{)/g
const spacing = /\\(?:left|right|[,;!])/g
const braces = /\\?[{}]/g
const escaped = /\\([_&%#$[\]()])/g

/** The words in a box without LaTeX: `\text{Rule\_Learning}` becomes `Rule_Learning`. Linear. */
export function latexText(content: string): string {
  const plain = content.replace(wrapper, '').replace(spacing, '').replace(braces, '')
  return plain.replace(escaped, '$1').trim()
}

const opening = '\\boxed{'

/**
 * MATH's last box. If the text contains `\boxed ` with a blank, the last such form up to a `$`. Otherwise
 * from the last `\boxed`, or else `\fbox`, to its closing brace. null: no box, or one that is never closed.
 * Linear.
 *
 * @example
 * ```ts
 * import { lastBox } from 'reward-gateway/grading'
 *
 * lastBox('First \\boxed{3}, then \\boxed{4}.') // '\\boxed{4}'
 * ```
 */
export function lastBox(text: string): string | null {
  const spaced = text.lastIndexOf('\\boxed ')
  if (spaced !== -1) return text.slice(spaced).split('$', 1)[0] ?? null
  const boxed = text.lastIndexOf('\\boxed')
  return balanced(text, boxed === -1 ? text.lastIndexOf('\\fbox') : boxed)
}

function balanced(text: string, start: number): string | null {
  const end = start === -1 ? -1 : closingBrace(text, start, 0)
  return end === -1 ? null : text.slice(start, end + 1)
}

/**
 * The offset of the brace that closes the innermost of `open` braces opened before `from`; -1 if there is
 * none. Nested braces are skipped.
 */
export function closingBrace(text: string, from: number, open = 1): number {
  let depth = open
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++
    if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

/**
 * The contents of all closed `\boxed{...}`, from left to right. A nested box is part of the outer one's text.
 *
 * @example
 * ```ts
 * import { boxContents } from 'reward-gateway/grading'
 *
 * boxContents('\\boxed{3} or \\boxed{4}') // ['3', '4']
 * ```
 */
export function boxContents(text: string): string[] {
  const found: string[] = []
  let at = text.indexOf(opening)
  while (at >= 0) {
    const start = at + opening.length
    const end = closingBrace(text, start)
    if (end < 0) break
    found.push(text.slice(start, end))
    at = text.indexOf(opening, end)
  }
  return found
}

/** From the last `\boxed{` to its closing brace. null: no such box, or one that is never closed. */
export const lastBalancedBox = (text: string): string | null => balanced(text, text.lastIndexOf(opening))

/**
 * A box's content: inside the braces of `\boxed{...}`, or after `\boxed `. null for anything else.
 *
 * @example
 * ```ts
 * import { boxContent } from 'reward-gateway/grading'
 *
 * boxContent('\\boxed{4}') // '4'
 * ```
 */
export function boxContent(box: string): string | null {
  if (box.includes('\\boxed ')) return box.startsWith('\\boxed ') ? box.slice('\\boxed '.length) : null
  return box.startsWith('\\boxed{') && box.endsWith('}') ? box.slice('\\boxed{'.length, -1) : null
}

/**
 * The trimmed text between the first brace after the last `\boxed`, or else `\fbox`, and its partner. null:
 * no such pair.
 */
export function lastBracedBox(text: string): string | null {
  const boxed = text.lastIndexOf('\\boxed')
  const box = balanced(text, boxed === -1 ? text.lastIndexOf('\\fbox') : boxed)
  return box === null || !box.includes('{') ? null : trimSpace(box.slice(box.indexOf('{') + 1, -1))
}

/**
 * What G1's graders take from `lastBox`, whether or not it is a box: all but its first seven characters and
 * its last.
 */
export function slicedBox(text: string): string | null {
  const box = lastBox(text)
  if (box === null) return null
  if (box.includes('\\boxed ')) return box.slice('\\boxed '.length)
  // The first six characters and the closing brace are ASCII. The seventh character of an `\fbox` may be two
  // units.
  return box.slice((box.codePointAt(6) ?? 0) > 0xffff ? 8 : 7, -1)
}

const replaced: readonly (readonly [string, string])[] = [
  ['an ', ''],
  ['a ', ''],
  ['.$', '$'],
  ['\\$', ''],
  ['\\ ', ''],
  [' ', ''],
  ['mbox', 'text'],
  [',\\text{and}', ','],
  ['\\text{and}', ','],
  ['\\text{m}', '\\text{}'],
]

const deleted = [
  ...['square', 'ways', 'integers', 'dollars', 'mph', 'inches', 'hours', 'km', 'units', '\\ldots', 'sue'],
  ...['points', 'feet', 'minutes', 'digits', 'cents', 'degrees', 'cm', 'gm', 'pounds', 'meters', 'meals'],
  ...['edges', 'students', 'childrentickets', 'multiples', '\\text{s}', '\\text{.}', '\\text{\ns}'],
  ...['\\text{}^2', '\\text{}^3', '\\text{\n}', '\\text{}', '\\mathrm{th}', '^\\circ', '^{\\circ}', '\\;'],
  ...[',\\!', '{,}', '"', '\\dots'],
]

const rewritten: readonly (readonly [RegExp, string])[] = [
  [/[^\n]*?\$([^\n]*?)\$[^\n]*/g, '$$$1$$'],
  [/\\text\{([^\n]*?)\}/g, '$1'],
  [/\\textbf\{([^\n]*?)\}/g, '$1'],
  [/\\overline\{([^\n]*?)\}/g, '$1'],
  [/\\boxed\{([^\n]*)\}/g, '$1'],
  [/frac([^{])([^\n])/gu, 'frac{$1}{$2}'],
  [/sqrt([^{])/gu, 'sqrt{$1}'],
]

/**
 * DAPO's normal form of an answer, from Minerva: equal answers become equal texts. Quadratic if no `$` or `}`
 * closes, so only for answers of a few hundred characters. `lists`: keeps commas between digits unless they
 * separate thousands.
 */
export function dapoNormal(text: string, lists = false): string {
  let normal = text.slice(text.lastIndexOf('=') + 1)
  for (const [from, to] of replaced) normal = normal.replaceAll(from, to)
  for (const word of deleted) normal = normal.replaceAll(word, '')
  for (const [from, to] of rewritten) normal = normal.replace(from, to)
  normal = normal.replaceAll('$', '')
  const digits = normal.replaceAll(',', '')
  const grouped = !lists || /^\d{1,3}(?:,\d{3})*$/.test(normal)
  return trimSpace(grouped && /^[\p{Nd}¹²³⁰⁴-⁹₀-₉]+$/u.test(digits) ? digits : normal)
}

/** A step of the normalisation. null where the original throws. */
type Step = (text: string) => string | null

/** MATH's normal form of an answer (`strip_string`): equal answers become equal texts. null if it fails. */
export const mathNormal: Step = (text) => {
  const plain = withoutSpacing(text).replaceAll('tfrac', 'frac').replaceAll('dfrac', 'frac')
  return finished(withoutUnit(withoutMarks(plain)))
}

/** GraphWiz-Revised's variant: it also drops `\text`, every backslash, and braces around yes or no. */
export const graphWizNormal: Step = (text) => {
  const plain = withoutSpacing(text)
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\text', '')
  const spelled = finished(withoutMarks(plain))?.replaceAll('\\', '')
  return spelled?.replace(/^\{(yes|no)\}$/i, '$1') ?? null
}

/**
 * MATH's verdict: compares normal forms, or the original texts if either has none. Two empty texts are equal.
 */
export function publishedSpelling(given: string, wanted: string): boolean {
  const [normal, other] = [mathNormal(given), mathNormal(wanted)]
  return normal === null || other === null ? given === wanted : normal === other
}

const withoutSpacing = (text: string): string =>
  text.replaceAll('\n', '').replaceAll('\\!', '').replaceAll('\\\\', '\\')

const withoutMarks = (text: string): string =>
  text
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '')

/** The text before a unit in `\text{ ...}`. null if there are two. */
const withoutUnit: Step = (text) => {
  const [before = '', ...rest] = text.split('\\text{ ')
  return rest.length > 1 ? null : before
}

function finished(text: string | null): string | null {
  if (text === null) return null
  const decimal = text.replaceAll('\\%', '').replaceAll(' .', ' 0.').replaceAll('{.', '{0.')
  if (decimal === '') return ''
  const rooted = bracedRoots(rightSide(decimal.startsWith('.') ? `0${decimal}` : decimal))
  if (rooted === null) return null
  const divided = bracedFractions(rooted.replaceAll(' ', ''))
  return divided === null ? null : asFraction(divided)
}

/** `x = 5` becomes 5: the text after the only equals sign, if at most two code points precede it. */
export function rightSide(text: string): string {
  const [left = '', right, ...more] = text.split('=', 3)
  return right !== undefined && more.length === 0 && [...left.slice(0, 5)].length <= 2 ? right : text
}

const bracedRoots: Step = (text) => {
  const [before = '', ...roots] = text.split('\\sqrt')
  if (roots.includes('')) return null
  return roots.reduce((joined, root) => {
    const first = firstCharacter(root)
    return `${joined}\\sqrt${first === '{' ? root : `{${first}}${root.slice(first.length)}`}`
  }, before)
}

/** `\frac12` becomes `\frac{1}{2}`. A `\frac` before a single character undoes the whole step. */
export const bracedFractions: Step = (text) => {
  const [before = '', ...fractions] = text.split('\\frac')
  let joined = before
  for (const fraction of fractions) {
    if (fraction === '') return null
    const a = firstCharacter(fraction)
    const b = firstCharacter(fraction.slice(a.length))
    if (a !== '{' && b === '') return text
    const denominator = b === '{' ? b : `{${b}}`
    joined += `\\frac${a === '{' ? fraction : `{${a}}${denominator}${fraction.slice(a.length + b.length)}`}`
  }
  return joined
}

function asFraction(text: string): string {
  const whole = text === '0.5' ? '\\frac{1}{2}' : text
  return whole.replace(/^(0|-?[1-9][0-9]*)\/(0|-?[1-9][0-9]*)$/, '\\frac{$1}{$2}')
}

const firstCharacter = (text: string): string =>
  String.fromCodePoint(text.codePointAt(0) ?? 0).slice(0, text.length)

/** Signs with a plain equivalent. */
const signs = new Map([
  ['pi', 'pi'],
  ['times', '*'],
  ['cdot', '*'],
  ['circ', '∘'],
  ['infty', 'inf'],
  ['{', '{'],
  ['}', '}'],
  ['left', ''],
  ['right', ''],
  ['!', ''],
  [',', ''],
  [';', ''],
  [' ', ' '],
])
const fractions = ['frac', 'dfrac', 'tfrac']
const wrappers = ['text', 'boxed', 'mathrm', 'textbf']
const name = /[a-zA-Z]+|[\s\S]?/y
const maxDepth = 100

/**
 * Converts TeX to plain text: `\frac{a}{b}` becomes a/b, `\sqrt{x}` becomes sqrt(x), braces vanish, and
 * unknown commands stay. Like PRIME, it drops the brackets of numerators and denominators. null if nested too
 * deeply.
 */
export function plainTex(text: string): string | null {
  let at = 0

  function group(depth: number): string {
    let plain = ''
    while (at < text.length && text[at] !== '}') plain += piece(depth)
    at++
    return plain
  }

  function piece(depth: number): string {
    if (depth > maxDepth) throw new RangeError('nested too deeply')
    const next = text[at++] ?? ''
    if (next === '{') return group(depth + 1)
    if (next !== '\\') return next
    name.lastIndex = at
    const command = name.exec(text)?.[0] ?? ''
    at += command.length
    if (fractions.includes(command)) return fraction(depth)
    if (command === 'sqrt') return `sqrt(${argument(depth)})`
    if (wrappers.includes(command)) return argument(depth)
    return signs.get(command) ?? `\\${command}`
  }

  function argument(depth: number): string {
    while (text[at] === ' ') at++
    return text[at] === '}' ? '' : piece(depth + 1)
  }

  function fraction(depth: number): string {
    const [above, below] = [argument(depth), argument(depth)]
    return ` ${above}/${below}`
  }

  try {
    let plain = ''
    while (at < text.length) plain += group(0)
    return plain.trim()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
