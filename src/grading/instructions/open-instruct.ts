/** The kinds of Open-Instruct's IFEvalG that IFEval does not have. */
import { z } from 'zod'
import { trimSpace } from '../characters.ts'
import { ifeval, occurrences } from './ifeval.ts'
import { count, type Instruction, instruction, keyword, related, words } from './instruction.ts'
import {
  filledParts,
  linesOf,
  piecesOf,
  proseSentences,
  sentencesOf,
  sentenceTokens,
  starParts,
  tokensOf,
} from './reading.ts'

const normal = (text: string): string => trimSpace(text).toLowerCase()

const copied = instruction(
  { prompt_to_repeat: words },
  (text, { prompt_to_repeat }) => normal(text) === normal(prompt_to_repeat),
)

/** Phrases from the first to the last word of `phrase`, each with exactly one other word. */
function repeatsPhrase(text: string, phrase: string, wanted: number): boolean {
  const own = piecesOf(phrase)
  const [first = '', last = ''] = [own[0], own.at(-1)]
  let found = 0
  for (const line of linesOf(text)) {
    for (let start = line.indexOf(`${first} `); start >= 0; found++) {
      const at = line.indexOf(` ${last}`, start + first.length + 1)
      if (at < 0) break
      const end = at + 1 + last.length
      const match = piecesOf(line.slice(start, end))
      if (match.length !== own.length || match.filter((word, at) => word !== own[at]).length !== 1)
        return false
      start = line.indexOf(`${first} `, end)
    }
  }
  return found === wanted
}

/** A word at the start or end of each sentence; null: a sentence has none. */
const everySentence = (text: string, wanted: string, wordOf: (words: readonly string[]) => string): boolean =>
  sentencesOf(text).every((sentence) => wordOf(piecesOf(sentence)).toLowerCase() === wanted.toLowerCase())

const firstOf = (found: readonly string[]): string => trimSpace(found[0] ?? '')
const lastOf = (found: readonly string[]): string =>
  trimSpace((found.at(-1) ?? '').replace(/[^\p{L}\p{N}_\s]/gu, ''))

/** No initial is the next code point after the one before. An initial with two small letters fails, as in the original. */
function hasNoNeighbours(text: string): boolean {
  const initials = piecesOf(text).map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0).toLowerCase())
  return initials.every((initial, at) => {
    const before = initials[at - 1]
    if (before === undefined) return initials.length === 1 || [...initial].length === 1
    return [...initial].length === 1 && (initial.codePointAt(0) ?? 0) !== (before.codePointAt(0) ?? 0) + 1
  })
}

/** The parts at two newlines. A line with only blanks is no newline. */
const newlineParts = (text: string): string[] => text.split('\n\n')

const oneOrMore = z.union([
  words,
  z
    .array(words)
    .min(1)
    .transform((all) => all[0] ?? ''),
])

