import { Allowance, budget, OverBudget } from './budget.ts'
import { isUnit, letterUnits } from './units.ts'
import {
  accents,
  characters,
  functionNames,
  proseCommands,
  shortWords,
  signCommands,
  signWords,
  styleCommands,
  symbolNames,
  synonyms,
} from './vocabulary.ts'

const foreign = /[\u0080-\uffff]/g
const doubled =
  /(?<!\\)\\\\(?=(?:[dtc]?frac|left|right|boxed|sqrt|text|pi|cdot|times|infty|cup|begin|end|pm|mathrm)(?![a-z]))/g

/** Replaces full-width, typographic and damaged characters with the equivalent ASCII LaTeX. Linear. */
export function repaired(text: string): string {
  const plain = small.test(text) ? text.replace(raised, power).replace(lowered, index) : text
  let fixed = plain.replace(foreign, ascii)
  // JSON escapes swallow the first letter of \frac and \boxed if LaTeX was put into a string unescaped.
  if (fixed.includes('\f')) fixed = fixed.replaceAll('\\\frac', '\\frac').replaceAll('\frac', '\\frac')
  if (fixed.includes('\b')) fixed = fixed.replaceAll('\boxed', '\\boxed').replaceAll('\begin', '\\begin')
  return fixed.includes('\\\\') ? fixed.replace(doubled, '\\') : fixed
}

const small = /[⁰¹²³⁴-⁹₀-₉]/
const raised = /[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g
const lowered = /[₀₁₂₃₄₅₆₇₈₉]+/g
const raisedSigns = '⁰¹²³⁴⁵⁶⁷⁸⁹'

const power = (digits: string): string =>
  `^{${Array.from(digits, (sign) => (sign === '⁻' ? '-' : sign === '⁺' ? '' : raisedSigns.indexOf(sign))).join('')}}`

const index = (digits: string): string =>
  `_{${Array.from(digits, (sign) => sign.charCodeAt(0) - 0x2080).join('')}}`

function ascii(character: string): string {
  const code = character.charCodeAt(0)
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0)
  return characters.get(character) ?? character
}

/** A token of an answer. `spaced`: white space precedes it. */
export interface Token {
  /** `name`: a variable or constant. `command`: a LaTeX command or function. `text`: prose or a unit. */
  readonly kind: 'number' | 'name' | 'command' | 'text' | 'sign'
  readonly text: string
  readonly spaced: boolean
  /** For a number: the digits that repeat forever after `text`. */
  readonly repeating?: string
}

