import { withoutBrackets, withoutHypotheses } from '../answer/asides.ts'
import { leadsOn, objectionAround } from '../answer/final-answer.ts'
import { isDisowned, leadIn, leadWithin } from '../answer/lead-in.ts'
import { legible } from '../answer/legible.ts'
import { firstTurn, withoutComments } from '../answer/shown.ts'
import { unmarkedNumber } from '../answer/unmarked-number.ts'
import { boxContent, lastBox } from '../latex.ts'
import { afterThink, isNested } from '../tags.ts'
import {
  agree,
  differ,
  hasRivalBefore,
  isPartOfFormula,
  isReplaced,
  isSpoiled,
  marked,
  namesAnother,
} from './around.ts'
import { type BoxedAnswer, lastBoxes } from './boxes.ts'
import { countedAtEnd } from './counted.ts'
import { lastExpression } from './last-expression.ts'
import { asList, isTakenBackIn, withoutNotes, withoutRemarksAtEnd } from './notes.ts'
import { readAnswer } from './read-answer.ts'
import { withoutIdleRemarks, withoutRemarks } from './remarks.ts'
import { isSupposed, isUndermined } from './undermined.ts'

/** The answer that a response commits to. */
export interface Statement {
  /** The original text, for comparing answers in words. */
  readonly words: string
  /** The expression in it, or null. */
  readonly expression: string | null
}

const phrases =
  /(?:final\s+answer|(?<![\p{L}])answer|correct\s+(?:option|choice))(?:\s*\*{0,2}\s*(?:is\b(?!\s+(?:indeed\s+)?(?:correct|right|confirmed|verified|reasonable|consistent)\b)|would\s+be\b|must\s+be\b|[:：=])|(?=\s*\*\*))|答案(?:是|为|[:：])|(?:respuesta|réponse|risposta|resposta)\s+(?:es|est|è|é)(?![\p{L}])|<answer>|#{4,}/giu
const longestResponse = 20_000
const endOfAny = String.raw`\.\s+(?=[\p{Lu}*<])|\.?\s*I hope it is correct|<\/answer>|<\||`
const endOfSentence = new RegExp(String.raw`${endOfAny}(?<!\.)[.!?]\s*$`, 'u')
/** Without the exclamation mark, which is a factorial there. */
const endOfLabelled = new RegExp(String.raw`${endOfAny}(?<!\.)[.?]\s*$`, 'u')
const percent = /^\s*\$?\s*(?:\\?%|percent\b|pct\b)/

const degrees = /^\s*\^\s*(?:\\circ|\{\s*\\circ\s*\})/

/** A block of code in a programming language, also one that is cut off. What it prints is no answer. */
const program =
  /^[ \t]*```[ \t]*(?:python\d?|py|sympy|sage|javascript|js|typescript|ts|java|c|c\+\+|cpp|csharp|c#|go|rust|ruby|r|julia|matlab|haskell|bash|sh|shell|sql|php|lean\d?|wolfram|mathematica)[ \t]*\r?\n/gim

/** A text without its programs. Linear. */
function withoutPrograms(text: string): string {
  if (!text.includes('```')) return text
  let kept = ''
  let at = 0
  for (const { index, 0: opening } of text.matchAll(program)) {
    if (index < at) continue
    const close = text.indexOf('```', index + opening.length)
    kept += `${text.slice(at, index)}\n`
    at = close < 0 ? text.length : close + 3
  }
  return at === 0 ? text : kept + text.slice(at)
}

/** Why a response commits to no answer. */
export interface Unstated {
  readonly reason: string
}

const anyExpression = {
  isVerbatim: true,
  read: (text: string) => ({ answer: text, rest: '' }),
  same: () => true,
}

/** A statement, and what of the text belongs to it. `rest` follows it in its line. */
interface Placed {
  readonly statement: Statement
  readonly start: number
  readonly end: number
  readonly rest: string
  readonly isBox: boolean
}

/**
 * The final answer of a response: the later of a boxed and an announced answer, or else its last expression.
 * Words around it that deny, doubt or withdraw it leave no answer. `boxOnly`: only boxes state an answer.
 */
