import { nameOf } from './known-words.ts'
import { areSame, askedUnits, type Unit, unitAt, unitsOf, withScales } from './units.ts'

const percents = new Set(['%', 'percent', 'percentage', 'pct'])
const ofShares =
  /%|percent|\bpct\b|probability|probable|chance|odds|likely|likelihood|share|fraction|portion|proportion|rate|ratio|decimal|relative/i
const words = /[\p{L}]+|[$¢€£₹¥°]/gu

/** A number between dollar signs, which are those of a formula. */
const formula = /\$[^$\n]*\d[^$\n]*\$/

/**
 * Whether an answer has a unit that is not the question's: `42 cents` where it speaks of dollars. False without a
 * question, and for times, which questions name for many reasons. `text`: where the answer stands. Linear.
 */
export function isForeignUnit(unit: string | undefined, question: string, text = ''): boolean {
  if (unit === undefined || question === '' || (unit === '$' && formula.test(text))) return false
  const own = unit.toLowerCase()
  if (percents.has(own)) {
    // "A 15% discount ... the price in dollars" asks for no share.
    const topic = /[^.!?]*\?(?![\s\S]*\?)/.exec(question)?.[0] ?? question
    const isOfThings = namesAsked(question).size > 0 || askedUnits(question).length > 0
    return !ofShares.test(isOfThings ? topic : question)
  }
  // "in" is mostly no unit, nor "m" behind a number in money.
  const found = own === 'in' ? [] : unitsOf(own).filter(({ kind }) => kind !== 'time')
  if (found.length === 0) return false
  const things = namesAsked(question)
  // Money is no number of texts.
  if (things.size > 0 && found.every(({ kind }) => kind === 'money') && !asksMoney(question)) return true
  const asked = Array.from(withScales(question).matchAll(words)).flatMap(({ index, 0: word }) =>
    word.toLowerCase() === 'in'
      ? []
      : [
          ...unitsOf(word.toLowerCase()),
          ...(/^(?:square|cubic|sq)$/i.test(word) ? unitAt(question.slice(index, index + 30)).units : []),
        ],
  )
  return (
    asked.some(({ kind }) => found.some((one) => one.kind === kind)) &&
    !asked.some((other) => found.some((one) => areSame(one, other)))
  )
}

const compared = /^[\s*_$]*(?:\p{L}+\s)?(?:more|less|fewer)\s+than\b/u
const rate = /^[\s*_$]*(?:\p{L}+\s?\/\s?|(?:\p{L}+\s)?(?:per|an?|each|every)\s+)(\p{L}+)/iu
const ordinal = /^(?:st|nd|rd|th)(?![\p{L}])/u
const counts = /\bhow\s+(?:many|much)\b/i
const counted = /^[\s*_)]*(\p{L}{2,}|[hsdgmlJWVN])(?![\p{L}])(?!\s+(?:and|of|in|per)\b)/u

/**
 * Whether the words behind a number make another quantity of it than the question's: `18 more than she needs`, `360
 * dollars per day`, `the 47th`, or `47 rows` where rows are counted in the question and trees are asked for. Linear.
 */
export function isOtherQuantity(rest: string, question: string): boolean {
  if (question === '') return false
  if (/^[\s]?per\s+cent\b/i.test(rest)) return !ofShares.test(question)
  if (compared.test(rest)) return !/\b(?:more|less|fewer|than|differ\w*)\b/i.test(question)
  if (ordinal.test(rest)) return counts.test(question)
  const asked = question.toLowerCase()
  const [, per = ''] = rate.exec(rest) ?? []
  const isRate = /^[\s*_$]*(?:\p{L}+\s?)?(?:\/|per\s)/u.test(rest)
  if (per !== '' && (isRate || isTime(per)) && asksCount(asked)) return true
  if (per !== '' && isTime(per)) {
    const topic = /[^.!?]*\?(?![\s\S]*\?)/.exec(asked)?.[0] ?? asked
    const names = (topic.match(words) ?? []).map(nameOf)
    if (!asksRate.test(asked)) return !names.includes(nameOf(per.toLowerCase()))
  }
  if (rateElsewhere.test(rest)) return !asked.includes(rateElsewhere.exec(rest)?.[1]?.toLowerCase() ?? ' ')
  const [, thing = ''] = counted.exec(rest) ?? []
  return thing !== '' && !noThing.test(thing) && isCountedBeside(thing.toLowerCase(), asked)
}

