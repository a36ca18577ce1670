/** The 25 kinds of IFEval. */
import { z } from 'zod'
import { isSpace, trimSpace, whiteSpace } from '../characters.ts'
import { readJson } from '../json/json.ts'
import { knownLanguages, languageOf } from '../language.ts'
import { count, type Instruction, instruction, keyword, related, relation, words } from './instruction.ts'
import {
  filledParts,
  isBoundary,
  isLower,
  isUpper,
  linesOf,
  matchesOf,
  piecesOf,
  proseSentences,
  starParts,
  tokensOf,
  WrongArgument,
  withoutOuter,
  wordsOf,
} from './reading.ts'

/** Whether a keyword stands in a text. */
const has = (text: string, wanted: string, isPattern: boolean): boolean =>
  !matchesOf(wanted, text, isPattern).next().done

/** How often a keyword stands in a text. */
export function occurrences(text: string, wanted: string, isPattern: boolean): number {
  let found = 0
  for (const _ of matchesOf(wanted, text, isPattern)) found++
  return found
}

/** Whether a keyword stands in a text as a word. */
function hasWord(text: string, wanted: string, isPattern: boolean): boolean {
  for (const [start, end] of matchesOf(wanted, text, isPattern))
    if (isBoundary(text, start) && isBoundary(text, end)) return true
  return false
}

/** Any comma of the scripts that have one of their own. */
const commas =
  /[,\u055d\u060c\u07f8\u1363\u1802\u1808\u2e32\u2e34\u2e41\u3001\ua4fe\ua60d\ua6f5\ufe10\ufe11\ufe45\ufe46\ufe50\ufe51\uff0c\uff64]/

const frequency = instruction({ keyword, frequency: count, relation }, (text, args, { published }) =>
  related(
    occurrences(text, published ? trimSpace(args.keyword) : args.keyword.trim(), published),
    args.relation,
    args.frequency,
  ),
)

const letterFrequency = instruction(
  { letter: z.string().min(1).max(2), let_frequency: count, let_relation: relation },
  (text, { letter, let_frequency, let_relation }) =>
    related(text.toLowerCase().split(letter.toLowerCase()).length - 1, let_relation, let_frequency),
)

const escaped = (text: string): string => text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')

