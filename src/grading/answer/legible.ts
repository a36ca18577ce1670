import { asciiDigits, trimSpace } from '../characters.ts'

const invisible =
  /^(?:\u034f|(?!\u202e)[\p{Cf}\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800])+|(?:\u034f|[\p{Cf}\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800])+$/gu
/** Latin letters of the mathematical alphabets: `𝐰𝐫𝐨𝐧𝐠`. */
export const styledLetters = /[\u{1d400}-\u{1d6a3}]+/gu
const fullWidth = /[\uff01-\uff5e]/g
const vulgar: Readonly<Record<string, string>> = {
  '½': '1/2',
  '⅓': '1/3',
  '⅔': '2/3',
  '¼': '1/4',
  '¾': '3/4',
  '⅕': '1/5',
  '⅛': '1/8',
}

/**
 * A text with one form for each sign that has several: ASCII digits and signs, a plain minus, one slash.
 * Powers stay powers: unlike NFKC, `4²` does not become 42.
 */
export const legible = (text: string): string => (beyondAscii.test(text) ? asciiForm(text) : text)

const beyondAscii = /[^\0-\x7f]/

const asciiForm = (text: string): string =>
  asciiDigits(text)
    // A comma of thousands has no blank behind it.
    .replace(/，(?!\d{3}(?!\d))/g, ', ')
    .replace(fullWidth, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replace(/[−‒﹣]/g, '-')
    .replace(/[⁄∕]/g, '/')
    .replaceAll('：', ':')
    .replace(styledLetters, (letters) => letters.normalize('NFKC'))

const dressing =
  /\\(?:boxed|fbox|text|textbf|textit|textrm|textnormal|textsf|texttt|mathrm|mathbf|mathit|mathsf|mathbb|boldsymbol|bm|bold|bf|rm|emph|underline|mbox|operatorname|displaystyle|textstyle|left|right|big|Big|bigg|Bigg|large|Large|huge)(?![A-Za-z])\*?/g
const spacing = /\\(?:quad|qquad|,|;|:|!| |~|\[|\]|\(|\))|(?<=[\p{L}\d.,:)])~(?=[\p{L}\d\\${(])|\\(?=\n|$)/gu

/** What a text must have for any step of `undressed` but the last to change it. Most texts around a number have none of it. */
const dressed = /[\\${}~<_]|[^\0-\x7f]|\s\s/

/**
 * The answer in a piece of LaTeX or Markdown as plain text: what only dresses it (bold, text, sizes, spacing,
 * `$`, braces) is gone; any other command stays, so that a reader which does not know it refuses the answer.
 */
export function undressed(text: string): string {
  if (!dressed.test(text)) return trimSpace(text)
  const plain = withoutMarkup(withoutCalculations(text))
    .replace(/(\d)(?:\{,\}|\\,|\\ |\\!|\u202f|\u2009|\u00a0)(?=\d{3}(?!\d))/g, '$1,')
    .replace(/-(\s*\\[dtc]?frac\s*\{\s*)-/g, '$1')
    .replace(/\\[dtc]?frac\s*(\d)\s*(\d)(?!\d)/g, '\\frac{$1}{$2}')
    .replace(/\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, (_, top: string, bottom: string) =>
      /^\s*-?[\d.,]+\s*$/.test(top) && /^\s*-?[\d.,]+\s*$/.test(bottom)
        ? ` ${top.trim()}/${bottom.trim()}`
        : ` (${top})/(${bottom})`,
    )
    .replace(dressing, '')
    .replace(spacing, ' ')
    .replace(/\\(?:times|cdot)(?![A-Za-z])/g, '×')
    .replace(/\\(?:approx|simeq)(?![A-Za-z])/g, '≈')
    .replace(/\^?\{?\\(?:circ|degree)(?![A-Za-z])\}?/g, '°')
    .replace(/(?<=\d\s?)\\(?:Omega|ohm)(?![A-Za-z])/g, 'Ω')
    .replace(/\\([$%#&_])/g, '$1')
    .replace(/[½⅓⅔¼¾⅕⅛]/g, (sign, at: number, all: string) =>
      /\d/.test(all[at - 1] ?? '') ? ` ${vulgar[sign]}` : `${vulgar[sign]}`,
    )
    .replace(/\$(?!\s*-?[\d.])/g, ' ')
    .replace(/[{}]/g, '')
  return trimSpace(plain.replace(/\s{2,}/g, ' ').replace(invisible, ''))
}

const tags = /<(b|strong|i|em|u|p|mark|code|kbd|big|center|div|h[1-6])>([^<>]{0,200})<\/\1>/gi
const strong = /(?<![\p{L}\p{N}_])__(?=\S)([^_\n]{1,80})__(?![\p{L}\p{N}_])/gu
const ending = /\\(?:blacksquare|checkmark|qed|qedsymbol)(?![A-Za-z])/g

const colour = /\\(?:text)?color\s?\{(?!white|transparent|yellow)[a-z]{1,20}\}/g

/** Without tags of HTML that only dress, `__` around words, and the signs that end a proof. */
function withoutMarkup(text: string): string {
  const plain = text.includes('<') ? text.replace(tags, '$2') : text
  const bare = plain.includes('__') ? plain.replace(strong, '$1') : plain
  return bare.includes('\\') ? bare.replace(ending, '').replace(colour, '') : bare
}

/** Without GSM8K's calculator marks: `<<6*7=42>>42`. */
const withoutCalculations = (text: string): string =>
  text.includes('<<') ? text.replace(/<<[^<>\n]{0,200}>>/g, '') : text
