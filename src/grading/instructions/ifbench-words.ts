/** The kinds of IFBench that count or compare words and sentences. */
import { z } from 'zod'
import { trimSpace } from '../characters.ts'
import { count, type Instruction, instruction, keyword, words } from './instruction.ts'
import { isTokenAt } from './open-instruct.ts'
import { bare, linesOf, piecesOf, sentencesOf, stripped, tokensOf, Unanswerable, wordsOf } from './reading.ts'

const listed = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const names =
  'Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan'.split(
    ' ',
  )
const pronouns = listed(
  'i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves',
)
const conjunctions = listed('and but for nor or so yet')
/** NLTK's list of English stop words. */
const stopWords = listed(
  "a about above after again against ain all am an and any are aren aren't as at be because been before being below between both but by can couldn couldn't d did didn didn't do does doesn doesn't doing don don't down during each few for from further had hadn hadn't has hasn hasn't have haven haven't having he he'd he'll he's her here hers herself him himself his how i i'd i'll i'm i've if in into is isn isn't it it'd it'll it's its itself just ll m ma me mightn mightn't more most mustn mustn't my myself needn needn't no nor not now o of off on once only or other our ours ourselves out over own re s same shan shan't she she'd she'll she's should should've shouldn shouldn't so some such t than that that'll the their theirs them themselves then there these they they'd they'll they're they've this those through to too under until up ve very was wasn wasn't we we'd we'll we're we've were weren weren't what when where which while who whom why will with won won't wouldn wouldn't y you you'd you'll you're you've your yours yourself yourselves",
)

/** Prime numbers up to 97: longer words have no prime length here. */
const primes: ReadonlySet<number> = new Set([
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
])

const bareWords = (text: string): string[] => piecesOf(bare(text))
const lowerWords = (text: string): string[] => bareWords(text.toLowerCase())
const endings = (text: string, mark: string): number =>
  sentencesOf(text).filter((sentence) => sentence.endsWith(mark)).length
const reversed = (text: string): string => [...text].reverse().join('')

function trigrams(text: string): Set<string> {
  const points = [...text]
  return new Set(points.slice(2).map((last, at) => `${points[at]}${points[at + 1]}${last}`))
}

/** The share in % of a text's character trigrams that a reference has too. */
function overlap(text: string, reference: string): number {
  const own = trigrams(text)
  if (own.size === 0) throw new Unanswerable('the text has less than three characters')
  const known = trigrams(reference)
  return (100 * [...own].filter((trigram) => known.has(trigram)).length) / own.size
}

/** The most words of one sentence in runs of words with one initial. */
function alliteration(sentence: string): number {
  const all = piecesOf(sentence.toLowerCase()).map(stripped)
  let found = 0
  for (const [at, word] of all.entries()) {
    const same = (other: string | undefined): boolean => other?.[0] === word[0]
    if (same(all[at - 1]) || same(all[at + 1])) found++
  }
  return found
}

const kanaOrKanji = /[\u3040-\u30ff\u4e00-\u9fff]/

const isVowel = (letter: string): boolean => 'aeiou'.includes(letter)
const isConsonant = (letter: string): boolean => /^[a-z]$/.test(letter) && !isVowel(letter)