const asksRate = /\b(?:per|each|every|rate|speed|fast|average|pace)\b/
/** Whether a question asks for so many units, and not for so many in a time: `How many kilometers does she cover`. */
const asksCount = (question: string): boolean =>
  countsOf(question).units.length > 0 &&
  !/\bhow\s+many\s+(?:\p{L}+\s){0,2}?\p{L}+\s?(?:\/|per\b|an?\b|each\b|every\b)/u.test(question)
const isTime = (word: string): boolean => unitsOf(word.toLowerCase()).some(({ kind }) => kind === 'time')
const rateElsewhere =
  /^[\s*_$]*\p{L}*\s?(?:al|por|pro|par|am|ao)\s+(d[ií]a|hora|minuto|mes|año|tag|stunde|monat|jahr|jour|heure|mois|giorno|ora|mese)(?![\p{L}])/iu
const noThing =
  /^(?:of|in|on|at|to|and|or|for|out|per|more|less|fewer|than|with|are|is|were|was|have|has|each|from|by|that|which|who|so|left|as|because|since|remain\w*|total|altogether)$/i
const several = /^(?:\p{L}+\s+){0,3}?(?:\p{L}*[^s\s]s|men|women|people|children|feet|fish|sheep)(?![\p{L}])/u
const askedThing =
  /\bhow\s+(?:many|much)\s+((?:(?!\b(?:does|do|did|are|is|was|were|will|would|can|could|has|have|had|should|must|in|for|over|after|during|if|when|per|on|by|at|to|from)\b)[^?.!]){0,80})/g
/** The same in other languages, whose questions name it in one or two words. */
const askedElsewhere =
  /(?<!\p{L})(?:wie\s+viele|cuánt[oa]s|combien\s+(?:de\s+|d['’])|quant[ie]|quant[oa]s|сколько)\s*(\p{L}{3,})/giu
const given =
  /(?:\d|(?<![\p{L}])(?:two|three|four|five|six|seven|eight|nine|ten|twelve))\s+(?:\p{L}+\s+)?(\p{L}{2,})/gu

/** What a question asks for, and what else it counts, by their names. */
interface Counts {
  readonly question: string
  /** null: it does not name what it asks for: `How many are left?` */
  readonly wanted: ReadonlySet<string> | null
  /** The units of measure that it asks for. */
  readonly units: readonly Unit[]
  readonly given: ReadonlySet<string>
}

/** Answers to one question come together. */
let latest: Counts | undefined

function countsOf(question: string): Counts {
  if (latest?.question === question) return latest
  const near = question.slice(-4000)
  const phrases = Array.from(near.matchAll(askedThing), ([, phrase = '']) => phrase)
  const elsewhere = Array.from(near.matchAll(askedElsewhere), ([, thing = '']) => thing.toLowerCase())
  const names = (texts: readonly string[]): ReadonlySet<string> =>
    new Set(texts.flatMap((text) => text.match(words) ?? []).map(nameOf))
  const units = phrases.map((phrase) =>
    unitsOf(/^(?:(?:more|full|whole)\s+)?(\p{L}+)/u.exec(phrase)?.[1] ?? ''),
  )
  latest = {
    question,
    wanted:
      elsewhere.length > 0 || phrases.some((phrase, at) => several.test(phrase) || units[at]?.length)
        ? names([...phrases, ...elsewhere])
        : null,
    units: units.flat(),
    given: names(Array.from(near.matchAll(given), ([all]) => all)),
  }
  return latest
}

/** Whether a question asks for an amount of money, or may do so. */
const asksMoney = (question: string): boolean =>
  /\bhow\s+much\b/i.test(question) ||
  [...namesAsked(question)].some((name) =>
    /^(?:usd|eur|gbp|inr|jpy) |^(?:money|profit|cost|price|change|coin|bill)/.test(name),
  )

const nothing: ReadonlySet<string> = new Set()

/** The names of the things that a question asks for. Empty: it does not name them. */
export const namesAsked = (question: string): ReadonlySet<string> =>
  countsOf(question.toLowerCase()).wanted ?? nothing

/** Whether a question counts a thing and asks for another one: months are no weeks, and hours are no kilometers. */
function isCountedBeside(thing: string, question: string): boolean {
  const { wanted, units, given } = countsOf(question)
  if (wanted === null || wanted.has(nameOf(thing))) return false
  const isMoney = unitsOf(thing).some(({ kind }) => kind === 'money')
  return (
    (units.length > 0 && unitsOf(thing).length > 0) ||
    (isMoney && !asksMoney(question)) ||
    given.has(nameOf(thing))
  )
}
