import { everyNumberInWords } from '../number-words.ts'
import { isCheck, type Sentence, sentenceAround, withoutAsides } from './asides.ts'
import { isForeignUnit, isOtherQuantity } from './asked-unit.ts'
import { withoutWork } from './calculation.ts'
import { valuesIn } from './equation.ts'
import { type FinalAnswer, objectionAround, type Reading } from './final-answer.ts'
import { followUp } from './follow-up.ts'
import { englishWords, foreignDenial } from './known-words.ts'
import { isDisguised, leadIn } from './lead-in.ts'

import { undressed } from './legible.ts'
import { everyNumber, lastSide, numberIn, numberKind, ownRest, type WholeNumber, worded } from './number.ts'
import { Question, worthOf } from './question.ts'
import { isFaulted, isLedInDoubt, isReported } from './remarks.ts'
import { isOfRival, isOfSubject, saysRival, withoutRivals } from './subject.ts'
import { restatedAsAsked, unitAt, unitsOf } from './units.ts'
import { elsewhere, isSubjunctive } from './wording.ts'

/** The signs of fractions that are digits when undressed. */
const vulgarFraction = /[½⅓⅔¼¾⅕⅛]/
const longestTail = 4000

/**
 * The number that a text without marks ends with, read with the words around it. In its last sentence, a number in
 * bold counts, and no number beside the answer: in brackets, or one of the question (`48 of the 72 cookies`).
 */
export function unmarkedNumber(text: string, question = ''): FinalAnswer<WholeNumber> {
  const from = Math.max(0, text.length - longestTail)
  const tail = withoutAsides(withoutOwnTags(text.slice(from)), question)
  const all = Array.from(tail.matchAll(everyNumber))
  if (all.length === 0)
    return vulgarFraction.test(tail) ? unmarkedNumber(undressed(tail), question) : finalWords(text)
  if (/±\s?[\d.]+[^\d±]*$/.test(text.slice(-200))) return { reason: 'several_answers' }
  const asked = new Question(question)
  const first = stateFirst(text, asked)
  if (first !== null) return unmarkedNumber(first, question)
  let sentence = sentenceAround(tail, all.at(-1)?.index ?? 0)
  for (let at = all.length - 1; isCheck(sentence.text) && at >= 0; at--) {
    const { index } = all[at] as RegExpExecArray
    if (index < sentence.start) {
      sentence = sentenceAround(tail, index)
      break
    }
  }
  if (isCheck(sentence.text)) sentence = sentenceAround(tail, all.at(-1)?.index ?? 0)
  if (isOfRival(sentence.text, question)) sentence = ofSubject(tail, sentence, question)
  if (saysRival(sentence.text, question)) return { reason: 'extended' }
  const found = statedIn(
    withoutQuoteMark(sentence, tail),
    asked,
    question,
    valuesIn(tail.slice(0, sentence.start)),
  )
  if ('reason' in found) return found
  const start = from + sentence.lineStart
  const place = {
    kind: 'phrase' as const,
    start,
    end: from + sentence.start + sentence.text.trimEnd().length,
    from: start,
    isClosed: false,
    text: sentence.line,
  }
  const objection = objectionAround(text, place, found, { ...numberKind, prompt: question })
  return objection === null ? { answer: found.answer, kind: null, tail: 0 } : { reason: objection }
}

/** The last sentence about whom or what the question asks for, if the last one with a number is about another. */
function ofSubject(tail: string, last: Sentence, question: string): Sentence {
  for (const { index } of Array.from(tail.slice(0, last.start).matchAll(everyNumber))
    .reverse()
    .slice(0, 20)) {
    const sentence = sentenceAround(tail, index)
    if (isOfSubject(sentence.text, question) && !isCheck(sentence.text)) return sentence
  }
  return last
}

const noValues: ReadonlyMap<string, string> = new Map()

