/** Reads Python's source by words, signs and brackets. All input is hostile; the cost is linear. */

/** A part of an expression; brackets with all that they hold are one, named by the opening one. */
export interface Piece {
  readonly token: string
  readonly at: number
  readonly end: number
}

/** Pieces that an expression may have. */
const mostPieces = 10_000

/** An expression outside of its brackets. null: brackets or quotes do not match, a comment, more than one line, or too many pieces. */
export function outline(text: string, from: number, to: number): Piece[] | null {
  const pieces: Piece[] = []
  let depth = 0
  let open: Piece | null = null
  for (const piece of tokensOf(text, from, to)) {
    const { token, end } = piece
    if (token === openText || token === '#') return null
    if (token === '(' || token === '[' || token === '{') {
      if (depth === 0) open = piece
      depth++
    } else if (token === ')' || token === ']' || token === '}') {
      depth--
      if (depth < 0 || open === null) return null
      if (depth === 0) pieces.push({ ...open, end })
    } else if (depth === 0) {
      if (/^[;\n\r\\]$/.test(token)) return null
      pieces.push(piece)
    }
    if (pieces.length > mostPieces) return null
  }
  return depth === 0 ? pieces : null
}

/** The token of a text that does not end; the last one. */
export const openText = 'open text'

const numerals =
  /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d[\d_]*)?/y
const names = /[A-Za-z_]\w*/y
const pairs = /[=!<>:]=|\*\*|\/\/|->|<<|>>/y
/** How a token begins, by the code of its first character. */
const kinds: readonly ('blank' | 'text' | 'number' | 'name' | 'pair' | 'sign')[] = Array.from(
  { length: 128 },
  (_, code) => {
    const sign = String.fromCharCode(code)
    if (/[ \t\f]/.test(sign)) return 'blank'
    if (/['"]/.test(sign)) return 'text'
    if (/[\d.]/.test(sign)) return 'number'
    return /[A-Za-z_]/.test(sign) ? 'name' : /[=!<>:*/-]/.test(sign) ? 'pair' : 'sign'
  },
)

/** Words and signs of Python; `"` stands for a text, `0` for a number. Blanks are left out. */
export function* tokensOf(text: string, from = 0, to = text.length): Generator<Piece> {
  const endOf = (pattern: RegExp, at: number): number => {
    pattern.lastIndex = at
    return pattern.test(text) ? pattern.lastIndex : at + 1
  }
  for (let at = from; at < to; ) {
    const kind = kinds[text.charCodeAt(at)]
    let end = at + 1
    if (kind === 'text') {
      const last = endOfText(text, at)
      if (last === null || last >= to) return yield { token: openText, at, end: to }
      end = last + 1
      yield { token: '"', at, end }
    } else if (kind === 'number') {
      end = endOf(numerals, at)
      yield { token: end === at + 1 && text[at] === '.' ? '.' : '0', at, end }
    } else if (kind !== 'blank') {
      if (kind === 'name') end = endOf(names, at)
      else if (kind === 'pair') end = endOf(pairs, at)
      yield { token: end === at + 1 ? (text[at] as string) : text.slice(at, end), at, end }
    }
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