export function finalStatement(response: string, boxOnly = false, question = ''): Statement | Unstated {
  const answered = afterThink(response)
  if (answered === null) return { reason: 'thinking_unclosed' }
  if (isDisowned(response) || isDisowned(answered)) return { reason: 'denied' }
  // An answer within an answer is ambiguous.
  if (isNested(answered, '<answer>', '</answer>') && answered.includes('<answer>'))
    return { reason: 'contradiction' }
  const text = withoutPrograms(firstTurn(withoutComments(answered)))
  const placed = boxOnly ? inOnlyBoxes(text) : placedIn(text)
  if (placed === null)
    return (boxOnly ? null : unmarked(text, question)) ?? { reason: boxOnly ? 'no_box' : 'no_answer' }
  const { statement, start, end, rest, isBox } = placed
  // The sign of prohibition over its last character.
  if (text.slice(start, end + 4).includes('\u20e0')) return { reason: 'denied' }
  const place = {
    kind: isBox ? ('boxed' as const) : ('phrase' as const),
    start,
    end,
    from: isBox ? start : Math.min(end, start + announcedLength(text, start)),
    isClosed: isBox,
    text: statement.words,
  }
  const answer = statement.expression ?? statement.words
  const following = text.length - end > 2 * longestResponse ? ends(text.slice(end)) : text.slice(end)
  const told = isBox
    ? withoutIdleRemarks(`0${following.slice(0, 300)}`).slice(1) + following.slice(300)
    : following
  const { text: after, another } = marked(answer, told, isBox && isInFormula(text, start))
  const objection = objectionAround(
    text.slice(0, end) + after,
    place,
    { answer: '', rest: rest === '' ? '' : marked(answer, rest.replace(/^\s*<\/answer>/, '\n'), false).text },
    { ...anyExpression, another },
  )
  // What stands before an answer may be another item of a list.
  if (objection !== null && (objection !== 'several_answers' || namesAnother({ text: after, another })))
    return { reason: objection }
  if (isUndermined(isBox ? following : rest + following)) return { reason: 'conditional' }
  if (
    isSupposed(
      isBox ? text.slice(Math.max(0, start - 200), start) : text.slice(Math.max(0, start - 200), place.from),
    )
  )
    return { reason: 'conditional' }
  if (hasRivalBefore(answer, text.slice(Math.max(0, start - 400), start)))
    return { reason: 'several_answers' }
  if ((isBox && isPartOfFormula(text, start, end)) || isSpoiled(answer) || isSpoiled(statement.words))
    return { reason: 'extended' }
  const own = isBox ? '' : text.slice(Math.max(0, start - 200, text.lastIndexOf('\n', start) + 1), start)
  if (/\d|\\/.test(own) && differ(answer, own.replace(/^(?:[\s>*-]|\d{1,2}[.)]\s)+/, '')))
    return { reason: 'several_answers' }
  const [beside = ''] = isBox
    ? []
    : text
        .slice(Math.max(start, end - 500), end + 60)
        .split('</answer>')
        .slice(1)
  const [glued = ''] = beside.split('\n', 1)
  if (glued !== '' && differ(answer, glued)) return { reason: 'several_answers' }
  if (isReplaced(answer, isBox ? text.slice(end) : rest + text.slice(end))) return { reason: 'withdrawn' }
  if (isBox && besides(text, start, end).some((other) => differ(answer, other)))
    return { reason: 'several_answers' }
  if (isContradicted(text, start, isBox, answer)) return { reason: 'contradiction' }
  // A rule that reads only boxes still knows what else announces an answer.
  const later = boxOnly ? announcedAfter(text, end) : null
  return later !== null && differ(answer, later) ? { reason: 'contradiction' } : statement
}

/** The ends of a very long text. */
const ends = (text: string): string => `${text.slice(0, longestResponse)}\n${text.slice(-longestResponse)}`

/** Whether a dollar sign before a place is not closed yet. Constant time. */
function isInFormula(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 1000), start)
  const paragraph = before.slice(before.lastIndexOf('\n\n') + 1)
  return ((paragraph.match(/(?<!\\)\$+/g)?.length ?? 0) & 1) === 1
}

const number = String.raw`[-−]?\$?\d[\d.,/]*\$?`
const numberBefore = new RegExp(String.raw`(?:^|[\n:：>"])[\s*_]*(${number})[ \t]*\$?$`)
const numberAfter = new RegExp(String.raw`^[\s$*_)\]}]*(${number})[\s.*_]*(?:\n|$)`)

