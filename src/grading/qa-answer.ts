import { isWithdrawn } from './answer/withdrawal.ts'
import { isHedged, isMocked } from './answer/wording.ts'
import { swapsRoles } from './answer-clause.ts'
import { bestAssignment } from './assignment.ts'
import { isBlank, undecorated } from './characters.ts'
import { countedWords } from './number-words.ts'
import { committedTexts } from './qa-committed.ts'
import { commitsToTarget, exactSearchNormal, isSearchTarget } from './search-answer.ts'
import { commonSubsequence, overlapOf } from './similarity.ts'
import { unspaced } from './words.ts'

/** What an answer must name: one span, or each of several. A span has aliases, of which one is enough. */
export type Spans = readonly (readonly string[])[]

/** How well an answer names what is wanted. `reason`: why it is not worth more. */
export interface QaScore {
  readonly exact: boolean
  /** 0 to 1; 1 if the answer commits to what is wanted. */
  readonly f1: number
  readonly reason?: string
}

/** More items than this in an answer of several spans are a spray of guesses. */
const mostItems = 100

const token = new RegExp(`[${unspaced}]|[^ ${unspaced}]+`, 'gu')
/** The hyphen of `forty-two`. */
const tensHyphen = /(?<=[a-z]ty)-(?=[a-z])/gi

/** The words of a text. Numbers in words are in digits: `seventeen` is 17. */
function tokensOf(text: string): readonly string[] {
  const words = exactSearchNormal(text.replace(tensHyphen, ' ')).match(token) ?? []
  const tokens: string[] = []
  for (let at = 0; at < words.length; ) {
    const { value, end } = countedWords(words, at)
    tokens.push(value === null ? (words[at] ?? '') : String(value))
    at = value === null ? at + 1 : end
  }
  return tokens
}
const hasDigit = (word: string): boolean => /[0-9]/.test(word)
/** Words that make another number of the one before them. */
const size = /^(?:hundred|thousand|million|billion|trillion|dozen)s?$/
const months = new Set(
  `january february march april may june july august september october november december
  jan feb mar apr jun jul aug sep sept oct nov dec`.split(/\s+/),
)
const denial = /[~<>]|!(?=\s?[\p{L}\p{N}=])/u
/** These have no parts. */
const wholeOnly = /^\s*(?:yes|no|true|false)\W*$/i
/** Pictures say nothing, unless an alias has one. Those of denial and doubt are read as words. */
const pictures = String.raw`(?![❌✗✘✖🚫⛔❎👎🤷❓❔🤔🤞🎲#*0-9©®™])\p{Extended_Pictographic}[\ufe0e\ufe0f\u200d\u{1f3fb}-\u{1f3ff}]*|\p{Regional_Indicator}{2}|[☿♀♁♂♃-♇]\ufe0f?`
const pictographs = new RegExp(pictures, 'gu')
const pictograph = new RegExp(pictures, 'u')
/** A bound on a number is not the number. */
const limited =
  /(?<!\p{L})(?:below|above|under|over|less\s+than|more\s+than|fewer\s+than|at\s+least|at\s+most|up\s+to|no\s+more\s+than)\s+[$€£]?\d/iu
const alternatives = /(?<![\p{L}\p{N}])(?:or|nor|either|oder|ou)(?![\p{L}\p{N}])|[/|;\n]|或/iu

/**
 * How well an answer names one of the aliases. An answer that says nothing but an alias, or commits to it in a sentence,
 * is worth 1. Any other is worth the F1 of its words in their order, but never more than its precision: with k answers
 * of equal chance, naming them all earns no more than naming one. Another number, a denial, a doubt or a choice is worth 0.
 * Linear in the answer, times the length of the aliases. `isItem`: the answer is one of a list, and announces nothing.
 */
export function spanScore(
  sent: string,
  aliases: readonly string[],
  question: string,
  isItem = false,
): QaScore {
  const answer = aliases.some((alias) => pictograph.test(alias)) ? sent : sent.replace(pictographs, '')
  const exact = isSearchTarget(answer, aliases)
  if (exact || commitsToTarget(answer, aliases, question)) return { exact, f1: 1 }
  const reason = yesOrNo(answer, aliases)
  const texts = reason !== null ? [reason] : isItem ? [] : committedTexts(answer, question)
  if (texts.some((text) => commitsToTarget(text, aliases, question))) return { exact, f1: 1 }
  if (swapsRoles(answer, aliases, question)) return { exact, f1: 0, reason: 'unequal' }
  const said = undecorated(answer)
  const holds = (pattern: (text: string) => boolean): boolean => pattern(said) && !aliases.some(pattern)
  if (holds((text) => isHedged(text) || isMocked(text) || denial.test(text)))
    return { exact, f1: 0, reason: 'hedged' }
  if (holds((text) => limited.test(text))) return { exact, f1: 0, reason: 'hedged' }
  if (holds((text) => alternatives.test(text))) return { exact, f1: 0, reason: 'several_answers' }
  if (aliases.every((alias) => wholeOnly.test(alias))) return { exact, f1: 0, reason: 'unequal' }
  const given = tokensOf(said)
  const scores = aliases.map((alias) => tokensScore(given, tokensOf(alias)))
  const f1 = Math.max(...scores.map((score) => score ?? 0))
  if (f1 > 0) return f1 === 1 ? { exact, f1 } : { exact, f1, reason: 'partial' }
  return { exact, f1, reason: scores.includes(null) ? 'other_number' : 'unequal' }
}