/** The first word of a paragraph, without quotation marks before it and what ends it. */
function firstWord(paragraph: string): string {
  const word = (piecesOf(paragraph)[0] ?? '').replace(/^'+/, '').replace(/^"+/, '')
  return (/^[^.,?!'"]*/.exec(word)?.[0] ?? '').toLowerCase()
}

/** Parts between markers such as `Section 1`. */
function sections(text: string, splitter: string, published: boolean): number {
  const space = `[${whiteSpace}]?`
  const marker = new RegExp(`${space}${escaped(splitter)}${space}\\p{Nd}+${space}`, 'u')
  const parts = text.split(marker)
  if (published) return parts.length - 1
  return parts.slice(1).filter((part) => trimSpace(part) !== '').length
}

/**
 * Lines of a list: a mark after white space, which may run over line ends, and with `*` a character that is no second
 * one.
 */
function linesWith(text: string, mark: '*' | '-'): number {
  let found = 0
  for (let at = 0; at < text.length; ) {
    while (at < text.length && isSpace(text.charAt(at))) at++
    const isItem = text[at] === mark && (mark === '-' || (at + 1 < text.length && text[at + 1] !== '*'))
    if (isItem) found++
    const end = text.indexOf('\n', isItem && mark === '*' ? at + 2 : at)
    at = end < 0 ? text.length : end + 1
  }
  return found
}

function postscript(text: string, marker: string, published: boolean): boolean {
  const lower = text.toLowerCase()
  const space = `[${whiteSpace}]?`
  const pattern =
    marker === 'P.P.S'
      ? `p\\.${space}p\\.${space}s`
      : marker === 'P.S.'
        ? `p\\.${space}s\\.`
        : escaped(marker.toLowerCase())
  // In the published checker any other marker is a regular expression.
  if (published)
    return new RegExp(
      pattern.replaceAll('\\.', marker === 'P.P.S' || marker === 'P.S.' ? '\\.' : '[^\\n]'),
      'u',
    ).test(lower)
  return new RegExp(`${pattern}[^\\p{L}\\p{N}]{0,20}[\\p{L}\\p{N}]`, 'u').test(lower)
}

/** Texts between single stars, and between double ones. */
function highlights(text: string): number {
  const single = (text.match(/\*[^\n*]*\*/g) ?? []).filter((part) => trimSpace(part.slice(1, -1)) !== '')
  const double = (text.match(/\*\*[^\n*]*\*\*/g) ?? []).filter((part) => trimSpace(part.slice(2, -2)) !== '')
  return single.length + double.length
}

const prefixes = ['```json', '```Json', '```JSON', '```']

function isJson(text: string): boolean {
  let rest = trimSpace(text)
  for (const prefix of prefixes) if (rest.startsWith(prefix)) rest = rest.slice(prefix.length)
  if (rest.endsWith('```')) rest = rest.slice(0, -3)
  return readJson(trimSpace(rest)) !== null
}

/** A title between `<<` and `>>` in one line. */
const hasTitle = (text: string): boolean =>
  linesOf(text).some((line) => {
    const start = line.indexOf('<<')
    const end = line.lastIndexOf('>>')
    return start >= 0 && end > start + 2 && trimSpace(withoutOuter(line.slice(start, end), /[<>]/)) !== ''
  })

const answers = ['My answer is yes.', 'My answer is no.', 'My answer is maybe.']

function twoResponses(text: string): boolean {
  const parts = text.split('******')
  if (filledParts(parts) !== 2) return false
  const [first, second] = parts.filter((part) => trimSpace(part) !== '').map(trimSpace)
  return first !== second
}

const ifevalLanguages: ReadonlySet<string> = new Set(
  'en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi'.split(' '),
)

/** The language of a text. Without letters the published checkers say yes. */
function isIn(text: string, language: string, published: boolean): boolean {
  if (!/\p{L}/u.test(text)) return published
  const wanted = language.toLowerCase()
  if (!(published ? ifevalLanguages.has(wanted) : knownLanguages.has(wanted.split('-')[0] ?? '')))
    throw new WrongArgument(`'${language}' is no language that is checked`)
  return languageOf(text) === wanted.split('-')[0]
}

export const ifeval: Readonly<Record<string, Instruction>> = {
  'keywords:existence': instruction(
    { keywords: z.array(keyword).min(1) },
    (text, { keywords }, { published }) => keywords.every((wanted) => has(text, wanted, published)),
  ),
  'keywords:frequency': frequency,
  'keywords:forbidden_words': instruction(
    { forbidden_words: z.array(keyword).min(1) },
    (text, { forbidden_words }, { published }) =>
      !forbidden_words.some((wanted) => hasWord(text, wanted, published)),
  ),
  'keywords:letter_frequency': letterFrequency,
  'language:response_language': instruction(
    { language: z.string().min(2).max(10) },
    (text, { language }, { published }) => isIn(text, language, published),
  ),
  'length_constraints:number_sentences': instruction(
    { num_sentences: count, relation },
    (text, { num_sentences, relation }) => related(proseSentences(text).length, relation, num_sentences),
  ),
  'length_constraints:number_paragraphs': instruction(
    { num_paragraphs: count },
    (text, { num_paragraphs }) => filledParts(starParts(text)) === num_paragraphs,
  ),
  'length_constraints:number_words': instruction(
    { num_words: count, relation },
    (text, { num_words, relation }) => related(wordsOf(text).length, relation, num_words),
  ),
  'length_constraints:nth_paragraph_first_word': instruction(
    { num_paragraphs: count, nth_paragraph: z.number().min(1), first_word: words },
    (text, { num_paragraphs, nth_paragraph, first_word }) => {
      const parts = text.split('\n\n')
      const filled = parts.filter((part) => trimSpace(part) !== '').length
      const part = trimSpace(parts[nth_paragraph - 1] ?? '')
      return (
        filled === num_paragraphs &&
        nth_paragraph <= filled &&
        part !== '' &&
        firstWord(part) === first_word.toLowerCase()
      )
    },
  ),
  'detectable_content:number_placeholders': instruction(
    { num_placeholders: count },
    (text, { num_placeholders }) => placeholders(text) >= num_placeholders,
  ),
  'detectable_content:postscript': instruction(
    { postscript_marker: keyword },
    (text, { postscript_marker }, { published }) => postscript(text, trimSpace(postscript_marker), published),
  ),
  'detectable_format:number_bullet_lists': instruction(
    { num_bullets: count },
    (text, { num_bullets }) => linesWith(text, '*') + linesWith(text, '-') === num_bullets,
  ),
  'detectable_format:constrained_response': instruction({}, (text, _, { published }) => {
    const found = answers.filter((answer) => text.includes(answer)).length
    return published ? found > 0 : found === 1
  }),
  'detectable_format:number_highlighted_sections': instruction(
    { num_highlights: count },
    (text, { num_highlights }) => highlights(text) >= num_highlights,
  ),
  'detectable_format:multiple_sections': instruction(
    { section_spliter: keyword, num_sections: count },
    (text, { section_spliter, num_sections }, { published }) =>
      sections(text, trimSpace(section_spliter), published) >= num_sections,
  ),
  'detectable_format:json_format': instruction({}, isJson),
  'detectable_format:title': instruction({}, hasTitle),
  'combination:two_responses': instruction({}, twoResponses),
  'combination:repeat_prompt': instruction({ prompt_to_repeat: words }, (text, { prompt_to_repeat }) =>
    trimSpace(text).toLowerCase().startsWith(trimSpace(prompt_to_repeat).toLowerCase()),
  ),
  'startend:end_checker': instruction({ end_phrase: words }, (text, { end_phrase }) =>
    withoutOuter(trimSpace(text), /"/).toLowerCase().endsWith(trimSpace(end_phrase).toLowerCase()),
  ),
  'startend:quotation': instruction({}, (text) => {
    const whole = trimSpace(text)
    return whole.length > 1 && whole.startsWith('"') && whole.endsWith('"')
  }),
  'change_case:capital_word_frequency': instruction(
    { capital_frequency: count, capital_relation: relation },
    (text, { capital_frequency, capital_relation }) =>
      related(tokensOf(text).filter(isUpper).length, capital_relation, capital_frequency),
  ),
  'change_case:english_capital': instruction(
    {},
    (text, _, { published }) => isUpper(text) && isIn(text, 'en', published),
  ),
  'change_case:english_lowercase': instruction(
    {},
    (text, _, { published }) => isLower(text) && isIn(text, 'en', published),
  ),
  'punctuation:no_comma': instruction({}, (text, _, { published }) =>
    published ? !text.includes(',') : !commas.test(text),
  ),
}

/** Texts in square brackets, in one line. */
function placeholders(text: string): number {
  let found = 0
  for (const line of linesOf(text)) {
    for (let open = line.indexOf('['); open >= 0; ) {
      const end = line.indexOf(']', open)
      if (end < 0) break
      found++
      open = line.indexOf('[', end)
    }
  }
  return found
}