/** A number alone in the line of a box, before or after it. */
function besides(text: string, start: number, end: number): string[] {
  const [before, after] = [text.slice(Math.max(0, start - 60), start), text.slice(end, end + 60)]
  const found = [numberBefore.exec(before)?.[1], numberAfter.exec(after.split('\n', 1)[0] ?? '')?.[1]]
  return found.filter((other) => other !== undefined && !/\.$/.test(other)).map((other) => `${other}`)
}

const announcing =
  /\b(?:the|correct|answer|answers|is|or|and|also|either|option|my|our|result|it|in|we|get|have|could|be)\b|[^\p{L}]/giu

/**
 * Whether another answer is stated right before, and no word leads from it to this one. Of boxes without even a blank
 * between them the last counts.
 */
function isContradicted(text: string, start: number, isBox: boolean, answer: string): boolean {
  const near = text
    .slice(Math.max(0, start - 600), start)
    .replace(/[\s,.]{0,9}\b(?:or|and)(?:\s+(?:the|so|my|final|correct|it\s+is)){0,4}\s*$/i, ' ')
  const box = lastBoxes(near)
  const phrase = Array.from(near.matchAll(phrases)).at(-1)
  const isPhrase = phrase !== undefined && phrase.index >= (box?.end ?? 0)
  if (isPhrase && leadIn(near.slice(0, phrase.index), phrase[0]) === 'denied') return false
  const from = isPhrase ? phrase.index + phrase[0].length : 0
  const found = isPhrase ? announcedIn(near.slice(from), true) : null
  const [earlier, end] = isPhrase
    ? [found?.statement.expression ?? null, from + (found?.length ?? 0)]
    : [box?.contents.join(', ') ?? null, box?.end ?? 0]
  if (!isPhrase && isBox && end === near.length) return false
  const between = `${found?.rest ?? ''}${near.slice(end)}`
  // A label between two boxes corrects nothing.
  const words = between.match(/\p{L}+/gu) ?? []
  const isCut =
    /^\W*(?:(?:hmm+|well|maybe|perhaps)\W+)?(?:or|alternatively)\b/i.test(between) ||
    (words.length <= 2 && !leadsOn.test(between))
  if (earlier === null || (between.replace(announcing, '') !== '' && (isPhrase || !isCut))) return false
  return differ(earlier, answer)
}

/** The expression that the last announcement after a box consists of. null: none, or it has other words. */
function announcedAfter(text: string, end: number): string | null {
  const phrase = Array.from(text.slice(end).slice(-longestResponse).matchAll(phrases)).at(-1)
  if (phrase === undefined) return null
  const from = Math.max(end, text.length - longestResponse) + phrase.index + phrase[0].length
  const found = announcedIn(text.slice(from, from + 400), true)
  return found === null ? null : wholeExpression(found.statement.words)
}

/** Rules that want a box take no other frame, and a box of one token without braces: `\\boxed 5`. */
function inOnlyBoxes(text: string): Placed | null {
  const boxed = lastBoxes(text)
  if (boxed !== null) return text.startsWith('\\fbox', boxed.start) ? null : inBoxes(text, boxed)
  const box = text.includes('\\boxed ') ? lastBox(text) : null
  const content = box === null ? null : boxContent(box)
  if (box === null || content === null) return null
  const start = text.lastIndexOf('\\boxed ')
  const statement = { words: content, expression: content }
  return { statement, start, end: start + box.length, rest: '', isBox: true }
}

/** The length of the words that announce an answer. */
const announcedLength = (text: string, start: number): number =>
  text.slice(start, start + 200).search(/(?<=\b(?:is|be)\b|[:：=])/u) >>> 0

/** The answer that a text marks as such. null: it marks none, or marks an empty one. */
export const statementOf = (text: string): Statement | null => placedIn(text)?.statement ?? null

