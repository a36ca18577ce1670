/** sacrebleu's tokenizers that need no model data. Each is linear. */
import { trimSpace, whiteSpace } from '../characters.ts'

/** The names that sacrebleu gives them. */
export const bleuTokenizers = ['13a', 'intl', 'zh', 'char', 'none'] as const
export type BleuTokenizer = (typeof bleuTokenizers)[number]

const space = new RegExp(`[${whiteSpace}]+`, 'g')

/** The words of a text as Python's `split` finds them. */
export const splitWords = (text: string): readonly string[] => {
  const plain = trimSpace(text)
  return plain === '' ? [] : plain.split(space)
}

/** A text without white space at its end. */
const withoutTail = (text: string): string => text.slice(0, text.length - tailOf(text))

function tailOf(text: string): number {
  let length = 0
  while (length < text.length && trimSpace(text.charAt(text.length - 1 - length)) === '') length++
  return length
}

const signs = (line: string): string => line.replace(/[{-~[-` -&(-+:-@/]/g, ' $& ')

/** Points and commas between digits, and dashes that no digit precedes, stay with their words. */
const points = (line: string): string =>
  line
    .replace(/([^0-9])([.,])/gu, '$1 $2 ')
    .replace(/([.,])([^0-9])/gu, ' $1 $2')
    .replace(/([0-9])(-)/g, '$1 $2 ')

/** The steps of mteval-v13a for Western scripts. */
const western = (line: string): string => points(signs(line))

/** Texts as XML escapes them, each once, in sacrebleu's order. */
const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&gt;', '>')

/** The characters that `zh` separates. The first range has no bound that anybody chose: Python reads `\u20000` as two characters. */
const chinese =
  /[\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef\u3200-\u33ff\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef]/g

const tokenizers: Readonly<Record<BleuTokenizer, (line: string) => string>> = {
  '13a': (line) =>
    western(` ${unescaped(line.replaceAll('<skipped>', '').replaceAll('-\n', '').replaceAll('\n', ' '))} `),
  intl: (line) =>
    line
      .replace(/(\P{N})(\p{P})/gu, '$1 $2 ')
      .replace(/(\p{P})(\P{N})/gu, ' $1 $2')
      .replace(/\p{S}/gu, ' $& '),
  zh: (line) => western(trimSpace(line).replace(chinese, ' $& ')),
  char: (line) => Array.from(line).join(' '),
  none: (line) => line,
}

/** The tokens of a sentence. */
export const bleuTokens = (text: string, tokenizer: BleuTokenizer): readonly string[] =>
  splitWords(tokenizers[tokenizer](withoutTail(text)))

/** The settings of the tokenizer of TER, Tercom's. */
export interface TerSettings {
  /** Splits punctuation from words. */
  readonly normalized?: boolean
  readonly no_punct?: boolean
  /** With `normalized`, each Chinese character is a word; with `no_punct`, Asian punctuation goes too. */
  readonly asian_support?: boolean
  readonly case_sensitive?: boolean
}

const asianPunctuation = /[\u3001\u3002\u3008-\u3011\u3014-\u301f\uff61-\uff65\u30fb]/g
const fullWidthPunctuation = /[\uff0e\uff0c\uff1f\uff1a\uff1b\uff01\uff02\uff08\uff09]/g
const asian = [
  /[\u4e00-\u9fff\u3400-\u4dbf]/g,
  /[\u31c0-\u31ef\u2e80-\u2eff]/g,
  /[\u3300-\u33ff\uf900-\ufaff\ufe30-\ufe4f]/g,
  // Reaches beyond the block that is meant, as published.
  /[\u3200-\u3f22]/g,
  asianPunctuation,
  fullWidthPunctuation,
]

/** The words of a sentence for TER. */
export function terTokens(text: string, settings: TerSettings = {}): readonly string[] {
  const { normalized = false, no_punct = false, asian_support = false, case_sensitive = false } = settings
  const sentence = withoutTail(text)
  let line = case_sensitive ? sentence : sentence.toLowerCase()
  if (normalized) {
    const joined = ` ${unescaped(line.replaceAll('\n-', '').replaceAll('\n', ' '))} `
    line = points(signs(joined).replaceAll("'s ", " 's "))
    if (asian_support) line = asian.reduce((all, kind) => all.replace(kind, ' $& '), line)
  }
  if (no_punct) {
    line = line.replace(/[.,?:;!"()]/g, '')
    if (asian_support) line = line.replace(asianPunctuation, '').replace(fullWidthPunctuation, '')
  }
  return splitWords(line)
}
