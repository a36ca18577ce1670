import { countCodePoints, trimSpace } from '../characters.ts'
import { answeredText } from '../tags.ts'
import { withoutWork } from './calculation.ts'
import { followUp } from './follow-up.ts'
import { hasForeignWords } from './known-words.ts'
import {
  disownsNext,
  isDisowned,
  isUnable,
  leadIn,
  leadingClause,
  leadingSentence,
  leadWithin,
} from './lead-in.ts'
import { legible } from './legible.ts'
import { type Place, type PlaceKind, placesOf } from './places.ts'
import { isDoubtful, isReported } from './remarks.ts'
import { firstTurn, isHidden, withoutComments } from './shown.ts'
import { isWithdrawn } from './withdrawal.ts'
import { type Another, isMocked, type Objection } from './wording.ts'

/** What a kind of answer reads at the start of an answer's text, and the text after it. */
export type Reading<V> = { readonly answer: V; readonly rest: string } | { readonly reason: string }

/** A kind of answer: a number, the letter of a choice, a text. */
export interface AnswerKind<V> {
  /** What was asked: the words around a mark are its words, or words that state a result. Absent: any. */
  readonly question?: string
  /** What was asked, for a place where other words may stand, too. */
  readonly prompt?: string
  /** The text is read as it was sent, without one form for each digit and sign. */
  readonly isVerbatim?: boolean
  /** Whether a number beside an answer is none of this kind. */
  readonly isNoNumber?: boolean
  /** Reads one answer, whole. `isClosed`: nothing but the answer may stand there. */
  read(text: string, isClosed: boolean): Reading<V>
  same(a: V, b: V): boolean
  /** The text behind an answer without remarks that are about other things, or that give it in another form. */
  ownRest?(rest: string, answer: V, question: string): string
  /** Whether the text behind an answer of this kind takes it back, in words that may explain one of another kind. */
  isTakenBack?(later: string): boolean
  /** False for a mark that does not announce an answer of this kind. */
  isPlace?(place: Place): boolean
  /** Whether a text starts with the same answer again, or with another one of this kind. */
  another(text: string, answer: V): 'same' | 'other' | null
}

/** Where a response may state its answer, after its thinking. `whole` is the whole text. */
export const answerPlaces = ['whole', 'tag', 'boxed', 'hashes', 'last_line'] as const
export type AnswerPlace = (typeof answerPlaces)[number] | 'phrase'

/** The one answer that a response commits to, or why there is none. */
export type FinalAnswer<V> =
  | {
      readonly answer: V
      /** null: an unmarked answer. */
      readonly kind: PlaceKind | null
      /** Code points from the answer's mark to the end of the response. */
      readonly tail: number
    }
  | { readonly reason: string; readonly kind?: PlaceKind }

/**
 * The one answer that a response commits to after its thinking. It is read whole: what precedes and follows
 * it counts.
 *
 * | in the response | read as |
 * | --- | --- |
 * | `#### 42`, `\boxed{42}`, `<answer>42</answer>`, `The answer is 42.` | the last of these places, if `allowed` has it |
 * | `**42**`, `$42$`, `\text{42}`, `42 apples`, `x = 42` | 42: dress and units do not change an answer |
 * | `42 or 43`, `42, 43`, `42-50`, `42/43` | several answers: none |
 * | `not 42`, `42 is wrong`, `anything but 42` | denied: none |
 * | `maybe 42`, `42?` | doubted: none |
 * | `if the answer is 42`, `42 unless ...` | conditional: none |
 * | `42 million`, `42!`, `42^2`, `\phantom{42}`, `\sqrt{42}` | extended: another answer, or none |
 * | `< 42`, `at least 42` | an inequality: none |
 * | `41 = 42`, `x + 2 = 44` | a false equation or a restated question: none |
 * | `#### 41`, then `#### 42` without a word between | a contradiction: none |
 * | `\boxed{41} Wait, I forgot one. \boxed{42}` | 42: the last place counts if words lead to it |
 * | `42. No, that is wrong.` | withdrawn: none |
 */