function placedIn(text: string): Placed | null {
  const boxed = lastBoxes(text)
  const tail = text.length > longestResponse ? text.slice(-longestResponse) : text
  const phrase = Array.from(tail.matchAll(phrases)).at(-1)
  const offset = text.length - tail.length
  if (phrase !== undefined) {
    const from = offset + phrase.index + phrase[0].length
    if (boxed === null || from > boxed.end) {
      const start = offset + phrase.index
      const found = announcedIn(text.slice(from, from + 2000), /[:：=#]\s*$/.test(phrase[0]))
      if (found) return { ...found, start, end: from + found.length, isBox: false }
      if (boxed === null)
        return { statement: { words: '', expression: null }, start, end: from, rest: '', isBox: false }
    }
  }
  return inBoxes(text, boxed)
}

function inBoxes(text: string, boxed: BoxedAnswer | null): Placed | null {
  if (boxed === null) return null
  const words = boxed.contents.join(', ')
  const isPercent = percent.test(text.slice(boxed.end, boxed.end + 20)) && !/%|percent/.test(words)
  const isDegrees = degrees.test(text.slice(boxed.end, boxed.end + 20)) && !/circ|degree|°/.test(words)
  const expression = isPercent ? `${words}%` : isDegrees ? `${words}^\\circ` : words
  const statement = { words: isDegrees ? expression : words, expression }
  return { statement, start: boxed.start, end: boxed.end, rest: '', isBox: true }
}

/** The announced sentence, its length with what leads to it, and the rest of its line. */
function announcedIn(
  rest: string,
  isLabel: boolean,
): { readonly statement: Statement; readonly length: number; readonly rest: string } | null {
  // A label may be the text of a formula: `\text{Answer: } 42`.
  const lead = /^[\s:：*=]*(?:\}[\s:=]*)?/.exec(rest)?.[0].length ?? 0
  const isInText = rest.slice(0, lead).includes('}')
  const [line = ''] = rest.slice(lead).split(isInText ? /(?<!\\)\$|\\[\])]|\n/ : /\n\s*\n|\n(?=[A-Z])/, 1)
  // After a label the whole line is the answer: an exclamation mark is a factorial.
  const end = line.search(isLabel ? endOfLabelled : endOfSentence) >>> 0
  const sentence = withoutRestatement(withoutRemarks(line.slice(0, end).replace(/\*\*/g, '').trim()))
  if (sentence === '') return null
  // Words alone may be a number: forty-two.
  const expression =
    wholeExpression(sentence) ??
    (isProseOnly(sentence) ? lastExpression(sentence, true) : null) ??
    sentence.slice(0, 200)
  const isWeak =
    expression !== sentence && (leadWithin(leadOf(sentence)) !== null || isForeign(leadOf(sentence)))
  const statement = { words: sentence, expression: isWeak ? null : expression }
  return { statement, length: lead + line.length, rest: line.slice(end) }
}

const restated =
  /^([^()]{0,100}?\d[^()]{0,100}?)(?:\s\((?:or\s|i\.?e\.?,?\s|that\sis,?\s)?([^()]{1,100})\)|,?\s(?:or|i\.?e\.?,?|that\sis,?)\s([^()]{1,100}))$/i

/** An answer without the same value in another spelling behind it: `0.75 (75 %)`. */
function withoutRestatement(sentence: string): string {
  const [, answer = '', bracketed, other = bracketed ?? ''] = restated.exec(sentence) ?? []
  return answer !== '' && agree(answer, other) ? answer : sentence
}

