import { equalFractions, type Fraction } from '../arithmetic.ts'
import { numberWords } from '../number-words.ts'
import { isForeignUnit } from './asked-unit.ts'
import { type FinalAnswer, objectionAround } from './final-answer.ts'
import { followUp } from './follow-up.ts'
import { stemOf, wordPattern } from './known-words.ts'
import { isDisguised, leadIn } from './lead-in.ts'
import { undressed } from './legible.ts'
import { equationBefore, everyNumber, numberIn, numberKind, type WholeNumber, worded } from './number.ts'

const counted = numberWords.filter((word) => word !== 'and').join('|')
const longestTail = 4000
const longestQuestion = 4000

/**
 * The number that a text without marks ends with, read with the words around it. In its last sentence, a number in
 * bold counts, and no number beside the answer: in brackets, or one of the question (`48 of the 72 cookies`).
 */
export function unmarkedNumber(text: string, question = ''): FinalAnswer<WholeNumber> {
  const from = Math.max(0, text.length - longestTail)
  const tail = text.slice(from)
  const all = Array.from(tail.matchAll(everyNumber))
  if (all.length === 0) return finalWords(text)
  const asked = new Question(question)
  let sentence = sentenceAround(tail, all.at(-1)?.index ?? 0)
  for (let at = all.length - 1; isCheck(sentence.text) && at >= 0; at--) {
    const { index } = all[at] as RegExpExecArray
    if (index < sentence.start) {
      sentence = sentenceAround(tail, index)
      break
    }
  }
  if (isCheck(sentence.text)) sentence = sentenceAround(tail, all.at(-1)?.index ?? 0)
  const plain = undressed(sentence.text)
  const number = chosen(plain, asked)
  if (number === undefined) return { reason: 'no_number' }
  const equals = Math.max(plain.lastIndexOf('=', number.index), plain.lastIndexOf('≈', number.index))
  const end = number.index + number[0].length
  const whole = plain.slice(0, end + (/^\s?\\?%/.exec(plain.slice(end, end + 3))?.[0].length ?? 0))
  // "10 - 2f = 4, so 2f = 6 and f = 3": the last equation counts.
  const clause = whole.slice(
    Math.max(0, ...Array.from(whole.matchAll(clauses), ({ index, 0: sign }) => index + sign.length)),
  )
  if (equals >= 0 && equationBefore(clause) === null) return { reason: 'extended' }
  if (isListed(plain.slice(0, number.index))) return { reason: 'several_answers' }
  const lead = plain.slice(0, number.index)
  if (reported.test(lead) || (negated.test(lead) && !asked.denies)) return { reason: 'denied' }
  const found = numberIn(plain, number, false, '', (words) => (isDisguised(words) ? 'denied' : null))
  if ('reason' in found) return found
  if (isForeignUnit(found.answer.unit, question)) return { reason: 'extended' }
  const start = from + sentence.lineStart
  const place = {
    kind: 'phrase' as const,
    start,
    end: start + sentence.line.length,
    from: start,
    isClosed: false,
    text: sentence.line,
  }
  const objection = objectionAround(text, place, found, numberKind)
  return objection === null ? { answer: found.answer, kind: null, tail: 0 } : { reason: objection }
}

interface Sentence {
  readonly text: string
  readonly start: number
  readonly line: string
  readonly lineStart: number
}

function sentenceAround(tail: string, at: number): Sentence {
  const lineStart = tail.lastIndexOf('\n', at) + 1
  const line = tail.slice(lineStart).split('\n', 1)[0] ?? ''
  let start = 0
  let end = line.length
  for (const { index, 0: stop } of line.matchAll(
    /(?<!\b(?:i\.e|e\.g|vs|approx|resp))[.!?。！？](?:\s|$)/gi,
  )) {
    if (index + stop.length <= at - lineStart) start = index + stop.length
    else if (index >= at - lineStart) {
      end = index + stop.length
      break
    }
  }
  return { text: line.slice(start, Math.max(end, start)), start: lineStart + start, line, lineStart }
}

