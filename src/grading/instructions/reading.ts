/** What checks of instructions read in a text: words, tokens, sentences, parts and matches, as the published checkers do. */
import { RE2JS } from 're2js'
import { isSpace, trimSpace, whiteSpace } from '../characters.ts'

const blanks = new RegExp(`[${whiteSpace}]+`)
/** The ASCII punctuation of Python's string.punctuation. */
const punctuation = /[!-/:-@[-`{-~]/g
const outerPunctuation = /[!-/:-@[-`{-~ ]/

/** Python's split(): the pieces between runs of white space. */
export const piecesOf = (text: string): string[] => text.split(blanks).filter((piece) => piece !== '')

/** Python's `\w+`. */
export const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_]+/gu) ?? []

/** The text without ASCII punctuation. */
export const bare = (text: string): string => text.replace(punctuation, '')

/** The text without ASCII punctuation and blanks at its ends. */
export const stripped = (text: string): string => withoutOuter(text, outerPunctuation)

/** The text without characters of a kind at its ends. */
export function withoutOuter(text: string, kind: RegExp): string {
  let [start, end] = [0, text.length]
  while (start < end && kind.test(text.charAt(start))) start++
  while (end > start && kind.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/** Python's isupper(): a cased character, and none in lower or title case. */
export const isUpper = (text: string): boolean =>
  /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text)

/** Python's islower(): a cased character, and none in upper or title case. */
export const isLower = (text: string): boolean =>
  /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text)

const invisible = /\p{Default_Ignorable_Code_Point}|(?![\t\n\r])\p{Cc}/gu

/** A text without the characters that nobody sees and that would make words or lines for a check that counts them. */
export const shown = (text: string): string => text.replace(invisible, '')

/** The lines of a text, at line feeds. */
export const linesOf = (text: string): string[] => text.split('\n')

/** The parts between `***`, with one white-space character beside each. */
export const starParts = (text: string): string[] =>
  text.split(new RegExp(`[${whiteSpace}]?\\*\\*\\*[${whiteSpace}]?`))

/** How many parts have text. null: a part between two others has none. */
export function filledParts(parts: readonly string[]): number | null {
  let filled = 0
  for (const [at, part] of parts.entries()) {
    if (trimSpace(part) !== '') filled++
    else if (at > 0 && at < parts.length - 1) return null
  }
  return filled
}

const starters =
  '(?:Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\\s|She\\s|It\\s|They\\s|Their\\s|Our\\s|We\\s|But\\s|However\\s|That\\s|This\\s|Wherever)'
const [dot, stop] = ['<prd>', '<stop>']

/** The substitutions that hide the dots which end no sentence, in order. */
const hiding: readonly (readonly [RegExp, string])[] = [
  [/(Mr|St|Mrs|Ms|Dr)[.]/g, `$1${dot}`],
  [/[.](com|net|org|io|gov|edu|me)/g, `${dot}$1`],
  [/([0-9])[.]([0-9])/g, `$1${dot}$2`],
]
const abbreviating: readonly (readonly [RegExp, string])[] = [
  [/\s([A-Za-z])[.] /g, ` $1${dot} `],
  [new RegExp(`([A-Z][.][A-Z][.](?:[A-Z][.])?) (?=${starters})`, 'g'), `$1${stop} `],
  [/([A-Za-z])[.]([A-Za-z])[.]([A-Za-z])[.]/g, `$1${dot}$2${dot}$3${dot}`],
  [/([A-Za-z])[.]([A-Za-z])[.]/g, `$1${dot}$2${dot}`],
  [new RegExp(` (Inc|Ltd|Jr|Sr|Co)[.] (?=${starters})`, 'g'), ` $1${stop} `],
  [/ (Inc|Ltd|Jr|Sr|Co)[.]/g, ` $1${dot}`],
  [/ ([A-Za-z])[.]/g, ` $1${dot}`],
]
const quoting: readonly (readonly [string, string])[] = [
  ['.”', '”.'],
  ['."', '".'],
  ['!"', '"!'],
  ['?"', '"?'],
  ['.', `.${stop}`],
  ['?', `?${stop}`],
  ['!', `!${stop}`],
  [dot, '.'],
]