const numeral =
  /(?:\d{1,3}(?:(?:,|\{,\}|\\,|,?\\!|, ?\\! ?|['’ ~])\d{3})+(?!\d)(?!,\d)|\d+)(?:\.\d*)?(?:[eE][+-]?\d{1,3}(?![\d.]))?|\.\d+(?:[eE][+-]?\d{1,3}(?![\d.]))?/y
const bracketed = /\d+(?:\.\d*)?|\.\d+/y
const repeating = /\\(?:overline|bar|dot)\s*(?:\{(\d+)\}|(\d))/y
const ordinal = /\^?\{?(?:\\text\{)?(?:st|nd|rd|th)(?![A-Za-z])\}{0,2}/y
/** The space below a row: `\\\\[4pt]`. */
const rowGap = /\s*\[\s*-?[\d.]{1,8}\s*(?:pt|em|ex|mm|cm|in|mu)\s*\]/y
const command = /\\(?:([A-Za-z]+)\*?|([\s\S]?))/y
const letters = /[A-Za-z]+|[\u0080-\uffff]+/y
const pairSigns = /<=|>=|!=|==|\*\*|:=|->/y
const grouping = /[^\d.eE+-]/g

const colours = new Set('black red blue green orange purple teal magenta cyan brown violet'.split(' '))
/** Accents of vectors: a name keeps its meaning under them. */
const free = new Set(['hat', 'underline', 'vec'])
const capitals = /^\s*(?:[A-Z][\d'_\s]*)+$/
const letterName = /^\s*(?:([A-Za-z]|0)|\\([A-Za-z]+))\s*$/

/**
 * Tokenizes an answer, without styles and dollar signs. Throws OverBudget above `budget.text`, and
 * NotMathematics where a mark may strike, hide or change what it stands on.
 */
export function tokenize(answer: string, commasSeparate = false): Token[] {
  if (answer.length > budget.text) throw new OverBudget()
  return new Lexer(repaired(answer), commasSeparate).all()
}

class Lexer {
  private readonly tokens: Token[] = []
  private at = 0
  private brackets = 0
  private spaced = false
  private readonly text: string
  private readonly commasSeparate: boolean

  constructor(text: string, commasSeparate: boolean) {
    this.text = text
    this.commasSeparate = commasSeparate
  }

  all(): Token[] {
    while (this.at < this.text.length) this.next()
    return this.tokens
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.text)
    if (match) this.at = pattern.lastIndex
    return match
  }

  private push(kind: Token['kind'], text: string): void {
    if (kind === 'sign') {
      if (text === '(' || text === '[' || text === 'set{') this.brackets++
      else if (text === ')' || text === ']' || text === 'set}') this.brackets--
    }
    this.tokens.push({ kind, text, spaced: this.spaced })
    this.spaced = false
  }

  private next(): void {
    const character = this.text[this.at] ?? ''
    if (character === '~' && /[~=]/.test(this.text[this.at + 1] ?? '')) throw notMathematics
    if (/\s|~/.test(character) || '$€£¥₹"`'.includes(character)) {
      this.at++
      this.spaced = true
    } else if (/\d/.test(character) || (character === '.' && /\d/.test(this.text[this.at + 1] ?? '')))
      this.number()
    else if (character === '\\') this.command()
    else if (/[A-Za-z]/.test(character) || character > '\x7f') this.word(this.match(letters)?.[0] ?? '')
    else this.sign(character)
  }

  private number(): void {
    const plain = this.commasSeparate || this.brackets > 0
    const [found = ''] = this.match(plain ? bracketed : numeral) ?? []
    const text = found.replace(grouping, '')
    const again = text.includes('.') ? this.match(repeating) : null
    this.tokens.push({
      kind: 'number',
      text,
      spaced: this.spaced,
      ...(again && { repeating: again[1] ?? again[2] ?? '0' }),
    })
    this.spaced = false
    this.match(ordinal)
  }

  private command(): void {
    const [, name, single] = this.match(command) ?? []
    if (name !== undefined) this.named(name)
    else if (single === '{' || single === '}') this.push('sign', `set${single}`)
    else if (single === '\\') {
      this.push('sign', 'row')
      this.match(rowGap)
    } else if (single === '%') this.push('sign', '%')
    else if (single === '|') this.push('sign', '|')
    else this.spaced = true
  }

  private named(written: string): void {
    const name = synonyms.get(written) ?? written
    const sign = signCommands.get(name)
    if (sign !== undefined) this.push('sign', sign)
    else if (styleCommands.has(name)) this.spaced ||= /quad|space/.test(name)
    else if (accents.has(name)) this.accent(accents.get(name) ?? name)
    else if (name === 'textcolor' || name === 'color') this.colour()
    else if (proseCommands.has(name)) this.prose(this.argument())
    else if (name === 'begin' || name === 'end') this.push('command', `${name} ${this.argument()}`)
    else if (name === 'mathbb') this.push('text', this.argument() || this.text[this.at++] || '')
    else if (symbolNames.has(name)) this.push('name', name)
    else if (/^q?quad./.test(name)) this.word(name.replace(/^q?quad/, ''))
    else this.push('command', name)
  }

  /** The text in the next braces, or ''. */
  private argument(): string {
    while (this.text[this.at] === ' ') this.at++
    if (this.text[this.at] !== '{') return ''
    const start = this.at + 1
    let depth = 0
    do {
      const character = this.text[this.at++]
      if (character === '{') depth++
      else if (character === '}') depth--
    } while (depth > 0 && this.at < this.text.length)
    return this.text.slice(start, depth === 0 ? this.at - 1 : this.at)
  }

  /** A name under an accent is another name. Numbers and sums under one have no reading. */
  private accent(name: string): void {
    const start = this.at
    const braced = this.argument()
    const written =
      braced === ''
        ? /^\s*(?:[A-Za-z0]|\\[A-Za-z]+)/.exec(this.text.slice(this.at, this.at + 40))?.[0]
        : braced
    const [, letter, command] = letterName.exec(written ?? '') ?? []
    if (written === undefined || !(letter || command || capitals.test(written))) throw notMathematics
    if (free.has(name) || (!command && capitals.test(written))) {
      this.at = start
      return
    }
    if (command && !symbolNames.has(synonyms.get(command) ?? command)) throw notMathematics
    if (braced === '') this.at += written.length
    this.push('name', `${name} ${letter ?? command}`)
  }

  /** A colour that shows on paper. */
  private colour(): void {
    if (!colours.has(this.argument())) throw notMathematics
  }

  private prose(written: string): void {
    const text = written
      .replace(/\\(?=[%#&_])/g, '')
      .replace(/\\?\$|\\[ ,;!]|~/g, ' ')
      .trim()
    const [, counted, rest] = /^([+-]?\d[\d.,]*)\s?(\p{L}.*)$/su.exec(text) ?? []
    if (text === '') this.spaced = true
    else if (counted !== undefined && rest !== undefined && !/\d/.test(rest)) {
      for (const token of tokenize(counted, this.commasSeparate)) this.tokens.push(token)
      this.prose(rest)
    } else if (letterUnits.has(text) && this.tokens.at(-1)?.kind === 'number') this.push('text', text)
    else if (/^[\d\s.,+\-/()%]+$|^\(?[A-Za-z]\)?$/.test(text)) {
      for (const token of tokenize(text, this.commasSeparate)) this.tokens.push(token)
    } else if (/^,? ?(?:and|or),?$/i.test(text)) this.push('sign', 'and')
    else if (text === ',') this.push('sign', ',')
    else if (/^[A-Za-z]+$/.test(text)) this.word(text, true)
    else this.push('text', text)
  }

  private word(text: string, prose = false): void {
    const name = synonyms.get(text) ?? text
    const sign = signWords.get(name)
    if (sign !== undefined) this.push('sign', sign)
    else if (functionNames.has(name)) this.push('command', name)
    else if (text.length > 1 && symbolNames.has(name)) this.push('name', name)
    else if (text.length > 1 && (prose || text.length > 3 || isUnit(text) || shortWords.has(text)))
      this.push('text', text)
    else if (text > '\x7f') this.push('text', text)
    else for (const letter of text) this.push('name', letter)
  }

  private sign(character: string): void {
    const before = this.tokens.at(-1)
    // `5! = 120` without blanks.
    const isFactorial =
      character === '!' && !this.spaced && (before?.kind === 'number' || before?.text === ')')
    const [pair] = isFactorial ? [] : (this.match(pairSigns) ?? [])
    if (pair === undefined) this.at++
    const text =
      pair === undefined ? character : ({ '**': '^', '==': '=', ':=': '=', '->': 'to' }[pair] ?? pair)
    this.push('sign', text)
  }
}

/** Thrown if an answer is not in the grammar, and caught by `readAnswer`. */
export class NotMathematics extends Error {}

/** The only instance: nobody reads its stack, and to take one costs more than to read an answer. */
export const notMathematics = new NotMathematics()

/** A position in the tokens of one answer, with the remaining budget. */
export abstract class Cursor {
  protected at = 0
  protected readonly nodes = new Allowance(budget.nodes)
  protected readonly tokens: Token[]
  private depth = 0

  constructor(tokens: Token[]) {
    this.tokens = tokens
  }

  protected peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead]
  }

  protected next(): Token {
    const token = this.tokens[this.at++]
    if (token === undefined) throw notMathematics
    this.nodes.spend()
    return token
  }

  protected isSign(text: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token?.kind === 'sign' && token.text === text
  }

  /** Consumes the next token if it is this sign. */
  protected takes(text: string): boolean {
    if (!this.isSign(text)) return false
    this.at++
    return true
  }

  protected needs(text: string): void {
    if (!this.takes(text)) throw notMathematics
  }

  protected takesCommand(text: string): boolean {
    const token = this.peek()
    if (token?.kind !== 'command' || token.text !== text) return false
    this.at++
    return true
  }

  /** Reads something nested. Throws OverBudget below `budget.depth`. */
  protected nested<T>(read: () => T): T {
    this.depth++
    if (this.depth > budget.depth) throw new OverBudget()
    const value = read()
    this.depth--
    return value
  }

  /** LaTeX's argument without braces is a single digit, so this splits a longer number. */
  protected digit(): string | null {
    const token = this.peek()
    if (token?.kind !== 'number' || !/^\d+$/.test(token.text)) return null
    const [first = '', rest] = [token.text[0], token.text.slice(1)]
    if (rest === '') this.at++
    else this.tokens[this.at] = { ...token, text: rest, spaced: false }
    return first
  }
}
