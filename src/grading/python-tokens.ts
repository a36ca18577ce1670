/** Reads Python's source by words, signs and texts. All input is hostile; the cost is linear. */

/** A word or a sign of Python, and where it stands. */
export interface Token {
  /** `"` stands for a text, `f"` for one that holds expressions, `0` for a number, `#` for a comment, a line break for itself. */
  readonly token: string
  readonly at: number
  readonly end: number
}

/** The token of a text that does not end; the last one. */
const openText = 'open text'

const numerals =
  /(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d[\d_]*)?)[jJ]?/y
const names = /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/y
const signs = /[=!<>:]=|\*\*|\/\/|->|<<|>>|\.\.\./y
const prefix = /^(?:[rbu]|br|rb)$/i
const formatted = /^(?:f|fr|rf)$/i
/** How a token begins, by the code of its first character. */
const kinds: readonly ('blank' | 'text' | 'number' | 'name' | 'comment' | 'sign')[] = Array.from(
  { length: 128 },
  (_, code) => {
    const sign = String.fromCharCode(code)
    if (/[ \t\f\r]/.test(sign)) return 'blank'
    if (/['"]/.test(sign)) return 'text'
    if (/[\d.]/.test(sign)) return 'number'
    if (sign === '#') return 'comment'
    return /[A-Za-z_]/.test(sign) ? 'name' : 'sign'
  },
)

/** Words and signs of Python. Blanks are left out, and line breaks behind a backslash. */
export function* tokensOf(text: string, from = 0, to = text.length): Generator<Token> {
  const endOf = (pattern: RegExp, at: number): number => {
    pattern.lastIndex = at
    return pattern.test(text) ? pattern.lastIndex : at + 1
  }
  for (let at = from; at < to; ) {
    const kind = kinds[text.charCodeAt(at)] ?? 'name'
    let [end, token] = [at + 1, text[at] as string]
    let quote = kind === 'text' ? at : -1
    if (kind === 'name') {
      end = endOf(names, at)
      token = text.slice(at, end)
      const isText = text[end] === '"' || text[end] === "'"
      if (isText && (prefix.test(token) || formatted.test(token))) quote = end
    } else if (kind === 'number') {
      end = endOf(numerals, at)
      if (end === at + 1 && token === '.') end = endOf(signs, at)
      token = token === '.' && !/\d/.test(text[at + 1] ?? '') ? text.slice(at, end) : '0'
    } else if (kind === 'comment') {
      end = text.indexOf('\n', at)
      if (end < 0) end = text.length
    } else if (kind === 'sign') {
      end = endOf(signs, at)
      token = text.slice(at, end)
      const [lineEnd] = token === '\\' ? (/^\r?\n/.exec(text.slice(end, end + 2)) ?? []) : []
      if (lineEnd !== undefined) {
        at = end + lineEnd.length
        continue
      }
    }
    if (quote >= 0) {
      const last = endOfText(text, quote)
      if (last === null || last >= to) return yield { token: openText, at, end: to }
      token = formatted.test(text.slice(at, quote)) ? 'f"' : '"'
      end = last + 1
    }
    if (kind !== 'blank') yield { token, at, end: Math.min(end, to) }
    at = end
  }
}

/** The offset of the quote that closes the text which begins at `at`. */
function endOfText(text: string, at: number): number | null {
  const quote = text[at] as string
  const mark = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
  for (let from = at + mark.length; from < text.length; from++) {
    if (text[from] === '\\') from++
    else if (text.startsWith(mark, from)) return from + mark.length - 1
    else if (text[from] === '\n' && mark.length === 1) return null
  }
  return null
}

const keywords = new Set(
  (
    'and as assert async await break class continue def del elif else except finally for from global if import in is lambda ' +
    'nonlocal not or pass raise return try while with yield'
  ).split(' '),
)

/** Whether a token is a name. */
export const isName = (token: string): boolean =>
  /^[A-Za-z_\u0080-\uffff]/.test(token) && !token.endsWith('"') && !keywords.has(token)
