import { countedWords } from '../number-words.ts'
import { children, type Expression, number, product } from './expression.ts'
import { rational } from './rational.ts'

const words = (text: string): string[] => text.split(' ')

const families: Readonly<Record<string, string>> = {
  m: 'metre meter metres meters 米',
  cm: 'centimetre centimeter centimetres centimeters 厘米',
  mm: 'millimetre millimeter millimetres millimeters 毫米',
  km: 'kilometre kilometer kilometres kilometers kms 千米 公里',
  in: 'inch inches',
  ft: 'foot feet',
  yd: 'yard yards yds',
  mi: 'mile miles',
  g: 'gram grams gm 克',
  kg: 'kilogram kilograms kgs 千克 公斤',
  mg: 'milligram milligrams',
  lb: 'pound pounds lbs',
  oz: 'ounce ounces',
  ton: 'tons tonne tonnes 吨',
  L: 'litre liter litres liters 升',
  mL: 'millilitre milliliter millilitres milliliters ml 毫升',
  gal: 'gallon gallons',
  cup: 'cups',
  pint: 'pints pt',
  quart: 'quarts qt',
  acre: 'acres',
  hectare: 'hectares',
  bit: 'bits',
  byte: 'bytes',
  kB: 'kilobyte kilobytes KB',
  MB: 'megabyte megabytes',
  GB: 'gigabyte gigabytes',
  kelvin: 'kelvins',
  celsius: '℃',
  fahrenheit: '℉',
  knot: 'knots',
  decade: 'decades',
  century: 'centuries',
  s: 'second seconds sec secs 秒',
  min: 'minute minutes mins 分钟',
  h: 'hour hours hr hrs 小时',
  day: 'days 天',
  week: 'weeks wk wks',
  month: 'months',
  year: 'years yr yrs 年',
  dollar: 'dollars usd USD bucks',
  cent: 'cents ¢ penny pennies',
  nickel: 'nickels',
  dime: 'dimes',
  peso: 'pesos',
  franc: 'francs CHF',
  euro: 'euros EUR',
  sterling: 'GBP',
  yuan: 'RMB 元',
  rupee: 'rupees INR ₹',
  mph: 'mi/h miles/hour',
  'km/h': 'kmh kph kilometers/hour',
  'm/s': 'mps meters/second metres/second',
  degree: 'degrees deg 度',
  rad: 'radian radians',
  N: 'newton newtons',
  J: 'joule joules',
  kJ: 'kilojoule kilojoules',
  W: 'watt watts',
  kW: 'kilowatt kilowatts',
  V: 'volt volts',
  Pa: 'pascal pascals',
  mol: 'mole moles',
  Hz: 'hertz',
  am: 'a.m AM',
  pm: 'p.m PM',
}

const canonical: ReadonlyMap<string, string> = new Map(
  Object.entries(families).flatMap(([unit, spellings]) =>
    [unit, ...words(spellings)].map((spelling) => [spelling, unit] as const),
  ),
)

/** True for a unit of measure with two letters or more. */
export function isUnit(word: string): boolean {
  return canonical.has(word) && word !== 'min'
}

/** Units that a single letter in upright type after a number stands for. */
export const letterUnits: ReadonlySet<string> = new Set([...'mgs', ...'hLJ', ...'NWV'])

/** The canonical spelling of a unit. null: unknown unit. */
export function canonicalUnit(written: string): string | null {
  const compact = written
    .replace(/\s+/g, ' ')
    .replaceAll(' per ', '/')
    .replace(/[ {}\\]/g, '')
    .replace(/(?<=\w)\.(?!\w)/g, '')
  const [, word = '', exponent = ''] =
    /^(?:square|sq|cubic|cu|平方|立方)?(.*?)(?:\^?([23]))?$/.exec(compact) ?? []
  const unit = canonical.get(word) ?? canonical.get(word.toLowerCase())
  if (unit === undefined) return null
  const power =
    exponent || (/^(?:sq|平方)/.test(compact) ? '2' : /^(?:cu(?!p)|立方)/.test(compact) ? '3' : '')
  return unit + power
}

/** Words of size, by the power or multiple that they stand for. */
const sizes: ReadonlyMap<string, bigint> = new Map(
  Object.entries({
    hundred: 100n,
    thousand: 1000n,
    million: 10n ** 6n,
    billion: 10n ** 9n,
    trillion: 10n ** 12n,
    dozen: 12n,
    lakh: 10n ** 5n,
    crore: 10n ** 7n,
    百: 100n,
    千: 1000n,
    万: 10n ** 4n,
    亿: 10n ** 8n,
  }).flatMap(([word, size]) => [[word, size] as const, [`${word}s`, size] as const]),
)

/** What is counted, where no plural tells it. */
const things: ReadonlySet<string> = new Set(
  words(
    'people children men women mice fish sheep deer geese teeth oxen dice data vertices indices matrices fruit money ' +
      'candy water milk juice flour sugar paint sand rice increase profit interest unit point way person student ' +
      'apple book marble coin card ball solution number integer digit step vote ticket page total altogether ' +
      '个 人 名 只 次 本 种 颗 件 张 条 支 棵 朵 块 辆 位 岁 题 组 枚 页 套 袋 箱 瓶 杯',
  ),
)