/** Whether LaTeX stands between its signs only. Outside of them it is a part of an answer that cannot be read. */
const isProseOnly = (sentence: string): boolean =>
  !sentence
    .replace(/\$[^$]*\$|\\\([^)]*\\\)|\\\[[^\]]*\\\]|\\begin\{([a-z]+)\}[\s\S]*?\\end\{\1\}/g, ' ')
    .replace(/\\[$%#&_,;:! ]/g, ' ')
    .includes('\\')

/** Words that may stand alone between "is" and an expression. Any other one may deny it, in whatever language. */
const leading = new Set(
  `the a an at in to of be that equal equals number value option choice just now also only still then thus hence therefore
  indeed exact found given always again zero positive negative minus usd eur rs approx about around over under donc ainsi
  quindi dunque entonces pues portanto also somit daher genau x y n is are both`.split(/\s+/),
)
const isForeign = (lead: string): boolean =>
  /^\s*\p{Ll}{2,}\s*$/u.test(lead) && !/ly\s*$/.test(lead) && !leading.has(lead.trim())

/** The words of a sentence before its first expression. */
const leadOf = (sentence: string): string => /^[^\d$\\]*/.exec(sentence)?.[0] ?? ''

/** For a response without marks: the whole text if it is an expression, or else the last expression in it. */
function unmarked(text: string, question: string): Statement | null {
  const trimmed = legible(text.trim())
  if (trimmed === '') return null
  const keyed = inObject(trimmed)
  if (keyed !== null) return keyed
  const words = trimmed.length <= 400 ? asList(trimmed) : ''
  const whole = words === '' ? null : wholeExpression(words)
  if (whole !== null && (whole.includes('\\') || !/[a-z]{3}/i.test(whole)))
    return { words, expression: whole }
  const relation = whole === null ? lastRelation(trimmed) : null
  if (relation !== null) return { words, expression: relation }
  const { body, notes } = withoutNotes(
    withoutHypotheses(withoutBrackets(trimmed.slice(-longestResponse)), question).trimEnd(),
  )
  const last = whole ?? countedAtEnd(body, question) ?? lastExpression(withoutRemarksAtEnd(body))
  if (last !== null && notes !== '' && isTakenBackIn(notes, last)) return null
  if (notes !== '' && last !== null) return { words, expression: last }
  return { words, expression: (inProse(withoutRemarksAtEnd(body), last, question) ?? last) || null }
}

const relationAtEnd =
  /(?<=^|[\s:])(?:-?\d{1,20}(?:\.\d{1,20})?\s?[<>≤≥]=?\s?)?[a-zA-Z]\s?[<>≤≥]=?\s?-?\d{1,20}(?:[./]\d{1,20})?(?=[\s.*]{0,4}$)/

/** The inequality in plain signs that the last line ends with: `Divide by 2: x < 4.` */
function lastRelation(text: string): string | null {
  const line = text.slice(text.lastIndexOf('\n') + 1).slice(-400)
  const found = relationAtEnd.exec(line)
  if (found === null) return null
  const before = line.slice(0, found.index)
  // One of several, or a part of a longer one.
  if (/(?:\b(?:or|and|if|for|when|unless|where|from)|[<>≤≥=|&,;∨∧]|\d(?=[\s*·]*$))\s*[*·]?\s*$/i.test(before))
    return null
  return leadIn(before) === null && leadWithin(before.slice(before.search(/[^.!?]*$/))) === null
    ? found[0]
    : null
}

const object = /\{\s*"(?:final_?)?answer"\s*:\s*(?:("(?:[^"\\]|\\.){0,1000}")|(-?\d[\d.]{0,40}))\s*\}[\s`]*$/i

/** The answer of an object in JSON at the end of a text, read whole. null: there is none. */
function inObject(text: string): Statement | null {
  const tail = text.slice(-1200)
  const found = object.exec(tail)
  if (found === null) return null
  const words = found[2] ?? unquoted(found[1] ?? '')
  if (words === null) return null
  const isSecond = /"(?:final_?)?answer"\s*:/i.test(tail.slice(0, found.index))
  const sentence = announcedIn(words, true)?.statement
  const isPart = sentence === undefined || sentence.words.length < words.trim().replace(/[.*\s]+$/, '').length
  return { words, expression: isSecond || isPart || isSpoiled(words) ? null : sentence.expression }
}

function unquoted(text: string): string | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The number that the last sentence states, where it is prose without formulas, and not its last number. */
function inProse(text: string, last: string | null, question: string): string | null {
  const line = text.slice(text.lastIndexOf('\n') + 1)
  if (/\\(?!\$)|\$(?!\d)/.test(line) || (last !== null && !isNumeral(last) && isFormal.test(last)))
    return null
  if (!/\p{L}{3}/u.test(line)) return null
  const found = unmarkedNumber(text, question)
  if (!('answer' in found))
    return /^(?:denied|doubted|conditional|inequality)$/.test(found.reason) ? '' : null
  if (last === null && /\d/.test(line) && !isWritten.test(line)) return null
  return `${found.answer.written}${found.answer.isPercent ? '%' : ''}`
}

/** Signs and names that no number has. */
const isFormal =
  /[\\^_√∛π∞∅±∓²³¹⁰⁴-⁹₀-₉°∪∩∈≤≥<>≈·×|()[\]]|(?<![\d\s\p{L}])[a-z](?!\p{L})|(?<!\p{L})[a-z]\s?[-+=*/]|\d[a-z](?![a-z])/iu

/** A number that `lastExpression` does not read: shouted, in bold, or with a word of its size or sign. */
const isWritten = /\d!\s*$|\*\*|\b(?:thousand|million|billion|trillion|minus|negative)\b/i

const isNumeral = (text: string): boolean => /^-?\d[\d.,]*%?$/.test(text)

const wholeExpression = (text: string): string | null => (readAnswer(text) === null ? null : text)