/** The number that a sentence states as its result, read with the words before it. */
function statedIn(
  sentence: string,
  asked: Question,
  question: string,
  known = noValues,
): Reading<WholeNumber> {
  const own = withoutRivals(ownParts(undressed(sentence), asked, question), question, false)
  const plain = withoutOtherParts(own, asked)
  const number = chosen(plain, asked)
  if (number === undefined) return { reason: 'no_number' }
  const equals = Math.max(plain.lastIndexOf('=', number.index), plain.lastIndexOf('≈', number.index))
  const end = number.index + number[0].length
  const whole = plain.slice(0, end + (/^\s?\\?%/.exec(plain.slice(end, end + 3))?.[0].length ?? 0))
  if (equals >= 0 && lastSide(lastClause(whole), known) === null) return { reason: 'extended' }
  const lead = plain.slice(0, number.index)
  if (isListed(lead)) return { reason: 'several_answers' }
  if (reported.test(lead) || (negated.test(lead) && !asked.denies)) return { reason: 'denied' }
  if (elsewhere.test(lead) && !/\bwould\b/.test(question)) return { reason: 'conditional' }
  if (isSubjunctive(lead) && !isSubjunctive(question)) return { reason: 'conditional' }
  if (!englishWords.test(sentence) && deniedAbroad.test(lead)) return { reason: 'denied' }
  // What is worked out before the last side says nothing of it.
  const side = plain.slice(equals + 1)
  const [first] = side.matchAll(everyNumber)
  const [text, at, equation] =
    first !== undefined && equals + 1 + first.index === number.index
      ? [side, first, plain.slice(0, equals + 1)]
      : [plain, number, '']
  const found = numberIn(text, at, false, equation, (words) =>
    isDisguised(words) ? 'denied' : isLedInDoubt(words, question) ? 'doubted' : null,
  )
  if ('reason' in found) return found
  const { answer } = found
  if (isReported(` ${lead}`, found.rest)) return { reason: 'denied' }
  const isPart = isPartOfQuantity(lead, plain.slice(end))
  if (isPart || isForeignUnit(answer.unit, question, sentence) || isOtherQuantity(found.rest, question))
    return { reason: 'extended' }
  return { answer, rest: ownRest(found.rest, answer, question) }
}

/**
 * The number that an announced sentence states, if it begins with a number of the question: `Answer: The 8 shirts cost
 * $100.` null: it does not.
 */
export function announcedNumber(text: string, question: string): Reading<WholeNumber> | null {
  const plain = undressed(text.slice(0, longestTail))
  const sentence = sentenceAround(plain, 0).text
  const numbers = Array.from(sentence.matchAll(everyNumber))
  const [first] = numbers
  if (first === undefined || numbers.length < 2 || numbers.length > 20) return null
  const asked = new Question(question)
  const last = chosen(ownParts(sentence, asked, question), asked)
  if (last === undefined || !asked.has(first[0]) || asked.has(last[0]) || last.index <= first.index)
    return null
  if (!/\p{L}{2}/u.test(sentence.slice(first.index + first[0].length, last.index))) return null
  const found = statedIn(sentence, asked, question)
  return 'reason' in found ? found : { ...found, rest: `${found.rest}${plain.slice(sentence.length)}` }
}

/** "10 - 2f = 4, so 2f = 6 and f = 3": the last equation counts. What stands in brackets is no clause. */
function lastClause(text: string): string {
  const shown = text.replace(/(?<=\p{L}\s?)\([^()]{1,80}\)/gu, (inner) => 'o'.repeat(inner.length))
  return text.slice(
    Math.max(0, ...Array.from(shown.matchAll(clauses), ({ index, 0: sign }) => index + sign.length)),
  )
}