export function finalAnswer<V>(
  response: string,
  kind: AnswerKind<V>,
  allowed: readonly AnswerPlace[],
  unmarked?: (text: string) => FinalAnswer<V>,
): FinalAnswer<V> {
  const answered = answeredText(response)
  if (answered === null) return { reason: 'thinking_unclosed' }
  if (isDisowned(response) || (answered !== response && isDisowned(answered))) return { reason: 'denied' }
  const shown = allowed.includes('whole') ? answered : firstTurn(withoutComments(answered))
  const text = kind.isVerbatim ? shown : legible(shown)
  const whole = allowed.includes('whole')
    ? wholePlace(text)
    : allowed.includes('last_line')
      ? lastLine(text)
      : null
  if (whole !== null) {
    const found = committed(text, whole, kind)
    return 'reason' in found
      ? found
      : { answer: found.answer, kind: null, tail: countCodePoints(text.slice(whole.start)) }
  }
  // For any text, a line after #### is a heading if anything follows it.
  const isHeading = (place: Place) =>
    kind.isVerbatim &&
    place.kind === 'hashes' &&
    !allowed.includes('hashes') &&
    text.slice(place.end, place.end + 200).trim() !== ''
  const places = placesOf(text).filter((place) => !isHeading(place) && (kind.isPlace?.(place) ?? true))
  const last = places.findLastIndex((place) => allowed.includes(place.kind))
  if (last < 0) return unmarked?.(text) ?? { reason: 'no_answer' }
  const place = places[last] as Place
  const found = committed(text, place, kind)
  if ('reason' in found) return { reason: found.reason, kind: place.kind }
  const objection = contradiction(text, places, last, found.answer, kind)
  if (objection !== null) return { reason: objection, kind: place.kind }
  return { answer: found.answer, kind: place.kind, tail: countCodePoints(text.slice(place.start)) }
}

const wholePlace = (text: string): Place => ({
  kind: 'tag',
  start: 0,
  end: text.length,
  from: 0,
  isClosed: true,
  text: trimSpace(text),
})

function lastLine(text: string): Place {
  const trimmed = trimSpace(text)
  const start = text.indexOf(trimmed) + trimmed.lastIndexOf('\n') + 1
  const line = trimmed.slice(trimmed.lastIndexOf('\n') + 1)
  return { kind: 'tag', start, end: start + line.length, from: start, isClosed: true, text: line }
}

const readAt = <V>(place: Place, kind: AnswerKind<V>): Reading<V> =>
  kind.read(place.text, place.kind !== 'phrase')

/** Reads the answer of one place with the words around it. */
function committed<V>(text: string, place: Place, kind: AnswerKind<V>): Reading<V> {
  const found = readAt(place, kind)
  if ('reason' in found) return found
  const objection = objectionAround(text, place, found, kind)
  return objection === null ? found : { reason: objection }
}

