/** A step of the normalisation that cannot go on; the originals throw there. */
type Step = (text: string) => string | null

/** MATH's spelling of an answer (`strip_string`), by which equal answers are equal texts; null where it fails. */
export const mathNormal: Step = (text) => {
  const plain = withoutSpacing(text).replaceAll('tfrac', 'frac').replaceAll('dfrac', 'frac')
  return finished(withoutUnit(withoutMarks(plain)))
}

/** The same as GraphWiz-Revised has it: `\text` and every backslash go, and so do braces around yes or no. */
export const graphWizNormal: Step = (text) => {
  const plain = withoutSpacing(text)
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\text', '')
  const spelled = finished(withoutMarks(plain))?.replaceAll('\\', '')
  return spelled?.replace(/^\{(yes|no)\}$/i, '$1') ?? null
}

/** MATH's verdict: equal spellings; the texts as they stand where either has none; nothing equals nothing. */
export function publishedSpelling(given: string, wanted: string): boolean {
  const [normal, other] = [mathNormal(given), mathNormal(wanted)]
  return normal === null || other === null ? given === wanted : normal === other
}

/** The same where both have a spelling, the answer is not blank, and nothing that it states is cut off. */
export function strictSpelling(given: string, wanted: string): boolean {
  const normal = mathNormal(given)
  return normal !== null && normal !== '' && normal === mathNormal(wanted) && !hidesAnswer(given)
}

/** The normalisation cuts off a `\text{ ...}` as a unit: true where it holds a number, `or` or `and`. */
export const hidesAnswer = (text: string): boolean =>
  /[0-9]|\b(?:or|and)\b/.test(text.split('\\text{ ', 2)[1] ?? '')

const withoutSpacing = (text: string): string =>
  text.replaceAll('\n', '').replaceAll('\\!', '').replaceAll('\\\\', '\\')

const withoutMarks = (text: string): string =>
  text
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '')

/** What stands before a unit in `\text{ ...}`; two of them fail. */
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

/** `x = 5` is 5: what follows the only equals sign, if at most two code points precede it. */
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

/** `\frac12` is `\frac{1}{2}`; one that stands before a single character undoes the whole step. */
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