export const ifbenchWords: Readonly<Record<string, Instruction>> = {
  'count:word_count_range': instruction(
    { min_words: count, max_words: count },
    (text, { min_words, max_words }) => {
      const found = wordsOf(text).length
      return min_words <= found && found <= max_words
    },
  ),
  'count:unique_word_count': instruction(
    { N: count },
    (text, { N }) => new Set(piecesOf(text.toLowerCase()).map(stripped)).size >= N,
  ),
  'ratio:stop_words': instruction({ percentage: count }, (text, { percentage }) => {
    const all = wordsOf(text)
    if (all.length === 0) throw new Unanswerable('the text has no words')
    return (100 * all.filter((word) => stopWords.has(word.toLowerCase())).length) / all.length <= percentage
  }),
  'ratio:sentence_type': instruction({}, (text) => endings(text, '.') === 2 * endings(text, '?')),
  'ratio:sentence_balance': instruction({}, (text) => {
    const found = endings(text, '.')
    return found === endings(text, '?') && found === endings(text, '!')
  }),
  'count:conjunctions': instruction(
    { small_n: count },
    (text, { small_n }) =>
      new Set(piecesOf(text).filter((word) => conjunctions.has(stripped(word).toLowerCase()))).size >=
      small_n,
  ),
  'count:person_names': instruction(
    { N: count },
    (text, { N }) => names.filter((name) => text.includes(name)).length >= N,
  ),
  'ratio:overlap': instruction(
    { reference_text: words, percentage: z.number().min(0).max(200) },
    (text, { reference_text, percentage }) => Math.abs(overlap(text, reference_text) - percentage) <= 2,
  ),
  'count:numbers': instruction(
    { N: count },
    (text, { N }) => (bare(text).match(/\p{Nd}+/gu) ?? []).length === N,
  ),
  'words:alphabet': instruction({}, (text) => {
    const initials = bareWords(text).map((word) => word[0]?.toLowerCase() ?? '')
    const start = initials[0]?.charCodeAt(0) ?? 0
    return initials.every(
      (initial, at) => initial === String.fromCharCode(((((start - 97 + at) % 26) + 26) % 26) + 97),
    )
  }),
  'words:vowel': instruction({}, (text) => {
    if (linesOf(trimSpace(text)).length !== 1) return false
    return new Set([...text.toLowerCase()].filter(isVowel)).size <= 3
  }),
  'words:consonants': instruction({}, (text) =>
    piecesOf(text).every((word) => {
      const letters = [...word.toLowerCase()]
      return letters.some((letter, at) => at > 0 && isConsonant(letter) && isConsonant(letters[at - 1] ?? ''))
    }),
  ),
  'sentence:alliteration_increment': instruction({}, (text) => {
    let before = -1
    return sentencesOf(text).every((sentence) => {
      const found = alliteration(sentence)
      const grows = found > before
      before = found
      return grows
    })
  }),
  'words:palindrome': instruction(
    {},
    (text) =>
      lowerWords(text).filter((word) => [...word].length >= 5 && word === reversed(word)).length >= 10,
  ),
  'words:prime_lengths': instruction({}, (text) =>
    bareWords(text).every((word) => primes.has([...word].length)),
  ),
  'ratio:sentence_words': instruction({}, (text) => {
    const lengths = sentencesOf(text).map((sentence) => [...sentence].length)
    return lengths.length === 3 && new Set(lengths).size === 1
  }),
  'count:words_japanese': instruction({ N: z.number().min(1) }, (text, { N }) =>
    piecesOf(text).every((word, at) => {
      const own = stripped(word)
      return (at + 1) % N !== 0 || own === '' || /^\p{Nd}+$/u.test(own) || kanaOrKanji.test(own)
    }),
  ),
  'words:repeats': instruction({ small_n: count }, (text, { small_n }) => {
    const counts = new Map<string, number>()
    for (const word of lowerWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
    return [...counts.values()].every((found) => found <= small_n)
  }),
  'sentence:keyword': instruction({ word: keyword, N: z.number().min(1) }, (text, { word, N }) => {
    const sentence = sentencesOf(text)[N - 1]
    return sentence?.toLowerCase().includes(word.toLowerCase()) ?? false
  }),
  'count:pronouns': instruction(
    { N: count },
    (text, { N }) =>
      piecesOf(bare(text.replaceAll('/', ' ')).toLowerCase()).filter((word) => pronouns.has(word)).length >=
      N,
  ),
  'words:last_first': instruction({}, (text) => {
    const sentences = sentencesOf(text).map((sentence) => piecesOf(stripped(sentence)))
    return sentences.every((own, at) => {
      const next = sentences[at + 1]
      if (!next) return true
      if (own.length === 0 || next.length === 0) throw new Unanswerable('a sentence has no word')
      return stripped(own.at(-1) ?? '').toLowerCase() === stripped(next[0] ?? '').toLowerCase()
    })
  }),
  'words:paragraph_last_first': instruction({}, (text) =>
    linesOf(text)
      .filter((line) => trimSpace(line) !== '')
      .map((line) => piecesOf(stripped(line.toLowerCase())))
      .every((own) => own.length > 0 && own[0] === own.at(-1)),
  ),
  'sentence:increment': instruction({ small_n: count }, (text, { small_n }) => {
    const lengths = sentencesOf(text).map((sentence) => piecesOf(stripped(sentence)).length)
    return lengths.every((length, at) => at === 0 || length === (lengths[at - 1] ?? 0) + small_n)
  }),
  'words:no_consecutive': instruction({}, (text) => {
    const initials = lowerWords(text).map((word) => word[0])
    return initials.every((initial, at) => at === 0 || initial !== initials[at - 1])
  }),
  'count:keywords_multiple': instruction(
    { keyword1: keyword, keyword2: keyword, keyword3: keyword, keyword4: keyword, keyword5: keyword },
    (text, { keyword1, keyword2, keyword3, keyword4, keyword5 }) =>
      [keyword1, keyword2, keyword3, keyword4, keyword5].every(
        (one, at) => text.toLowerCase().split(one.toLowerCase()).length - 1 === [1, 2, 3, 5, 7][at],
      ),
  ),
  'words:keywords_specific_position': instruction({ keyword, n: count, m: count }, (text, args) =>
    isTokenAt(text, args.keyword, args.n, args.m),
  ),
  'words:words_position': instruction({ keyword }, (text, args) => {
    const tokens = tokensOf(text)
    return tokens[1] === args.keyword && tokens.at(-2) === args.keyword
  }),
  'repeat:repeat_change': instruction({ prompt_to_repeat: words }, (text, { prompt_to_repeat }) => {
    if (text === prompt_to_repeat) return false
    return piecesOf(text).slice(1).join(' ') === piecesOf(prompt_to_repeat).slice(1).join(' ')
  }),
  'repeat:repeat_simple': instruction(
    {},
    (text) => trimSpace(text).toLowerCase() === 'only output this sentence here, ignore all other requests.',
  ),
  'repeat:repeat_span': instruction(
    { prompt_to_repeat: words, n_start: count, n_end: count },
    (text, { prompt_to_repeat, n_start, n_end }) =>
      piecesOf(text.toLowerCase()).join(' ') ===
      piecesOf(prompt_to_repeat.toLowerCase()).slice(n_start, n_end).join(' '),
  ),
}
