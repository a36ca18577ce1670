import { trimSpace } from '../white-space.ts'

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
 * DAPO's spelling of an answer (from Minerva), by which equal answers are equal texts. Quadratic where no `$` or `}` closes:
 * for answers of a few hundred characters. `lists`: commas between digits stay unless they part thousands.
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