/** Another answer alone before a mark in its line. */
const aloneBefore = /(?:^|[\n"({])\s*(-?\d[\d.,]*|[A-Z])[ \t$]*$/
/** The first words of a sentence that announces an answer. */
const opening = /(?:\b(?:so|thus|the|my|our|final|correct|right)[ ,*_]{1,4}){1,4}$/i

/** What the words around a place say of its answer. null: nothing against it. */
export function objectionAround<V>(
  text: string,
  place: Place,
  { answer, rest: whole }: { readonly answer: V; readonly rest: string },
  kind: AnswerKind<V>,
): Objection | null {
  const another = (next: string) => kind.another(next, answer)
  const asked = kind.question ?? kind.prompt ?? ''
  const ownOf = (behind: string): string => kind.ownRest?.(behind, answer, asked) ?? behind
  const rest = withoutWork(ownOf(whole), another)
  if (rest === null) return 'extended'
  if (isHidden(text, place.start, place.end)) return 'denied'
  const before = text
    .slice(Math.max(0, place.start - 400), place.start)
    .replace(/<\/?[a-z]{1,20}>/gi, ' ')
    .replace(/(?<=^|\n)[ \t]{0,8}[->][ \t]{1,4}(?=[\s$\\([*]{0,8}$)/, '')
  const announced = place.kind === 'phrase' ? text.slice(place.start, place.from) : ''
  const lead = leadIn(before, announced)
  const isOfNumbers = kind.isNoNumber === true && lead === 'several_answers' && /\d\W*$/.test(before)
  if (lead !== null && !isOfNumbers) return lead
  const clause = leadingClause(before, announced)
  if (isDoubtful(clause, asked)) return 'doubted'
  if (announced === '' && isReported(` ${clause}`, rest)) return 'denied'
  if (lesser.test(`${leadingSentence(before)} ${announced}`)) return 'denied'
  if (kind.question !== undefined) {
    const stray = strays(text, place, before, kind.question)
    if (stray !== null) return stray
  }
  const ahead = announced === '' ? before : withoutOpening(before)
  if (
    disownsNext(ahead, kind.question ?? '') ||
    isUnable(before) ||
    (ahead !== before && /[:：]\s*$/.test(ahead.slice(-9)) && leadIn(ahead) === 'denied')
  )
    return 'denied'
  if (isUnreal(before, announced, rest)) return 'conditional'
  // "C \boxed{B}", "43 #### 42"
  const own = place.kind === 'boxed' || place.kind === 'hashes' ? aloneBefore.exec(before)?.[1] : undefined
  if (own !== undefined && another(own) === 'other') return 'several_answers'
  const following = text.slice(place.end)
  if (place.kind !== 'phrase') {
    if (holdsAnother(rest, another)) return 'several_answers'
    const weakened = leadWithin(
      rest.slice(0, 300).replace(/[,(]?\s*(?:and|but)?\s*\bnot\s+(?:\$[^$]*\$|[-\d(A-Z\\]\S*)/g, ' '),
    )
    if (weakened !== null) return weakened
  }
  if (place.isClosed) {
    const inner = followUp(rest, another, asked)
    if (inner !== null) return inner
    if (place.kind === 'boxed') {
      const glue = gluedTo(text, place)
      if (glue !== null) return glue
    }
  }
  const after = place.isClosed ? ownOf(following.replace(/^(?:\s?(?:\\[\])]|\$+|\*+|[}_]))+/, '')) : rest
  const next = followUp(after, another, asked)
  if (next !== null) return next
  // "42. and above", "42. hundred": what goes on in small letters belongs to the answer.
  const further = /^[\s*_)\]}"'”’`$]*\.\s+(?=\p{Ll})/u.exec(after)?.[0]
  if (further !== undefined) {
    const objection = followUp(` ${after.slice(further.length)}`, another, asked)
    if (objection !== null) return objection
  }
  const later = place.isClosed ? after : `${rest}${following}`
  const start = later.search(/[.!?。！？\n]|;\s/)
  if (start >= 0 && isWithdrawn(later.slice(start).replace(/^;/, '\n'), another)) return 'withdrawn'
  if (kind.isTakenBack?.(later)) return 'withdrawn'
  if (/^[\s$*)]*!/.test(after) && /\bfactorial\b/i.test(later.slice(0, 100))) return 'extended'
  return loneLater(later, another) ? 'several_answers' : null
}

/** A clause before an answer that would only hold in another case. */
export const unreal =
  /(?:^|[.!?\n])\W*(?:If|Had|Were|Without|But\s+for|In\s+an?(?:other)?)\b[^.!?\n]{1,160}$/u

/** Whether an answer only would be one: `If it were so, B would be right`, `The answer would be 42 in an older edition`. */
const isUnreal = (before: string, announced: string, rest: string): boolean =>
  /\bwould\b/.test(announced)
    ? /^[\s\S]{0,20}?\s(?:in|if|under|on|before)\s+(?:an?|the|other|older|different|another|that|those)\b/i.test(
        rest.slice(0, 60),
      )
    : /^[\s*_)\]"'”’$]*(?:[A-Z]\)?\s+)?would\s+(?:be|have\s+been)\b/.test(rest) && unreal.test(before)