/** Adjectives and small words that leave a count as it is. */
const besides: ReadonlySet<string> = new Set(
  words(
    'the a an of per each old away long wide tall high deep fast square cubic in all sq whole full different distinct possible positive real integer prime red blue green yellow ' +
      'black white brown orange pink purple small large big new old young such ordered unique u.s us',
  ),
)

/** Words that end like a plural and are none, or change the number. */
const noPlural: ReadonlySet<string> = new Set(
  words(
    'minus plus is was has does as less unless this thus perhaps besides afterwards always its his hers ours ' +
      'yours theirs us yes guess lies fails tenths hundredths thousandths millionths halves thirds quarters fourths ' +
      'fifths sixths sevenths eighths ninths twelfths ones tens doubles basis nevertheless nonetheless regardless ' +
      'versus wrongs misses this across towards sometimes gross grosses whereas negatives ' +
      'opposites inverses reciprocals factorials percents otherwise',
  ),
)

/** What the words after a number say. */
export interface Quantity {
  /** The number counts so many. */
  readonly size: bigint
  /** The canonical unit of measure. '': none, or things that are counted. */
  readonly unit: string
}

/**
 * Reads the words after a number: words of size, then a unit or what is counted. `knows`: further words that
 * are allowed. null: they say something else, so they may take the number back.
 */
export function readQuantity(written: string, knows: (word: string) => boolean): Quantity | null {
  const plain = written
    .replace(/[\\{}]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  const found = /^[百千万亿]/.test(plain) ? [plain[0] ?? '', plain.slice(1)] : plain.split(' ')
  let size = 1n
  let at = 0
  for (let next = sizes.get((found[at] ?? '').toLowerCase()); next !== undefined && at < 3; ) {
    size *= next
    next = sizes.get((found[++at] ?? '').toLowerCase())
  }
  const rest = found.slice(at).filter((word) => word !== '')
  if (rest.length === 0) return { size, unit: '' }
  const unit = canonicalUnit(rest.join(' '))
  if (unit !== null) return { size, unit }
  return rest.length <= 8 && namesThings(rest, knows) ? { size, unit: '' } : null
}

function namesThings(rest: readonly string[], knows: (word: string) => boolean): boolean {
  let counted = false
  for (const written of rest.flatMap((word) => word.split('/'))) {
    const word = written.replace(/[.,]$|\^?[23]$/, '').toLowerCase()
    if (sizes.has(word)) return false
    if (things.has(word) || isUnit(word) || isPlural(word) || knows(word)) counted = true
    else if (!besides.has(word) && word !== '') return false
  }
  return counted
}

const isPlural = (word: string): boolean => /^[a-z]{3,}s$/.test(word) && !noPlural.has(word)

const longestWords = 200

/** A whole number in English words, with a unit or what is counted: `forty-two`, `minus five apples`. null: none. */
export function numberInWords(text: string, knows: (word: string) => boolean): Expression | null {
  if (text.length > longestWords || !/^[A-Za-z][A-Za-z ,-]*[.]?$/.test(text)) return null
  const words = text.toLowerCase().match(/[a-z]+/g) ?? []
  const isNegative = words[0] === 'minus' || words[0] === 'negative'
  const start = isNegative ? 1 : 0
  const { value, end } = countedWords(words, start)
  if (value === null) return null
  const of = number(rational(isNegative ? -value : value))
  if (end === words.length) return of
  const quantity = readQuantity(words.slice(end).join(' '), knows)
  if (quantity === null) return null
  return { kind: 'measured', of: product([of, number(rational(quantity.size))]), unit: quantity.unit }
}

const moneySigns = [
  ['dollar', /\\\$|US\$|\bUSD\b/],
  ['euro', /€|\bEUR\b/],
  ['sterling', /£|\bGBP\b/],
  ['yuan', /¥|\bRMB\b/],
  ['rupee', /₹/],
  ['cent', /¢|\\cents?(?![a-z])/],
] as const

const currencies: ReadonlySet<string> = new Set(moneySigns.map(([currency]) => currency))
const moneyMarks = /\\\$|[€£¥₹¢]|\\cent|USD|EUR|GBP|RMB/

/** Whether a text names money by a sign or a code. Dollar signs in pairs delimit mathematics. */
export const namesMoney = (text: string): boolean =>
  moneyMarks.test(text) || (text.includes('$') && text.split('$').length % 2 === 0)

/** Whether an answer names a unit that the truth lacks, where both name some and money is among them. */
export function isOtherMoney(
  truth: string,
  gold: Expression | undefined,
  answer: string,
  read: Expression | undefined,
): boolean {
  const [want, have] = [unitsOf(truth, gold), unitsOf(answer, read)]
  const isMoney = want.size > 0 && [...want, ...have].some((unit) => currencies.has(unit))
  return isMoney && [...have].some((unit) => !want.has(unit))
}

/** The units in an answer and the currencies that its text names. */
function unitsOf(text: string, of: Expression | undefined): ReadonlySet<string> {
  const found = new Set(of === undefined ? [] : unitsIn(of))
  for (const [currency, sign] of moneySigns) if (sign.test(text)) found.add(currency)
  if (text.replace(/\\\$/g, '').split('$').length % 2 === 0) found.add('dollar')
  return found
}

function unitsIn(of: Expression): readonly string[] {
  const inner = children(of).flatMap(unitsIn)
  if (of.kind === 'percent' || of.kind === 'degrees') return [of.kind, ...inner]
  return of.kind === 'measured' && of.unit !== '' ? [of.unit, ...inner] : inner
}