/**
 * The sentences of a text by the rule of regular expressions that IFBench and Open-Instruct use. It knows a few
 * abbreviations, initials and domains; `<prd>` and `<stop>` in the text act as in the original.
 */
export function sentencesOf(text: string): string[] {
  let read = ` ${text}  `.replaceAll('\n', ' ')
  for (const [pattern, put] of hiding) read = read.replace(pattern, put)
  read = read.replace(/\.{2,}/g, (dots) => dot.repeat(dots.length) + stop)
  if (read.includes('Ph.D')) read = read.replaceAll('Ph.D.', `Ph${dot}D${dot}`)
  for (const [pattern, put] of abbreviating) read = read.replace(pattern, put)
  for (const [from, to] of quoting) read = read.replaceAll(from, to)
  const sentences = read.split(stop).map(trimSpace)
  if (sentences.at(-1) === '') sentences.pop()
  return sentences
}

/** Abbreviations after which NLTK's English splitter goes on, as far as we know them; it has them from a trained model. */
const abbreviations: ReadonlySet<string> = new Set(
  (
    'mr mrs ms dr prof st jr sr co corp inc ltd gen col capt lt sgt rev hon gov sen rep pres vs etc e.g i.e u.s u.k u.n ' +
    'a.m p.m ph.d d.c jan feb mar apr aug sept sep oct nov dec no vol fig pp ed ave blvd rd dept est approx messrs'
  ).split(' '),
)

/**
 * The sentences of a text, about as NLTK's trained English splitter finds them: at `.`, `?` and `!` before white space,
 * but not after a known abbreviation or an initial.
 */