/** A sentence without what repeats one of its numbers in other units or less exactly, and without remarks on other things. */
function ownParts(sentence: string, asked: Question, question: string): string {
  const rounded = withoutUnrounded(sentence, asked)
  if (rounded.length > 1000) return rounded
  for (const { index, 0: number } of Array.from(rounded.matchAll(everyNumber)).slice(0, 20)) {
    const end = index + number.length
    const rest = rounded.slice(end)
    if (rest.search(everyNumber) < 0) break
    const value = worthOf(number)
    if (value === null) continue
    const wanted = restatedAsAsked(rest, Number(value.numerator) / Number(value.denominator), question)
    if (wanted !== null) return rounded.slice(0, index) + rest.slice(wanted)
    const own = ownRest(rest, { written: number, value }, question)
    if (own !== rest) return rounded.slice(0, end) + own
  }
  return rounded
}

const unrounded =
  /(-?\d+\.\d{2,})(?:\s?(?:…|\.{2,3}))?(?:[,;]|\s[(–—])?\s?(?:(?:or|which|is|i\.?e\.?,?|that\s+is,?|so|rounds?|rounded|to|about|approximately|roughly|≈|=)\s){1,4}(-?\d+(?:\.\d+)?)(?![\d.]*\d)/g

/** A sentence with one of a decimal and what rounds it: the latter if the question wants it rounded. */
const withoutUnrounded = (sentence: string, asked: Question): string =>
  sentence.replace(unrounded, (all, exact: string, short: string) => {
    const places = short.split('.')[1]?.length ?? 0
    const isRounded = Math.abs(Number(exact) - Number(short)) <= 0.500001 * 10 ** -places
    return !isRounded || short.length >= exact.length ? all : asked.wantsRounded ? short : exact
  })

/** Whether a number is the last part of a quantity in two units: `3 days and 80 hours`. */
function isPartOfQuantity(lead: string, rest: string): boolean {
  const [, word = ''] = /\d\s?(\p{L}{1,12}),?\s(?:and\s)?$/u.exec(lead.slice(-40)) ?? []
  const [before, own] = [unitsOf(word.toLowerCase()), unitAt(rest).units]
  return before.some(({ base, factor }) => own.some((unit) => unit.base === base && unit.factor < factor))
}

/** A text with blanks for tags that only name what they hold: `<final>42</final>`. */
const withoutOwnTags = (text: string): string =>
  text.includes('</')
    ? text.replace(/<\/?(?!s>|del>|strike>|think>|answer>)[a-z_]{2,20}>/gi, (tag) => ' '.repeat(tag.length))
    : text

/** A line of a quotation: `> 142` behind other lines, `> **142**`. */
const withoutQuoteMark = ({ text, start, lineStart }: Sentence, tail: string): string =>
  start === lineStart && (tail.slice(0, lineStart).trim() !== '' || /^\s*>+\s*[*_\p{L}\\$]/u.test(text))
    ? text.replace(/^\s{0,3}(?:>\s?){1,4}(?=\S)/, '')
    : text

/** Where a sentence may turn to something else. */
const turn = /[;,]\s+|\s[–—-]\s+|\s(?=(?:and|but|while|whereas|although|though)\s)|\s(?=\((?!\s*[=+\d]))/gi
const turning = /^\W*(?:(?:and|but|while|whereas|although|though|not)\s+(?:that\s+)?)?/i
/** What leads on to a result. */
const resulting =
  /[=≈→⇒]|\b(?:so|thus|hence|therefore|then|leaves|leaving|left|remain\w*|total\w*|altogether|gives?|makes?|mak\w+|becomes?|result\w*|answer|which|finally|now|ends?|get|gets|got)\b/i
const otherPart = /^\W*(?:(?:and|but|while|whereas)\s+)?(?:the\s+)?(?:other|others|rest|remaining)\b/i

const workAtEnd = /[([:]|\b(?:i\.?e\.?|that\s+is|namely|from|because|since|as)\b/i

/** A sentence without the calculation that it ends with, if that leads to the number before it. */
function withoutLastWork(sentence: string): string {
  if (!workAtEnd.test(sentence) || sentence.length > 1000) return sentence
  for (const { index, 0: number } of Array.from(sentence.matchAll(everyNumber)).slice(0, 20)) {
    const end = index + number.length
    const rest = sentence.slice(end)
    if (!workAtEnd.test(rest)) break
    const value = worthOf(number)
    if (value === null) continue
    const worked = withoutWork(rest, (next) => numberKind.another(next, { written: number, value }))
    if (worked !== null && worked !== rest && worked.search(everyNumber) < 0)
      return sentence.slice(0, end) + worked
  }
  return sentence
}

/**
 * A sentence without a part at its end about something else: `..., and the other 65% are taken`, or that calls
 * another number wrong: `..., although 180 is tempting`.
 */
function withoutOtherParts(sentence: string, asked: Question): string {
  if ((sentence.slice(0, 1000).match(everyNumber)?.length ?? 0) < 2) return sentence
  const worked = withoutLastWork(sentence)
  if (worked !== sentence) return worked
  for (const { index, 0: sign } of sentence.slice(0, 1000).matchAll(turn)) {
    const [before, after] = [sentence.slice(0, index), sentence.slice(index + sign.length)]
    const [own, others] = [before.match(everyNumber), after.match(everyNumber)]
    if (own === null || others === null || own.some((number) => others.includes(number))) continue
    const clause = after.replace(turning, '')
    const isRejected = /^\W*(?:and\s+)?not\s/i.test(after) || (isFaulted(clause) && !isFaulted(before))
    const isElse =
      others.length <= 2 &&
      !resulting.test(after) &&
      !/\b(?:would|too|if)\b/i.test(before) &&
      asked.wordsIn(clause) < asked.wordsIn(before) &&
      (otherPart.test(after) ||
        (asked.has(others[0] ?? '') && (/^(?:and|but)\s/i.test(after) || /;/.test(sign))) ||
        ((/^(?:while|whereas)\s/i.test(after) || /;/.test(sign)) && asked.wordsIn(before) > 1))
    const isSupposed =
      !asked.supposes && /\bwould\b/i.test(clause) && !/\bwould\b|\bif\b[^,;]*\b(?:were|had)\b/i.test(before)
    if (isRejected || isElse || isSupposed || isCheck(clause)) return before
  }
  return sentence
}

/** A first line that holds nothing but a number, and an explanation with no other result: `142.\n\nHalf of 48 is 24, ...`. */
function stateFirst(text: string, asked: Question): string | null {
  const [, line = '', rest = ''] = /^\s*([^\n]{1,60})\n\s*\n([\s\S]{1,4000})$/.exec(text) ?? []
  if (!/^[\s*_$]*-?\$?\d[\d.,]*\s?%?(?:\s[\p{L}°²³/]+){0,2}[\s*_$.!]*$/u.test(line)) return null
  const last = undressed(rest).match(everyNumber)?.at(-1)
  const isResult =
    /[=≈→]\s*\S{1,20}\s*\S{0,12}\W*$|\b(?:so|thus|hence|therefore|actually|wait|correct\w*|answer|instead|sorry|no)\b/i
  return last === undefined || !asked.has(last) || isResult.test(rest.trim().split('\n').at(-1) ?? '')
    ? null
    : line
}

/** What is said of numbers by others, or only for the sake of argument. */
const reported =
  /\b(?:(?:might|may)\s+(?:[a-z]+\s+){1,2}\$?$|tempting\s+to|(?:some|many|most|other)\s+(?:people|students?|models?|solvers?)\b|^\W*(?:assume|suppose|imagine|pretend)\b|I(?:['’]d|\s+would)\s+(?:hazard|venture)|the\s+(?:number|letter|digits?)\s*$|anything\s+from|(?:wrong|false|incorrect)\s+(?:one|answer|value|result|price|number|total)\s+(?:is|was)|\b(?:never|hardly|scarcely)\s+(?:[a-z]+\s+){1,2}\$?$)/i
/** A denied verb: `She does not make 18`. */
export const negated =
  /\b(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|should)(?:n['’]t|\s+not|\s+never)\s+(?:(?!but\b)[a-z]+\s+){0,2}[*_$"'(]*(?:[a-z]\s?=\s?)?$/i

const deniedAbroad = new RegExp(`${foreignDenial.source}[\\p{L}\\s'’]{2,40}[$€£]?$`, 'iu')

const contrast =
  /\b(?:but|actually|really|however|no|not|wait|correct\w*|should|rather|sorry|or|and\/or|becomes?|then)\b|[=≈→⇒]|->|=>/i
const ofWhole =
  /^\s*(?:(?:\\?%|percent\b)\s*)?(?:\*{1,2}\s*)?(?:\p{L}+\s+){0,3}?(?:out\s+)?of\s+(?:the|all|his|her|their|its|these|those|our|my)?\s*(?:the\s+)?\$?$/iu
const beside =
  /\b(?:instead\s+of|(?:down|up)\s+from|rather\s+than|compared\s+(?:to|with))\s+(?:\p{L}+\s+)?\$?$/iu
const again = /[,;(–—]\s*(?:or|that\s+is|i\.?e\.?,?|which\s+(?:is|equals)|equivalent\s+to)\s*$/i

/** A number that only says how far another one is from it. */
const compared =
  /^%?\s(?:\p{L}+\s)?(?:less|more|fewer|cheaper|longer|shorter|higher|lower|above|below)\s+(?:than\s)?(?:for|in|on|with|needed|the|last|before|what|his|her|their|its|it|that|list|original|usual)\b/iu

const clauses = /[,;]\s|\b(?:and|so|then|thus)\s|[⇒→]/g
/** What gives a reason or tells more of what an earlier number counts. */
const reason =
  /\b(?:because|since|as)\s|,\s(?:where|each)\b|,\sso\s+(?:he|she|they|it)\s+(?:saves?|saved|loses?|keeps?)\b/i

/** The number of a sentence that it states as the result. */
function chosen(sentence: string, asked: Question): RegExpExecArray | undefined {
  const numbers = Array.from(sentence.matchAll(everyNumber)).slice(-50)
  const inBold = bold(sentence, numbers)
  if (inBold !== undefined) return inBold
  const taken = numbers.find(({ index }) => settling.test(sentence.slice(0, index)))
  if (taken !== undefined) return taken
  let at = numbers.length - 1
  while (at > 0 && isBeside(sentence, numbers, at, asked)) at--
  return numbers[at] ?? numbers.at(-1)
}

/** What settles on the number after it: `so I'd answer 240`. */
const settling =
  /\b(?:I|we)(?:['’](?:d|ll)|\s+(?:would|will))?\s+(?:therefore\s+)?(?:answer|conclude|submit|go\s+with|choose|settle\s+(?:on|for))\s+(?:with\s+)?[*$€£]*$/i

/** The number in the only bold part of a sentence that has numbers. */
function bold(sentence: string, numbers: readonly RegExpExecArray[]): RegExpExecArray | undefined {
  if (!sentence.includes('**')) return undefined
  const parts = Array.from(sentence.matchAll(/\*\*([^*\n]{1,80})\*\*/g))
    .map(({ index, 0: all }) =>
      numbers.filter((number) => number.index > index && number.index < index + all.length),
    )
    .filter((inside) => inside.length > 0)
  const [inside = []] = parts
  const after = sentence.slice((inside[0]?.index ?? 0) + (inside[0]?.[0].length ?? 0))
  if (parts.length !== 1 || inside.length !== 1) return undefined
  const own = numberKind.read(sentence.slice(inside[0]?.index ?? 0), false)
  const isRepeated =
    'answer' in own &&
    Array.from(after.matchAll(everyNumber)).every(
      ({ index }) => numberKind.another(after.slice(index), own.answer) === 'same',
    )
  return isRepeated || !contrast.test(after) ? inside[0] : undefined
}

/** Whether a number stands beside an earlier one of its sentence, which is the result. */
function isBeside(
  sentence: string,
  numbers: readonly RegExpExecArray[],
  at: number,
  asked: Question,
): boolean {
  const [earlier, number] = [numbers[at - 1], numbers[at]]
  if (earlier === undefined || number === undefined) return false
  const gap = sentence.slice(earlier.index + earlier[0].length, number.index)
  if (/^\d+$/.test(earlier[0]) && gap === ' ' && /^\d+\/\d+$/.test(number[0])) return true
  const first = numbers[0]
  if (first !== undefined && reason.test(sentence.slice(first.index + first[0].length, number.index))) {
    const told = sentence.slice(0, first.index)
    if (!/=(?<!^\W*[a-z]\s?=)|\b(?:since|because|as|if|when|after)\b/i.test(told)) return true
  }
  // In brackets behind an earlier number.
  const open = Math.max(sentence.lastIndexOf('(', number.index), sentence.lastIndexOf('[', number.index))
  if (
    open > (numbers[0]?.index ?? 0) &&
    !/[)\]]/.test(sentence.slice(open, number.index)) &&
    /(?:[\p{L}\d%°*_)✓✔✅☑²³]|\ufe0f)\s$/u.test(sentence.slice(0, open))
  )
    return true
  if (/^[\s*_]*[-+×*/÷^=]/.test(gap)) return false
  // "$71.40, $8.60 less than the list price"
  if (compared.test(sentence.slice(number.index + number[0].length)) && !asked.compares) return true
  if (beside.test(gap)) return true
  const before = numberKind.read(sentence.slice(earlier.index), false)
  if (again.test(gap) && asked.wantsPercent && !isPercent(sentence, earlier) && isPercent(sentence, number))
    return false
  if (again.test(gap))
    return 'answer' in before && numberKind.another(sentence.slice(number.index), before.answer) === 'same'
      ? true
      : asked.counts(sentence, earlier) && !asked.counts(sentence, number)
  if (contrast.test(gap)) return false
  if (ofWhole.test(gap)) return true
  if (asked.has(number[0]) && asked.counts(sentence, earlier) && !asked.counts(sentence, number)) return true
  return (
    asked.has(number[0]) &&
    numbers.slice(0, at).some((other) => !asked.has(other[0])) &&
    /\b(?:in|on|for|with|by|dans|en|pour|avec|par|mit|aus|bei|con|para|por|von|after|at|each|every|per|over|during|across|among|all|both|and)\s+(?:\p{L}+\s+){0,3}\$?$/iu.test(
      gap,
    )
  )
}

const isPercent = (sentence: string, { index, 0: written }: RegExpExecArray): boolean =>
  /%$/.test(written) || /^\s?\\?(?:%|percent)/.test(sentence.slice(index + written.length))

/** Whether nothing but a short word or a sign stands between the number at the start of a sentence and the next one. */
const isListed = (before: string): boolean =>
  /^[\s*_#>$-]*\d[\d.,]*\s*(?:[%#[({;|]|,?\s?\b(?:i\.?e\.?|r|remainder|aka|resp\.?|alias|near)\b)?[\s.,$-]*$/i.test(
    before,
  )

/** A text without digits may be a number in words. */
function finalWords(text: string): FinalAnswer<WholeNumber> {
  const line = text.trim().split('\n').at(-1) ?? ''
  const plain = undressed(line)
  const runs = line.length > 200 ? [] : Array.from(plain.matchAll(everyNumberInWords))
  const stated = line.length > 200 ? ({ reason: 'no_number' } as const) : worded(plain)
  const [run] = runs
  const lead = run === undefined ? null : leadIn(plain.slice(0, run.index))
  const isAlone = 'reason' in stated && stated.reason === 'no_number' && runs.length === 1 && lead === null
  const found = isAlone && run !== undefined ? worded(plain.slice(run.index)) : stated
  if ('reason' in found) return found
  const objection = followUp(found.rest, (next) => numberKind.another(next, found.answer))
  return objection === null ? { answer: found.answer, kind: null, tail: 0 } : { reason: objection }
}