/** A sentence that checks an answer, and states none. */
const isCheck = (sentence: string): boolean =>
  /^[\s*_(]*(?:(?:quick\s+)?(?:check|checking|verification|verify|proof)\s*[:：]|to\s+(?:check|verify|double-check)\b|(?:we|you|I)\s+can\s+(?:also\s+)?(?:check|verify)\b|let(?:['’]s|\s+us|\s+me)\s+(?:check|verify|double-check)\b|note\s*[:：])/i.test(
    sentence,
  )

/** What is said of numbers by others, or only for the sake of argument. */
const reported =
  /\b(?:tempting\s+to|(?:some|many|most|other)\s+(?:people|students?|models?|solvers?)\b|^\W*(?:assume|suppose|imagine|pretend)\b|I(?:['’]d|\s+would)\s+(?:hazard|venture)|the\s+(?:number|letter|digits?)\s*$|anything\s+from|(?:wrong|false|incorrect)\s+(?:one|answer|value|result|price|number|total)\s+(?:is|was)|\b(?:never|hardly|scarcely)\s+(?:[a-z]+\s+){1,2}\$?$)/i
/** A denied verb: `She does not make 18`. */
export const negated =
  /\b(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|should)(?:n['’]t|\s+not|\s+never)\s+(?:(?!but\b)[a-z]+\s+){0,2}[*_$"'(]*(?:[a-z]\s?=\s?)?$/i

const contrast =
  /\b(?:but|actually|really|however|no|not|wait|correct\w*|should|rather|sorry|or|and\/or|becomes?|then)\b|[=≈→⇒]|->|=>/i
const ofWhole =
  /^\s*\*{0,2}\s*(?:\p{L}+\s+){0,3}?(?:out\s+)?of\s+(?:the|all|his|her|their|its|these|those|our|my)?\s*(?:the\s+)?\$?$/iu
const beside =
  /\b(?:instead\s+of|(?:down|up)\s+from|rather\s+than|compared\s+(?:to|with))\s+(?:\p{L}+\s+)?\$?$/iu
const again = /[,;(–—]\s*(?:or|that\s+is|i\.?e\.?,?|which\s+(?:is|equals)|equivalent\s+to)\s*$/i

const clauses = /[,;]\s|\b(?:and|so|then|thus)\s|[⇒→]/g
/** What gives a reason or tells more of what an earlier number counts. */
const reason =
  /\b(?:because|since|as)\s|,\s(?:where|each)\b|,\sso\s+(?:he|she|they|it)\s+(?:saves?|saved|loses?|keeps?)\b/i

/** The number of a sentence that it states as the result. */
function chosen(sentence: string, asked: Question): RegExpExecArray | undefined {
  const numbers = Array.from(sentence.matchAll(everyNumber)).slice(-50)
  const inBold = bold(sentence, numbers)
  if (inBold !== undefined) return inBold
  let at = numbers.length - 1
  while (at > 0 && isBeside(sentence, numbers, at, asked)) at--
  return numbers[at] ?? numbers.at(-1)
}

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
    if (!/=|\b(?:since|because|as|if|when|after)\b/i.test(told)) return true
  }
  if (/^[\s*_]*[-+×*/÷^=]/.test(gap)) return false
  if (beside.test(gap)) return true
  // In brackets behind an earlier number.
  const open = sentence.lastIndexOf('(', number.index)
  if (open > (numbers[0]?.index ?? 0) && !sentence.slice(open, number.index).includes(')')) return true
  const before = numberKind.read(sentence.slice(earlier.index), false)
  if (again.test(gap) && asked.wantsPercent && !isPercent(sentence, earlier) && isPercent(sentence, number))
    return false
  if (again.test(gap))
    return 'answer' in before && numberKind.another(sentence.slice(number.index), before.answer) === 'same'
      ? true
      : asked.counts(sentence, earlier) && !asked.counts(sentence, number)
  if (contrast.test(gap)) return false
  if (ofWhole.test(gap)) return true
  return (
    asked.has(number[0]) &&
    numbers.slice(0, at).some((other) => !asked.has(other[0])) &&
    /\b(?:in|on|for|with|by|after|at|each|every|per|over|during|across|among|all|both|and)\s+(?:\p{L}+\s+){0,3}\$?$/iu.test(
      gap,
    )
  )
}

const isPercent = (sentence: string, { index, 0: written }: RegExpExecArray): boolean =>
  /%$/.test(written) || /^\s?\\?(?:%|percent)/.test(sentence.slice(index + written.length))

/** What a question says of numbers. */
class Question {
  private values: readonly Fraction[] | null = null
  private units: ReadonlySet<string> | null = null
  private readonly text: string

  constructor(question: string) {
    this.text = question.slice(-longestQuestion)
  }

  get denies(): boolean {
    return /\b(?:not|never)\b|n['’]t\b/i.test(this.text)
  }

  get wantsPercent(): boolean {
    return /\b(?:what|which|how\s+many)\s+(?:percent|percentage)|\bpercentage\b[^?]{0,80}\?/i.test(this.text)
  }

  /** Whether it has a number, in digits or in words. */
  has(written: string): boolean {
    this.values ??= Array.from(this.text.matchAll(numerals), ({ 0: found }) => worthOf(found)).filter(
      (value) => value !== null,
    )
    const value = worthOf(written)
    return value !== null && this.values.some((other) => equalFractions(other, value))
  }

  /** Whether the word after a number is one that the question asks for. */
  counts(sentence: string, { index, 0: written }: RegExpExecArray): boolean {
    this.units ??= new Set(
      Array.from(this.text.matchAll(/\bhow\s+(?:many|much)\s+([^?]{0,60})/gi), ([, words = '']) =>
        (words.toLowerCase().match(wordPattern) ?? []).slice(0, 5).map(stemOf),
      ).flat(),
    )
    const [word = ''] = sentence.slice(index + written.length).match(/(?<=^[\s*_]{0,3})[\p{L}]+/u) ?? []
    return word !== '' && this.units.has(stemOf(word.toLowerCase()))
  }
}

const numerals = new RegExp(`${everyNumber.source}|\\b(?:${numberWords.slice(0, 28).join('|')})\\b`, 'giu')

function worthOf(written: string): Fraction | null {
  const found = numberKind.read(written, true)
  return 'answer' in found ? found.answer.value : null
}

/** Whether nothing but a short word or a sign stands between the number at the start of a sentence and the next one. */
const isListed = (before: string): boolean =>
  /^[\s*_#>$-]*\d[\d.,]*\s*(?:[%#[({;|]|,?\s?\b(?:i\.?e\.?|r|remainder|aka|resp\.?|alias|near)\b)?[\s.,$-]*$/iu.test(
    before,
  )

/** A number in words, apart from `one`, which is mostly a pronoun. */
const wordRun = new RegExp(
  `(?<![\\p{L}-])(?!one(?![\\p{L}-]))(?:${counted})(?:[\\s-]+(?:and\\s+)?(?:${counted}))*(?![\\p{L}])`,
  'giu',
)

/** A text without digits may be a number in words. */
function finalWords(text: string): FinalAnswer<WholeNumber> {
  const line = text.trim().split('\n').at(-1) ?? ''
  const plain = undressed(line)
  const runs = line.length > 200 ? [] : Array.from(plain.matchAll(wordRun))
  const stated = line.length > 200 ? ({ reason: 'no_number' } as const) : worded(plain)
  const [run] = runs
  const lead = run === undefined ? null : leadIn(plain.slice(0, run.index))
  const isAlone = 'reason' in stated && stated.reason === 'no_number' && runs.length === 1 && lead === null
  const found = isAlone && run !== undefined ? worded(plain.slice(run.index)) : stated
  if ('reason' in found) return found
  const objection = followUp(found.rest, (next) => numberKind.another(next, found.answer))
  return objection === null ? { answer: found.answer, kind: null, tail: 0 } : { reason: objection }
}