/** A label, or a condition, right before an announcement. */
const labelled = /(?:^|[\n.!?])[\s*_#>-]*([^\n.!?:]{1,80}:|(?:Were|Had)\s[^\n.!?]{1,80},)[\s*_]*$/u
/** What names another answer than the best. */
const lesser = /\b(?:second|third|next)[- ](?:best|choice)\b|\brunner[- ]up\b|^\W*(?:Were|Had)\s[^.!?]*,\W*$/i

const withoutOpening = (before: string): string =>
  before.slice(0, before.length - (opening.exec(before.slice(-30))?.[0].length ?? 0))

/**
 * Models lead to a mark in any words. An announcement is read more strictly, because other sentences look like one, and
 * so are a label or a cell right before a mark, and words in its formula: `Minority: \boxed{42}`.
 */
const isReadStrictly = (text: string, place: Place, lead: string): boolean =>
  place.kind === 'phrase' ||
  (/[:：|][\s*_]*$/.test(lead.slice(-20)) && lead.trim().split(/\s+/).length <= 5) ||
  /\\text\w{0,10}\s?\{[^{}]{0,200}\}\s*$/.test(text.slice(Math.max(0, place.start - 240), place.start))

/** Whether the sentence around a mark has words that neither state a result nor are the question's. */
function strays(text: string, place: Place, before: string, question: string): Objection | null {
  const sentence = leadingSentence(text.slice(Math.max(0, place.start - 400), place.start))
  // What an announcement follows in its own line may give a reason.
  const lead =
    place.kind !== 'phrase' || /\n[\s*_#]*$/.test(before) ? sentence : sentence.replace(/^.*[,:;—]/, '')
  const [, label = ''] = place.kind === 'phrase' ? (labelled.exec(withoutOpening(before)) ?? []) : []
  if (label !== '' && (hasForeignWords(label, question) || lesser.test(label))) return 'denied'
  if (lead !== '' && isReadStrictly(text, place, lead) && hasForeignWords(lead, question)) return 'denied'
  if (
    isMocked(place.isClosed ? place.text : text.slice(place.from, place.from + 200).replace(/\n[\s\S]*/, ''))
  )
    return 'doubted'
  if (!place.isClosed) return null
  const after = text.slice(place.end, place.end + 300).replace(/^(?:\s?(?:\\[\])]|\$|\*+|[}_)"'”’]))+/, '')
  const [rest = ''] = after.split(
    /[.!?。！？](?:\s|$)|\n|[(=≈✓:;]|\\[a-z]|<|\b(?:because|since|as|where|given|i\.?e)\b/,
    1,
  )
  return /^[\s,;–—-]*[a-z]/.test(rest) && hasForeignWords(rest, question, 1) ? 'denied' : null
}

/** Whether a mark, a box or a tag holds another answer beside its first, apart from a reason for it. */
function holdsAnother(rest: string, another: Another): boolean {
  if (/\d\s*=|=\s*[-$]?\d+[\s)]*$/.test(rest)) return false
  const [plain = ''] = rest.slice(0, 2000).split(/\b(?:because|since|as|not|rather|instead)\b/, 1)
  for (const { index } of plain.matchAll(/(?<![\p{L}\p{N}.,^_])(?:[A-Z](?![\p{L}\p{N}])|-?\$?\.?\d)/gu)) {
    if (another(plain.slice(index)) === 'other') return true
  }
  return false
}

/** What is glued to a box is a part of its answer: `-\boxed{42}`, `\boxed{4}2`, `\boxed{42}^2`. */
function gluedTo(text: string, place: Place): Objection | null {
  const near = text.slice(Math.max(0, place.start - 12), place.start)
  const line = near.slice(near.lastIndexOf('\n') + 1)
  // A dash and a blank that begin a line make an item of a list.
  const begins = near.length < 12 || near.length > line.length
  const before = (begins ? line.replace(/^\s*-\s+/, '') : line).replace(/[\s$]+$|\\[[(]\s*$/, '')
  const after = text.slice(place.end, place.end + 12).replace(/^(?:\$|\\[\])])+(?:!(?=\s|$))?/, '')
  if (
    /(?:^|[^-])-$|[+×÷/^√\d]$|\\(?:neg|lnot|sim|not|times|cdot|sqrt|pm|div|cancel|phantom|overline|sout)\{?$|[\d)}][*]$/.test(
      before,
    )
  )
    return 'extended'
  if (
    /^[ \t]*(?:\{,\}|\\,)?[ \t]?\d|^[ \t]*(?:[≤≥≠]|[<>]\s|\\(?:n?eq?|not|lt|gt|leq?|geq?)(?![a-z]))|^(?!\^\s*\{?\s*\\(?:circ|degree))[\d^!]|^\s*(?:[+×÷/]|\^(?!\s*\{?\s*\\(?:circ|degree))|\\(?:neg|lnot|sim|not|times|cdot|pm|div|cdots|dots|frac|sqrt))|^\s?-\s?\d|^\s*[*]\s*\d/.test(
      after,
    )
  )
    return 'extended'
  return null
}

/** A line or a sentence after the answer that holds nothing but another one. */
function loneLater(later: string, another: Another): boolean {
  const lines = later.split('\n', 50)
  const sentences = (lines[0] ?? '').split(/(?<=[.!?])\s+/)
  return [...sentences.slice(1), ...lines.slice(1)].some((line) => {
    const plain = line
      .slice(0, 60)
      .replace(/^(?:[\s>*_$(#=→⇒]|-(?!\d))*(?:(?:or|and|also|maybe)\b\s*)?[\s*_$(]*/i, '')
    return (
      plain !== '' &&
      /^\S{1,20}[\s*_$).]*$/.test(plain) &&
      !/\p{L}{3}/u.test(plain) &&
      another(plain) === 'other'
    )
  })
}

/** Words that lead from one answer to the next. Without them, two different answers contradict each other. */
const announcing =
  /\b(?:the|final|correct|answer|answers|is|or|and|equally|well|just|as|good|fine|both|also|either|another|option|choice|alternatively|perhaps|maybe|possibly|it|could|be|might|may|else|again|my|result|box|boxed|in|we|can|say)\b|\\\w+|[^\p{L}]/giu

/** More answers than these, each with a conclusion, are guesses. */
const fewPlaces = 3
/** Words that give the next answer to somebody else: it is no correction. */
const attributing =
  /\b(?:for\s+the\s+record|reference|ground\s+truth|(?:answer\s+)?key|(?:the\s+)?(?:other|another)\s+(?:group|team|student|model|solver|pupil|person|one)s?|someone\s+else|my\s+(?:friend|classmate|neighbou?r|teacher|colleague)|solution\s+of)\b[^.!?]{0,60}$/iu

/** What leads from one answer to the next: a calculation, a further step, or a correction. */
export const leadsOn =
  /\d|\b(?:wait|no|nope|not|correct\w*|mistak\w*|wrong|incorrect\w*|false|reject\w*|refut\w*|err(?:or|ed|atum)|forg[eo]t\w*|oops|actually|check\w*|again|recount\w*|redo\w*|redid|recalculat\w*|instead|rather|revis\w*|hold|hmm+|sorry|let|then|next|step|now|after|so|therefore|thus|hence|add\w*|subtract\w*|multipl\w*|divid\w*|finally|final|total|sum|product|but|however|miss\w*|misread|miscount\w*|slip\w*|overlook\w*|skip\w*|fix\w*|update\w*|better|combin\w*|altogether|reconsider\w*|second\s+thoughts?|closer|conclu\w*)\b|[^\0-\x7f]/i

function contradiction<V>(
  text: string,
  places: readonly Place[],
  last: number,
  answer: V,
  kind: AnswerKind<V>,
): string | null {
  for (const place of places.slice(last + 1)) {
    const later = readAt(place, kind)
    if ('answer' in later && !kind.same(later.answer, answer)) return 'contradiction'
    if ('reason' in later && /denied|withdrawn|several/.test(later.reason)) return later.reason
  }
  for (let at = last; at > 0; at--) {
    const [before, next] = [places[at - 1] as Place, places[at] as Place]
    const between = text.slice(before.end, next.start)
    const earlier = readAt(before, kind)
    // The answer itself leads to no other one.
    const said = kind.isVerbatim && 'answer' in earlier ? earlier.rest : before.text
    const own = before.isClosed ? '' : said.slice(-200)
    const words = `${own} ${between.length > 400 ? between.slice(0, 400) : between}`.replace(announcing, '')
    // A wrong answer that is called wrong contradicts nothing.
    const announced = text.slice(before.start, before.from)
    if (leadIn(text.slice(Math.max(0, before.start - 400), before.start), announced) === 'denied') continue
    if (attributing.test(between.slice(-200))) return 'contradiction'
    if ('reason' in earlier && /^no_/.test(earlier.reason)) continue
    if ('answer' in earlier && kind.same(earlier.answer, answer)) {
      if (words !== '') return null
      continue
    }
    const goingOn =
      before.isClosed || before.kind === 'hashes' ? between : `${own.replace(/^\W*[\d.,]+/, '')}${between}`
    const isLoose = kind.question === undefined || (kind.isVerbatim && before.kind === 'phrase')
    if ('answer' in earlier && !isLoose && !leadsOn.test(goingOn)) return 'contradiction'
    // "\\boxed{41}. Or: \\boxed{42}"
    if (
      'answer' in earlier &&
      /^[\s*_)\]$.,;]*(?:(?:hmm+|well|maybe|perhaps)[\s,.]*)?(?:or|alternatively)\b/i.test(between)
    )
      return 'contradiction'
    const onlyConcludes = /^(?:so|hence|thus|therefore|then)$/i.test(words)
    if (
      onlyConcludes &&
      (last >= fewPlaces ||
        /\bor\b/i.test(between) ||
        /\bfinal answer\b/i.test(text.slice(Math.max(0, before.start - 40), before.start)))
    )
      return 'contradiction'
    const isCorrected =
      before.isClosed || before.kind === 'hashes' ? between.replace(announcing, '') !== '' : words.length > 2
    return isCorrected ? null : 'contradiction'
  }
  return null
}
