import type { Fraction } from '../arithmetic.ts'
import { countedWords, numberWords } from '../number-words.ts'
import { undressed } from './legible.ts'

/**
 * Which words may stand beside a number that is marked as the answer. A list of what denies, doubts, scales or
 * bounds a number never ends; what states one is short: these words, and those of the question.
 */
const stating = new Set(
  `the a an my our your its this that these those it he she they we i you there here who which what
  answer answers final correct right result value number total sum amount count difference solution quantity price cost
  is are was were be equals equal makes make made comes gives becomes means has have had will would can should must need needs
  so thus therefore hence then now and of in on at to for per each every by with all altogether overall together
  left over remain remains remaining exactly precisely indeed just only still more fewer less than
  cost costs pay pays paid spend spends spent earn earns earned save saves saved get gets got sell sells sold buy buys bought
  owe owes take takes took receive receives use uses used give gave eat eats keep keeps read reads
  her his their him them us me himself herself both
  x y z n d t k
  us usd eur gbp rs dollar dollars cent cents euro euros pound pounds rupee rupees yuan yen bucks
  percent percentage points degrees times way ways
  second seconds minute minutes hour hours day days week weeks month months year years
  am pm noon midnight o'clock old later ago
  km cm mm kg mg lb lbs oz ml mph kmh ft inch inches foot feet yard yards mile miles meter meters metre metres
  liter liters litre litres gram grams kilogram kilograms ounce ounces gallon gallons
  because since as namely ie
  people students children items pieces units things
  quad text boxed respuesta es la final réponse est antwort ist`.split(/\s+/),
)
const counting = new Set(numberWords.filter((word) => word !== 'and'))

const wordPattern = /[\p{L}\p{M}]+(?:['’][\p{L}]+)*/gu
const reasonFollows = /\b(?:because|since|as)\b|[=(]/i
const stemOf = (word: string): string =>
  word.length > 4 ? word.replace(/(?:['’]s|ies|es|s|ed|ing|y)$/, '') : word.replace(/(?:['’]s|s)$/, '')

/**
 * Whether words beside a marked number are neither known nor of the question: before it none may be, after it
 * one, as the name of what is counted. Without a question two more may be, in case they are names. Linear.
 */
export function hasStrayWords(marked: string, rest: string, value: Fraction, question: string): boolean {
  const all = undressed(marked).toLowerCase().match(wordPattern) ?? []
  const [ending = ''] = rest.toLowerCase().split(reasonFollows, 1)
  const after = ending.match(wordPattern) ?? []
  const before = all.slice(0, all.length - (rest.match(wordPattern) ?? []).length)
  let asked: ReadonlySet<string> | null = null
  const isStray = (word: string): boolean => {
    if (stating.has(word) || counting.has(word) || !/^[a-z'’]+$/.test(word)) return false
    asked ??= new Set(question.toLowerCase().match(wordPattern)?.map(stemOf))
    return !asked.has(stemOf(word))
  }
  const spare = question === '' ? 2 : 0
  if (count(before, isStray) > spare) return true
  // "two hundred 49", "one thousand (49)"
  if (/\d/.test(marked) && before.some((word) => counting.has(word)) && !states(before, value)) return true
  const isNamed = /^[\s*_)$]*\p{L}/u.test(rest)
  return count(after, isStray) > spare + (isNamed ? 1 : 0)
}

/** Whether words end in the number that the digits after them write again. */
function states(words: readonly string[], { numerator, denominator }: Fraction): boolean {
  const start = words.findIndex((word) => counting.has(word))
  const { value, end } = countedWords([...words], start)
  return end === words.length && value === numerator && denominator === 1n
}

const count = <T>(all: readonly T[], holds: (one: T) => boolean): number => all.filter(holds).length