/** `No.` before a sentence that gives the reason. null: nothing of the kind. */
function yesOrNo(answer: string, aliases: readonly string[]): string | null {
  if (!aliases.every((alias) => wholeOnly.test(alias))) return null
  const [all = '', word = ''] = /^\W*(yes|no|true|false)[.,;:!–—]\s+/i.exec(answer) ?? []
  const rest = answer.slice(all.length)
  return word === '' ||
    /\b(?:yes|no|actually|wait|sorry|but|however)\b/i.test(rest) ||
    isWithdrawn(`\n${rest}`, () => null)
    ? null
    : word
}

/** null: the numbers differ. */
function tokensScore(given: readonly string[], wanted: readonly string[]): number | null {
  const numbers = (words: readonly string[]): string =>
    [...new Set(words.filter((word) => hasDigit(word) || size.test(word)))].sort().join(' ')
  if (numbers(given) !== numbers(wanted)) return null
  const isDate = wanted.every((word) => hasDigit(word) || months.has(word))
  if (isDate) return Number([...given].sort().join(' ') === [...wanted].sort().join(' '))
  const { f1, precision } = overlapOf(commonSubsequence(given, wanted), given.length, wanted.length)
  return Math.min(f1, precision)
}

/**
 * How well an answer lists several spans: the best assignment of its items to the spans, over the larger number of both.
 * Items are those of a JSON list, lines, or what stands between semicolons or between commas and `and`.
 */
export function spansScore(answer: string, spans: Spans, question: string): QaScore {
  const readings = itemsOf(answer)
  if (readings.every((items) => items.length > mostItems))
    return { exact: false, f1: 0, reason: 'too_many_items' }
  const scores = readings
    .filter((items) => items.length <= mostItems)
    .map((items) => assigned(items, spans, question))
  const best = scores.reduce((a, b) => (b.f1 > a.f1 ? b : a))
  return best.f1 === 1 ? best : { ...best, reason: 'partial' }
}

const marker = /^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+/

/** The ways in which an answer may be a list. */
function itemsOf(answer: string): readonly (readonly string[])[] {
  const cut = (mark: RegExp | string): readonly string[] =>
    answer
      .split(mark)
      .map((item) => item.replace(marker, ''))
      .filter((item) => !isBlank(item))
  const listed = jsonList(answer)
  if (listed) return [listed]
  const readings = [cut('\n'), cut(/[;\n]/), cut(/[,;\n、，；]/), cut(/[,;\n、，；]|\s(?:and|und|et|y)\s/)]
  return readings.filter(({ length }, at) => length !== readings[at - 1]?.length)
}

function jsonList(answer: string): readonly string[] | null {
  if (!answer.startsWith('[')) return null
  try {
    const items: unknown = JSON.parse(answer)
    return Array.isArray(items) && items.every((item) => typeof item !== 'object') ? items.map(String) : null
  } catch {
    return null
  }
}

/** What an item is worth that has ten times as many words as any span. */
const tooLong: QaScore = { exact: false, f1: 0 }

function assigned(items: readonly string[], spans: Spans, question: string): QaScore {
  const longest = 500 + 10 * Math.max(...spans.flat().map(({ length }) => length))
  const scores = spans.map((aliases) =>
    items.map((item) => (item.length > longest ? tooLong : spanScore(item, aliases, question, true))),
  )
  const pairs = bestAssignment(scores.map((row) => row.map(({ f1 }) => f1)))
  const chosen = pairs.map(([span, item]) => scores[span]?.[item])
  const f1 = chosen.reduce((sum, score) => sum + (score?.f1 ?? 0), 0) / Math.max(items.length, spans.length)
  const exact =
    items.length === spans.length && chosen.length === spans.length && chosen.every((score) => score?.exact)
  return { exact, f1 }
}