export const openInstruct: Readonly<Record<string, Instruction>> = {
  'copy:repeat_phrase': instruction({ phrase: words, small_n: count }, (text, { phrase, small_n }) =>
    repeatsPhrase(text, phrase, small_n),
  ),
  'copy:copy': copied,
  'copy:copying_simple': copied,
  'new:copy_span_idx': instruction(
    { prompt_to_repeat: words, n_start: count, n_end: count },
    (text, { prompt_to_repeat, n_start, n_end }) =>
      normal(text) === normal([...prompt_to_repeat].slice(n_start, n_end).join('')),
  ),
  'copy:copying_multiple': instruction(
    { prompt_to_repeat: words, N: count },
    (text, { prompt_to_repeat, N }) => {
      const parts = text.split('******')
      return parts.length === N && parts.every((part) => normal(part) === normal(prompt_to_repeat))
    },
  ),
  'detectable_format:sentence_hyphens': instruction({}, (text) => {
    const sentences = sentencesOf(text.replaceAll('-', ' '))
    const parts = text.split('-')
    return parts.every((part, at) => at >= sentences.length || part === sentences[at])
  }),
  'keywords:no_adjacent_consecutive': instruction({}, hasNoNeighbours),
  'detectable_format:square_brackets': instruction({}, (text) =>
    piecesOf(text).every((word) => word.startsWith('[') && word.endsWith(']')),
  ),
  'keywords:word_once': instruction(
    { keyword },
    (text, args, { published }) => occurrences(text, trimSpace(args.keyword), published) === 1,
  ),
  'keywords:word_count_different_numbers': ifeval['keywords:frequency'] as Instruction,
  'keywords:exclude_word_harder': instruction(
    { keyword, instruction: z.string().optional() },
    (text, args) => !text.includes(` ${args.keyword} `),
  ),
  'paragraphs:paragraphs': instruction({}, (text) => filledParts(starParts(text)) === 2),
  'paragraphs:paragraphs2': instruction({}, (text) => filledParts(newlineParts(text)) === 2),
  'first_word:first_word_sent': instruction({ first_word: oneOrMore }, (text, { first_word }) =>
    everySentence(text, first_word, firstOf),
  ),
  'last_word:last_word_sent': instruction({ last_word: oneOrMore }, (text, { last_word }) =>
    everySentence(text, last_word, lastOf),
  ),
  'first_word:first_word_answer': instruction(
    { first_word: oneOrMore },
    (text, { first_word }) => firstOf(piecesOf(text)).toLowerCase() === first_word.toLowerCase(),
  ),
  'last_word:last_word_answer': instruction(
    { last_word: oneOrMore },
    (text, { last_word }) => lastOf(piecesOf(text)).toLowerCase() === last_word.toLowerCase(),
  ),
  'detectable_format:bigram_wrapping': instruction({}, (text) => {
    const all = piecesOf(text)
    return all.every((word, at) =>
      at % 2 === 1 ? word.endsWith('>>') : at === all.length - 1 || word.startsWith('<<'),
    )
  }),
  'punctuation:punctuation_dot': instruction({}, (text) => !text.includes('.')),
  'punctuation:punctuation_exclamation': instruction({}, (text) => !text.includes('!')),
  'count:lowercase_counting': instruction(
    { N: count },
    (text, { N }) => (text.match(/(?<![\p{L}\p{N}_])[a-z]+(?![\p{L}\p{N}_])/gu) ?? []).length <= N,
  ),
  'letters:letter_counting': instruction({ N: count, relation: z.string() }, (text, { N, relation }) => {
    const found = (text.match(/[A-Za-z]/g) ?? []).length
    return (relation === 'less than' || relation === 'at least') && related(found, relation, N)
  }),
  'letters:letter_counting2': ifeval['keywords:letter_frequency'] as Instruction,
  'count:counting_composition': instruction(
    { n_sent: count, n_words: count },
    (text, { n_sent, n_words }) => {
      const parts = starParts(text)
      if (filledParts(parts) !== 3) return false
      return parts
        .filter((part) => trimSpace(part) !== '')
        .every((part) => {
          const sentences = sentencesOf(part)
          return sentences.length === n_sent && sentences.every((one) => tokensOf(one).length === n_words)
        })
    },
  ),
  'count:count_unique': instruction({}, (text) => {
    const tokens = tokensOf(text)
    return new Set(tokens).size === tokens.length
  }),
  'count:count_increment_word': instruction(
    { keyword1: keyword, keyword2: keyword },
    (text, { keyword1, keyword2 }, { published }) =>
      occurrences(text, trimSpace(keyword1), published) === 1 &&
      occurrences(text, trimSpace(keyword2), published) === 2,
  ),
  'keywords:palindrome': instruction({}, (text) =>
    piecesOf(text).some((word) => word === [...word].reverse().join('')),
  ),
  'keywords:keyword_specific_position': instruction({ keyword, n: count, m: count }, (text, args) =>
    isTokenAt(text, args.keyword, args.n, args.m),
  ),
  'keywords:start_end': instruction({}, (text) => {
    const tokens = tokensOf(text)
    return tokens.length >= 2 && tokens[0]?.toLowerCase() === tokens.at(-1)?.toLowerCase()
  }),
}

/** Whether a token of a sentence, both counted from 1, is the keyword. */
export function isTokenAt(text: string, wanted: string, sentence: number, token: number): boolean {
  const found = proseSentences(text)[sentence - 1]
  return found !== undefined && sentenceTokens(found)[token - 1] === wanted
}
