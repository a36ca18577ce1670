import { bracedFractions, rightSide } from '../latex/math-normal.ts'
import { trimSpace } from '../white-space.ts'
import { wordNumber } from './number-words.ts'
import { withoutUnits } from './published-units.ts'

type Step = (text: string) => string

const without = (text: string, ...pieces: readonly string[]): string =>
  pieces.reduce((left, piece) => left.replaceAll(piece, ''), text)

/** Qwen2.5-Math's `strip_string`: the spelling by which its grader compares. Faults included; see docs/parity.md. */
export function stripAnswer(answer: string, keepUnits: boolean): string {
  const plain = withoutTextUnit(withPlainCommands(trimSpace(answer)))
  const bare = without(
    keepUnits ? plain : withoutUnits(plain),
    '^{\\circ}',
    '^\\circ',
    '\\$',
    '$',
    '\\(',
    '\\)',
  )
  const read = withPlainNumbers(withPlainSigns(wordNumber(bare) ?? bare))
  if (read === '') return ''
  const side = rightSide(read.startsWith('.') ? `0${read}` : read)
  const roots = side.replace(/\\sqrt([\p{L}\p{N}_]+)/gu, '\\sqrt{$1}').replaceAll(' ', '')
  return asFraction(bracedFractions(roots) ?? roots)
}

const withPlainCommands: Step = (text) =>
  without(
    without(text.replaceAll('\n', '').replace(/(?<!\.)\.+$/, ''), '\\!')
      .replace(/\\begin\{array\}\{.*?\}/gs, '\\begin{pmatrix}')
      .replaceAll('\\end{array}', '\\end{pmatrix}')
      .replaceAll('bmatrix', 'pmatrix')
      .replaceAll('tfrac', 'frac')
      .replaceAll('dfrac', 'frac')
      .replaceAll('\\neq', '\\ne')
      .replaceAll('\\leq', '\\le')
      .replaceAll('\\geq', '\\ge'),
    '\\left',
    '\\right',
  )
    .replaceAll('\\{', '{')
    .replaceAll('\\}', '}')

/** Everything from the first `\text{` of a text that ends with a brace is taken for a unit. */
const withoutTextUnit: Step = (text) => {
  const unit = text.indexOf('\\text{')
  return (unit >= 0 && text.endsWith('}') && trimSpace(text.slice(0, unit))) || text
}

const assigned = ['x=', 'y=', 'z=', 'x\\in', 'y\\in', 'z\\in', 'x\\to', 'y\\to', 'z\\to']

const withPlainSigns: Step = (text) => {
  const infinite = without(
    without(text.replace(/\\text\{(.*?)\}/gs, '$1'), ...assigned)
      .replaceAll('\\emptyset', '{}')
      .replaceAll('(-\\infty,\\infty)', '\\mathbb{R}'),
    '\\%',
    '%',
  )
    .replaceAll(' .', ' 0.')
    .replaceAll('{.', '{0.')
    .replaceAll('infinity', '\\infty')
  const named = infinite.includes('\\infty') ? infinite : infinite.replaceAll('inf', '\\infty')
  const plain = without(named.replaceAll('+\\inity', '\\infty'), 'and', '\\mathbf').replace(
    /\\mbox\{.*?\}/gs,
    '',
  )
  return plain.includes('j') && !plain.includes('i') ? plain.replaceAll('j', 'i') : plain
}

/** `5.00` is 5, and so is `5.0x` 5x; each run of digits is tried once. */
const withPlainNumbers: Step = (text) =>
  text.replace(/(?<!\p{Nd})(\p{Nd}+)\.0*(\P{Nd})/gu, '$1$2').replace(/(?<!\p{Nd})(\p{Nd}+)\.0*$/u, '$1')

const side = '(0|-?[1-9][0-9]*|[^/]*sqrt[^/]*)'
const slashed = new RegExp(`^${side}/${side}$`)

const asFraction: Step = (text) =>
  text.split('/', 3).length === 2 ? text.replace(slashed, '\\frac{$1}{$2}') : text
