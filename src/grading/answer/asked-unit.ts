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
const percents = new Set(['%', 'percent', 'percentage'])
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
