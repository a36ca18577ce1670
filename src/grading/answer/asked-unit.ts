import { stemOf } from './known-words.ts'

/** Units by what they measure: all spellings of one unit in a row. */
const kinds: readonly (readonly string[])[] = [
  [
    'dollar dollars usd buck bucks $ us$',
    'cent cents ¢ penny pennies',
    'euro euros eur €',
    'pound pounds gbp £',
    'rupee rupees rs inr ₹',
    'yen jpy ¥ yuan cny rmb',
  ],
  [
    'millimeter millimeters millimetre millimetres mm',
    'centimeter centimeters centimetre centimetres cm',
    'kilometer kilometers kilometre kilometres km kms',
    'meter meters metre metres m',
    'inch inches in',
    'foot feet ft',
    'yard yards yd',
    'mile miles mi',
  ],
  ['degree degrees ° deg', 'radian radians rad'],
  [
    'milligram milligrams mg',
    'gram grams g',
    'kilogram kilograms kg',
    'ton tons tonne tonnes',
    'ounce ounces oz',
  ],
]
const percents = new Set(['%', 'percent', 'percentage', 'pct'])
const ofShares =
  /%|percent|\bpct\b|probability|probable|chance|odds|likely|likelihood|share|fraction|portion|proportion|rate|ratio|decimal|relative/i
const words = /[\p{L}]+|[$¢€£₹¥°]/gu

const unitOf = new Map(
  kinds.flatMap((units, kind) =>
    units.flatMap((spellings, unit) =>
      spellings.split(' ').map((spelling) => [spelling, { kind, unit: 100 * kind + unit }] as const),
    ),
  ),
)

/**
 * Whether an answer has a unit that is not the question's: `42 cents` where it speaks of dollars. False without a
 * question, and for times, which questions name for many reasons. Linear.
 */
export function isForeignUnit(unit: string | undefined, question: string): boolean {
  if (unit === undefined || question === '') return false
  const own = unit.toLowerCase()
  if (percents.has(own)) return !ofShares.test(question)
  const found = unitOf.get(own)
  // "in" is mostly no unit, nor "m" behind a number in money.
  if (found === undefined || own === 'in') return false
  const asked = (question.toLowerCase().match(words) ?? [])
    .filter((word) => word !== 'in')
    .map((word) => unitOf.get(word))
    .filter((other) => other?.kind === found.kind)
  return asked.length > 0 && asked.every((other) => other?.unit !== found.unit)
}

const compared = /^[\s*_$]*(?:\p{L}+\s)?(?:more|less|fewer)\s+than\b/u
const rate = /^[\s*_$]*(?:\p{L}+\s)?(?:per|an?|each|every)\s+(\p{L}+)/iu
const ordinal = /^(?:st|nd|rd|th)(?![\p{L}])/u
const counts = /\bhow\s+(?:many|much)\b/i
const counted = /^[\s*_)]*(\p{L}{2,})(?![\p{L}])(?!\s+(?:and|of|in|per)\b)/u

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
  if (per !== '' && times.test(per) && !asksRate.test(asked)) {
    const topic = /[^.!?]*\?(?![\s\S]*\?)/.exec(asked)?.[0] ?? asked
    return !topic.includes(per.toLowerCase().replace(/s$/, ''))
  }
  if (rateElsewhere.test(rest)) return !asked.includes(rateElsewhere.exec(rest)?.[1]?.toLowerCase() ?? ' ')
  const [, thing = ''] = counted.exec(rest) ?? []
  return thing !== '' && !noThing.test(thing) && isCountedBeside(stemOf(thing.toLowerCase()), asked)
}

const asksRate = /\b(?:per|each|every|rate|speed|fast|average|pace)\b/
const rateElsewhere =
  /^[\s*_$]*\p{L}*\s?(?:al|por|pro|par|am|ao)\s+(d[ií]a|hora|minuto|mes|año|tag|stunde|monat|jahr|jour|heure|mois|giorno|ora|mese)(?![\p{L}])/iu
const noThing =
  /^(?:of|in|on|at|to|and|or|for|out|per|more|less|fewer|than|with|are|is|were|was|have|has|each|from|by|that|which|who|so|left|as|because|since|remain\w*|total|altogether)$/i
const timesFirst = /^(?:more\s+)?(?:seconds|minutes|hours|days|weeks|months|years)\b/
const several = /^(?:\p{L}+\s+){0,3}?(?:\p{L}*[^s\s]s|men|women|people|children|feet|fish|sheep)(?![\p{L}])/u
const times = /^(?:second|minute|hour|day|week|month|year)s?$/i
const askedThing =
  /\bhow\s+(?:many|much)\s+((?:(?!\b(?:does|do|did|are|is|was|were|will|would|can|could|has|have|had|should|must|in|for|over|after|during|if|when|per|on|by|at|to|from)\b)[^?.!]){0,80})/g
const given =
  /(?:\d|(?<![\p{L}])(?:two|three|four|five|six|seven|eight|nine|ten|twelve))\s+(?:\p{L}+\s+)?(\p{L}{2,})/gu

/** What a question asks for, and what else it counts, by their stems. */
interface Counts {
  readonly question: string
  /** null: it does not name what it asks for: `How many are left?` */
  readonly wanted: ReadonlySet<string> | null
  readonly isOfTime: boolean
  readonly given: ReadonlySet<string>
}

/** Answers to one question come together. */
let latest: Counts | undefined

function countsOf(question: string): Counts {
  if (latest?.question === question) return latest
  const near = question.slice(-4000)
  const phrases = Array.from(near.matchAll(askedThing), ([, phrase = '']) => phrase)
  const stems = (texts: readonly string[]): ReadonlySet<string> =>
    new Set(texts.flatMap((text) => text.match(words) ?? []).map(stemOf))
  latest = {
    question,
    wanted: phrases.some((phrase) => several.test(phrase)) ? stems(phrases) : null,
    isOfTime: phrases.some((phrase) => timesFirst.test(phrase)),
    given: stems(Array.from(near.matchAll(given), ([all]) => all)),
  }
  return latest
}

/** Whether a question counts a thing and asks for another one: months are no weeks. */
function isCountedBeside(thing: string, question: string): boolean {
  const { wanted, isOfTime, given } = countsOf(question)
  if (wanted === null || wanted.has(thing)) return false
  return (isOfTime && times.test(thing)) || given.has(thing)
}