export function proseSentences(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  for (const { 0: mark, index } of text.matchAll(/(?<![.?!])[.?!]+["'”’)\]}»]*(?=\s)/gu)) {
    const end = index + mark.length
    let from = index
    while (from > start && index - from < 20 && !isSpace(text.charAt(from - 1))) from--
    const word = text.slice(from, index).toLowerCase()
    const next = text.slice(end, end + 40).trimStart()
    if (mark === '.' && next !== '' && goesOn(word.replace(/^["'“‘([{]+/u, ''), next)) continue
    sentences.push(text.slice(start, end))
    start = end
  }
  sentences.push(text.slice(start))
  return sentences.map(trimSpace).filter((sentence) => sentence !== '')
}

/** Whether a sentence goes on after a word with a dot. */
function goesOn(word: string, next: string): boolean {
  if (/^\p{L}$/u.test(word))
    return !/^(?:The|It|He|She|We|They|This|That|But|However|In|On|At|And|A)\b/.test(next)
  if (abbreviations.has(word)) return true
  return false
}

/** The substitutions of the Treebank tokenizer, in order. The final dot is cut off before. */
const treebank: readonly (readonly [RegExp, string])[] = [
  [/([«“‘„]|`+)/gu, ' $1 '],
  [/^"/gm, '``'],
  [/([ ([{<])(?:"|'{2})/g, '$1 `` '],
  [/'(?!re|ve|ll|m|t|s|d|n)([\p{L}\p{N}_])(?![\p{L}\p{N}_])/giu, "' $1"],
  [/([:,])(?=[^\p{Nd}])/gu, ' $1 '],
  [/([:,])$/gm, ' $1 '],
  [/\.{2,}/g, ' $& '],
  [/[;@#$%&]/g, ' $& '],
  [/[?!]/g, ' $& '],
  [/([^'])' /g, "$1 ' "],
  [/\*/g, ' * '],
  [/[\][(){}<>]/g, ' $& '],
  [/--/g, ' -- '],
]
const endings: readonly (readonly [RegExp, string])[] = [
  [/([»”’])/gu, ' $1 '],
  [/''/g, " '' "],
  [/"/g, " '' "],
  [/([^' ])('[sS]|'[mM]|'[dD]|') /g, '$1 $2 '],
  [/([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) /g, '$1 $2 '],
  [/\b(can)(not)\b/gi, ' $1 $2 '],
  [/\b(d)('ye)\b/gi, ' $1 $2 '],
  [/\b(gim|lem)(me)\b/gi, ' $1 $2 '],
  [/\b(gon|wan)(na)\b/gi, ' $1 $2 '],
  [/\b(got)(ta)\b/gi, ' $1 $2 '],
  [/\b(more)('n)\b/gi, ' $1 $2 '],
  [/ ('t)(is|was)\b/gi, ' $1 $2 '],
]

/** The tokens of one sentence by the Treebank rules: words, marks and clitics (`do n't`). */
export const sentenceTokens = (sentence: string): string[] => tokensOfAll([sentence])

/** About as NLTK's word_tokenize. All sentences are read at once, one a line: the rules cost more than their matches. */
export const tokensOf = (text: string): string[] => tokensOfAll(proseSentences(text))

function tokensOfAll(sentences: readonly string[]): string[] {
  let read = sentences.map((sentence) => withFinalDot(sentence).replaceAll('\n', ' ')).join('\n')
  for (const [pattern, put] of treebank) read = read.replace(pattern, put)
  read = ` ${read.replaceAll('\n', ' \n ')} `
  for (const [pattern, put] of endings) read = read.replace(pattern, put)
  return piecesOf(read)
}

/** Sets the dot that ends a sentence apart, and what follows it. */
function withFinalDot(sentence: string): string {
  let end = sentence.length
  while (end > 0 && `])}>"'»”’ \n\t\r`.includes(sentence.charAt(end - 1))) end--
  if (sentence.charAt(end - 1) !== '.' || end < 2 || sentence.charAt(end - 2) === '.') return sentence
  return `${sentence.slice(0, end - 1)} . ${sentence.slice(end)} `
}

const meta = /[\\^$.|?*+()[\]{}]/

/** Where a keyword stands in a text, ignoring case: start and end of each match, from left to right. */
export function* matchesOf(
  keyword: string,
  text: string,
  isPattern: boolean,
): Generator<readonly [number, number]> {
  if (!isPattern || !meta.test(keyword)) {
    const [wanted, within] = [keyword.toLowerCase(), text.toLowerCase()]
    if (wanted === '') return
    for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + wanted.length))
      yield [at, at + wanted.length]
    return
  }
  const matcher = keywordPattern(keyword).matcher(text)
  while (matcher.find()) yield [matcher.start(), matcher.end()]
}

const unicode: Readonly<Record<string, string>> = {
  w: '[\\p{L}\\p{N}_]',
  W: '[^\\p{L}\\p{N}_]',
  d: '\\p{Nd}',
  s: '[\\s\\x{85}\\x{a0}\\x{2000}-\\x{200a}\\x{3000}]',
}

/** A published check raises for this text. */
export class Unanswerable extends Error {}

/** An argument that no check can use. */
export class WrongArgument extends Error {}

/** A keyword that is a regular expression, in linear time. Throws WrongArgument if RE2 cannot express it. */
function keywordPattern(keyword: string): RE2JS {
  const source = keyword
    .replace(/\\([wWds])/g, (_, letter: string) => unicode[letter] ?? '')
    .replace(/\$$/, '(?:\\n?\\z)')
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)
  } catch {
    throw new WrongArgument(`'${keyword.slice(0, 100)}' is no regular expression in RE2 syntax`)
  }
}

const inWord = /[\p{L}\p{N}_]/u

/** Python's `\b` between two characters. */
export function isBoundary(text: string, at: number): boolean {
  const before =
    at > 0 &&
    inWord.test(String.fromCodePoint(text.codePointAt(at > 1 && isLow(text, at - 1) ? at - 2 : at - 1) ?? 0))
  const after = at < text.length && inWord.test(String.fromCodePoint(text.codePointAt(at) ?? 0))
  return before !== after
}

const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00
