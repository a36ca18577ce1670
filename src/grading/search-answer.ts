import { stemOf } from './answer/known-words.ts'
import { isHedged } from './answer/wording.ts'
import { swapsRoles, withoutDetails } from './answer-clause.ts'
import type { PlacedAnswer } from './answer-place.ts'
import { asciiDigits, singleSpaced, trimSpace, undecorated } from './characters.ts'
import { blocks } from './tags.ts'
import { unspaced } from './words.ts'

const punctuation = /[!-/:-@[-`{-~]/g
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu
const token = new RegExp(`[${unspaced}]|[^ ${unspaced}]+`, 'gu')

/** The trimmed content of the last `<answer>...</answer>`, as the published code reads it. */
export function publishedTag(text: string): PlacedAnswer {
  const last = blocks(text, '<answer>', '</answer>').at(-1)
  return last === undefined ? { reason: 'no_answer' } : { text: trimSpace(last) }
}

/** SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces. */
export function searchNormal(text: string): string {
  return singleSpaced(text.toLowerCase().replace(punctuation, '').replace(articles, ' '))
}

/** Signs that carry meaning stand as these private characters while other punctuation is removed. */
const standIn = (sign: string): string => String.fromCharCode(0xe000 + sign.charCodeAt(0))
const standIns = /[\ue000-\ue07f]/g

const wordsOnly = /^[a-z ]*(?:[0-9]+)?[.]?$/
const beyondAscii = /[^\0-\x7f]/
const dashes = /[‐‑‒–—−]/g
const grouped = /(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])/g
const decimals = /(?<![0-9.])([0-9]+)\.([0-9]+)(?![0-9]|\.[0-9])/g
const dates = /(?<![0-9])([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})(?![0-9])/g
const leadingPoint = /(?<![\p{L}\p{N}])\.(?=[0-9])/gu
const leadingPlus = /(?<![\p{L}\p{N}])\+(?=[0-9])/gu
const clock = /(?<=[0-9])\s?([ap])\.?\s?m(?![\p{L}])\.?/gu
const minus = /(?<![\p{L}\p{N}.,)\]])-(?=\s?[$€£¥]?[0-9])/gu
const percent = /(?<=[0-9])\s?(?:%|percent(?![\p{L}]))/gu
const betweenDigits = /(?<=[0-9])[!-/:-@[-`{-~](?=[0-9])/g
const factorial = /(?<=[0-9])!/g
const denial = /(?<![\p{L}\p{N}])!=?(?=\s?[\p{L}\p{N}])|[<>~]/gu
const otherPunctuation = /[!-"$-*,-/:-@[-`{-~“”„‘’«»‹›。，、！；：（）《》「」『』…·]/g

/**
 * A normal form that loses no meaning: it keeps the signs of numbers (`-5`, `3.5`, `1/2`, `5%`), what stands between
 * digits, `+` and `#` (C++, C#), and `!`, `<`, `>` and `~` before what they change. Equal numbers have equal forms.
 * Linear.
 */
export function exactSearchNormal(text: string): string {
  const lower = text.toLowerCase()
  if (wordsOnly.test(lower)) return singleSpaced(lower.replace(/\.$/, '').replace(articles, ' '))
  const plain = beyondAscii.test(lower)
    ? asciiDigits(lower).replace(standIns, '\ufffd').replace(dashes, '-')
    : lower
  const numbers = /[0-9]/.test(plain) ? withNumbers(plain) : plain
  const words = numbers.replace(denial, (sign) => ` ${standIn(sign)} `).replace(otherPunctuation, '')
  return singleSpaced(words.replace(articles, ' '))
}

function withNumbers(text: string): string {
  const day = standIn('/')
  return text
    .replace(grouped, (number) => number.replaceAll(',', ''))
    .replace(leadingPoint, '0.')
    .replace(decimals, (_, whole: string, places: string) => withoutFinalZeros(whole, places))
    .replace(dates, `$1${day}$2${day}$3`)
    .replace(clock, ' $1m')
    .replace(leadingPlus, '')
    .replace(minus, standIn('-'))
    .replace(percent, standIn('%'))
    .replace(betweenDigits, standIn)
    .replace(factorial, standIn)
}

function withoutFinalZeros(whole: string, places: string): string {
  let end = places.length
  while (places[end - 1] === '0') end--
  return end === 0 ? whole : `${whole}${standIn('.')}${places.slice(0, end)}`
}

/** The forms in which a target counts: an answer may leave out the sign of a percentage. */
function formsOf(target: string): readonly string[] {
  const form = exactSearchNormal(target)
  const bare = form.replaceAll(standIn('%'), '')
  return [form, bare].filter((text, at, all) => text !== '' && all.indexOf(text) === at)
}

const questions = /^\s*(?:who|what|when|where|which|why|how|is|are|do|does|did|can|could|will|would|dude)\b/i

/** Whether the answer asks, unless a target is itself a question. */
const asks = (answer: string, targets: readonly string[]): boolean =>
  /[?？]/.test(answer) && !targets.some((target) => /[?？]/.test(target) || questions.test(target))

/** Whether the answer is one of the targets and nothing else, apart from articles and idle punctuation. */
export function isSearchTarget(whole: string, targets: readonly string[]): boolean {
  const answer = undecorated(whole)
  const given = exactSearchNormal(answer)
  return given !== '' && !asks(answer, targets) && targets.some((target) => formsOf(target).includes(given))
}

/** Words that add nothing to an answer: announcements, copulas, prepositions, titles, kinds of places, units. */
const idle = new Set(
  `is are was were be been it its it's he she they this that these those there here answer final correct right so thus
  hence therefore my him her his them i we think believe say of in on at by to from for with as named called known located situated
  found born released written directed published produced founded built invented discovered painted composed won would
  will has have had who which exactly just simply only about approximately around roughly circa sure certainly definitely clearly indeed ok okay
  mr mrs ms miss dr sir lord lady saint st king queen prince princess president senator general captain professor pope
  emperor chancellor minister prime mount mt lake river sea ocean island city town village province state
  country kingdom film movie novel book song album band
  year years month months week weeks day days hour hours minute minutes second seconds km kilometers kilometres
  kilometer kilometre m meters metres miles mile feet foot inches people persons inhabitants residents times units unit
  degrees dollars dollar usd euros pounds kg kilograms goals points votes episodes seasons members ad ce
  是 为 在 位 于 就 的 了 市 省 县 国 城 州 答 案 它 他 她 年 月 日 人 个 です は`.split(/\s+/),
)
const denyingNo = new Set([
  'not',
  'isnt',
  'arent',
  'wasnt',
  'werent',
  'doesnt',
  'dont',
  'didnt',
  'cannot',
  'cant',
  'does',
  'do',
  'did',
])
const affirming = new Set(['does', 'do', 'did', 'can'])

/** A longer answer is no answer. The bound also limits the patterns' cost. */
const longestAnswer = 500
const copula = /^(?:is|are|was|were|in|on|at|by|called|named|be|ist|war|von|est|par|es|fue|por|è|：|是|为)$/
const claims = /(?<![\p{L}])(?:is|are|was|were)(?![\p{L}])/u
const pointsInWords = /[.,](?=[0-9])|(?<![\p{L}])(?:\p{Lu}|Mr|Mrs|Ms|Dr|St|Jr|Sr)\./gu
const subject =
  /^(?:the|a|an|la|le|el|il|der|die|das|los|les|su|sa|it|you(?=\s+(?:can|will)\b)|its|this|that|he|she|they|his|her|their|my|in)(?![\p{L}\p{N}'’])/iu

/** The source that an answer names first: `According to the search results, the answer is Paris`. */
const citing =
  /^\s*(?:according\s+to|based\s+on|from|per)\s+(?:(?:the|my|these|all|this)\s+)?(?:(?:search|given|provided|retrieved|above|available|second|first|third|last)\s+){0,2}(?:results?|documents?|information|context|passages?|sources?|search(?:es)?|evidence|articles?|pages?|text|wikipedia),?\s+(?=\S)/i

/** Words that only say that an answer is sure: `Without any doubt Neil Armstrong`. */
const assured =
  /^\s*(?:(?:it|that)\s+(?:is|was)\s+)?(?:none\s+other\s+than|(?:with)?out\s+(?:any\s+|a\s+)?doubt,?(?:\s+it\s+(?:is|was))?|undoubtedly,?|beyond\s+(?:any\s+)?doubt,?)\s+/i
/** What a model offers behind an answer: `Want some tips?` */
const offering =
  /([.!?])(?:\s|\p{Extended_Pictographic}|\ufe0f)+(?:Want|Would\s+you\s+like|Do\s+you\s+(?:want|need)|Shall\s+I|Need|Let\s+me\s+know|Feel\s+free|Anything\s+else|(?:I\s+)?[Hh]ope\s+(?:this|that)\s+helps)\b[^.!?]{0,120}[.!?]?\s*$/u
const foreignDenial =
  /(?<![\p{L}])(?:non|não|nicht|kein\p{L}*|ne|pas|jamais|nunca|nie|niemals|не|нет)(?![\p{L}])/iu

/** An answer without the source that it names at its end: `..., as the second page says`, `(see document 2)`. */
function withoutSource(answer: string): string {
  const found =
    /,\s+(?:as\s+(?:(?:is\s+)?(?:stated|mentioned|noted|shown|seen|written)|(?:the|this|that|document|page|source)\b)|according\s+to\b|per\s)[^,;!?]{0,80}$|\s\((?:see|source|document|doc|according\s+to)\b[^()]{0,60}\)\.?\s*$/i.exec(
      answer,
    )
  return found && !isHedged(found[0]) ? answer.slice(0, found.index) : answer
}

/**
 * Whether an answer commits to one of the targets: alone, with words that add nothing or that the question has, or as
 * the object of a sentence ("The capital of France is Paris."). Other words might be other answers.
 */
export function commitsToTarget(whole: string, targets: readonly string[], question: string): boolean {
  const answer = undecorated(whole).replace(citing, '').replace(assured, '').replace(offering, '$1')
  if (swapsRoles(answer, targets, question)) return false
  if (statesTarget(answer, targets, question)) return true
  if (answer.length > longestAnswer) return false
  const asked = new Set(tokensOf(exactSearchNormal(question)).map(stemOf))
  const isAsked = (word: string): boolean =>
    tokensOf(exactSearchNormal(word)).every((one) => asked.has(stemOf(one)))
  const last = lastClause(answer)
  if (last !== null && statesTarget(last, targets, question)) return true
  return targets.slice(0, mostShortened).some((target) => {
    const shorter = withoutDetails(answer, target, isAsked)
    return shorter !== null && statesTarget(shorter, targets, question)
  })
}

const turned = /(?:,\s+but\s+|;\s+|\s+but\s+)(?:actually\s+|rather\s+|in\s+fact\s+)?/i
const deniesOthers =
  /\b(?:not|never)\b|n['’]t\b|\b(?:many|some|most|often)\b[^,;]{0,40}\b(?:think|believe|say|assume|guess)\b/i

/** What follows a clause that denies another answer: `It is not Toronto but Ottawa.` null: no such clause. */
function lastClause(answer: string): string | null {
  const found = turned.exec(answer)
  if (found === null || !deniesOthers.test(answer.slice(0, found.index))) return null
  const last = answer.slice(found.index + found[0].length)
  return turned.test(last) ? null : last.replace(/\b(?:actually|really)\s+/gi, '')
}

/** Answers are shortened for so many names of a target. */
const mostShortened = 16

function statesTarget(answer: string, targets: readonly string[], question: string): boolean {
  const normal = exactSearchNormal(answer)
  const allForms = targets.flatMap(formsOf)
  if (normal === '' || asks(answer, targets)) return false
  if (allForms.includes(normal)) return true
  if (answer.length > longestAnswer || /[\n;|[\]{}]|\s[-–—]\s/.test(answer)) return false
  const plain = withoutSource(answer)
  const given = plain === answer ? tokensOf(normal) : tokensOf(exactSearchNormal(plain))
  const { rest, first, last } = without(given, byLength(allForms.map(tokensOf)))
  if (first === null) return false
  const unknown = rest.filter(({ word }) => !idle.has(word))
  const isKnown = unknown.length > 0 ? knownWords(targets, question, given[first] === 'no') : null
  const adds = unknown.filter(({ word, at }) => !isKnown?.(word, at > first))
  if (adds.length === 0) return !/[,/]\s*[,/]/.test(answer)
  const sentence = given.slice(0, Math.max(first - 1, 0)).join(' ')
  return (
    last === given.length &&
    (subject.test(trimSpace(plain)) || startsAsAsked(normal, question)) &&
    copula.test(given[first - 1] ?? '') &&
    !isHedged(sentence) &&
    !isDeniedIn(answer) &&
    !/[,:;.!](?=\s*\S)/.test(withoutTargets(plain, targets).replace(pointsInWords, '')) &&
    !(
      claims.test(sentence) &&
      !/(?<![\p{L}])(?:who|which|that)(?![\p{L}])/u.test(sentence) &&
      !isPassive(sentence, given[first - 1] ?? '')
    ) &&
    !/(?<![\p{L}])(?:or|and|nor)(?![\p{L}])/iu.test(sentence)
  )
}

/** Whether a sentence says by whom something was made: `the novella was written by`. */
const isPassive = (sentence: string, before: string): boolean => {
  const [, verb = ''] = /(?<!\p{L})(?:is|are|was|were)\s(\p{L}+)$/u.exec(sentence) ?? []
  return before === 'by' && verb !== '' && idle.has(verb)
}

/** Whether an answer begins with a word of the question that is no word of every sentence: `Bulgaria lies on`. */
function startsAsAsked(normal: string, question: string): boolean {
  const [first = ''] = tokensOf(normal)
  return (
    first.length > 2 &&
    !isHedged(first) &&
    tokensOf(exactSearchNormal(question)).some((word) => stemOf(word) === stemOf(first))
  )
}

/** Targets may contain commas of their own: `July 20, 1969`. */
const withoutTargets = (text: string, targets: readonly string[]): string =>
  targets.reduce((rest, target) => (target === '' ? rest : rest.replaceAll(target, ' ')), text)

const byLength = (forms: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  forms.length < 2 ? forms : [...forms].sort((a, b) => b.length - a.length)

/** The question itself, without a passage before it, whose words name other answers, too. */
const askedIn = (question: string): string =>
  /(?:^|\n)\W*(?:question|q|frage|pregunta|domanda|pergunta|вопрос|问题|質問)\s*[:：]([^\n]*\S[\s\S]*)$/iu.exec(
    question,
  )?.[1] ?? question

/** Which words besides the idle ones may stand beside the target: those of the question, and those around yes or no. */
function knownWords(targets: readonly string[], question: string, isNo: boolean) {
  const isAffirmed = targets.some((target) => /^(?:yes|no)$/i.test(target.trim()))
  const offersChoice = /(?<![\p{L}])or(?![\p{L}])/iu.test(question)
  const asked = new Set(offersChoice ? [] : tokensOf(exactSearchNormal(askedIn(question))).map(stemOf))
  return (word: string, isBehind: boolean): boolean =>
    (asked.has(stemOf(word)) && !isHedged(word)) ||
    (isAffirmed && (affirming.has(word) || (isNo && isBehind && denyingNo.has(word))))
}

const isDeniedIn = (answer: string): boolean =>
  foreignDenial.test(answer) || isHedged(answer) || /[~!<>]/.test(answer)

const tokensOf = (normal: string): string[] => normal.match(token) ?? []

interface Found {
  /** The words besides the targets. */
  readonly rest: readonly { readonly word: string; readonly at: number }[]
  /** Where the first target begins and the last one ends, in words; null and 0 without any. */
  readonly first: number | null
  readonly last: number
}

function without(given: readonly string[], forms: readonly (readonly string[])[]): Found {
  const rest: { word: string; at: number }[] = []
  let first: number | null = null
  let last = 0
  for (let at = 0; at < given.length; ) {
    const form = forms.find((words) => words.every((word, i) => given[at + i] === word))
    if (form) {
      first ??= at
      at += form.length
      last = at
    } else {
      rest.push({ word: given[at] ?? '', at })
      at++
    }
  }
  return { rest, first, last }
}

/** The targets of a search row, `{ target: text or texts }`. Throws if there are none. */
export function searchTargets(truth: unknown): readonly string[] {
  const target = typeof truth === 'object' && truth !== null && 'target' in truth ? truth.target : undefined
  const targets: readonly unknown[] = Array.isArray(target) ? target : [target]
  if (targets.every((text) => typeof text === 'string')) return targets
  throw new TypeError('the ground truth has no texts in target')
}
