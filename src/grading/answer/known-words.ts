import type { Fraction } from '../arithmetic.ts'
import { countedWords, everyNumberInWords, numberWords } from '../number-words.ts'
import { undressed } from './legible.ts'
import { unitName, withScales } from './units.ts'

/**
 * Which words may stand beside a number that is marked as the answer. A list of what denies, doubts, scales or
 * bounds a number never ends; what states one is short: these words, and those of the question.
 */
const stating = new Set(
  `the a an my our your ans its this that these those it he she they we i you there here who which what
  answer answers final correct right result value number total sum amount count difference solution quantity price cost
  is are was were be equals equal makes make made comes gives becomes means has have had will would can should must need needs
  so thus therefore hence then now and of in on at to for per each every by with all altogether overall together
  left over remain remains remaining exactly precisely simply indeed just only still more
  cost costs pay pays paid spend spends spent earn earns earned save saves saved get gets got sell sells sold buy buys bought
  owe owes take takes took receive receives use uses used give gave eat eats keep keeps read reads
  her his their him them us me himself herself both
  x y z n d t k h hr hrs s
  us usd eur gbp rs dollar dollars cent cents euro euros pound pounds rupee rupees yuan yen bucks
  percent percentage points degrees times way ways
  second seconds minute minutes hour hours day days week weeks month months year years
  am pm noon midnight o'clock old later
  km cm mm kg mg lb lbs oz ml mph kmh ft inch inches foot feet yard yards mile miles meter meters metre metres
  liter liters litre litres gram grams kilogram kilograms ounce ounces gallon gallons
  because since as namely ie
  people students children items pieces units things
  quad text boxed`.split(/\s+/),
)
/** Words that lead from a solution to its answer, besides those that state one. */
const leading = new Set(
  `finally lastly consequently accordingly overall conclusion conclude summary summarize short brief result results
  requested required format asked question problem given combined whole entire net gross state stating stated report
  reporting write writing put putting box boxed boxing present provide line number final last below above following
  follows obtain obtains find finds found see compute computed calculate calculated determine determined derive got
  arrive arrives reach reaches yield yields leads lead leave leaves leaving end ends ended come add adds adding
  subtract subtracting multiply multiplying divide dividing combining simplify simplifying simplifies reduce reduces
  round rounded rounding substitute plug plugging evaluate first second third next step steps also from after before
  during between into up out down back such each other another smallest largest greatest least lowest highest maximum
  minimum average mean be been being do does did doing can may go goes going let let's us re earlier one two three this time table
  shows show shown measure measures code output prints program returns run running equation expression formula what need know want
  hereby completely entirely completed complete done corrected revised correct updated verified check checked checking
  begin aligned align array cases cdot frac quad qquad hline implies hspace vspace leq
  solve solved solving solves working calculation calculations computation reasoning everything putting together
  indeed clearly easily simply directly immediately obviously certainly definitely yes okay ok alright great
  response reply surely sure thing gladly course absolutely bottom line tl dr recap count
  product quotient ratio percentage perimeter area volume length width height distance speed rate age weight profit
  loss income change discount share shares mass temperature average
  document documents passage context source sources search article page according option options choice choices letter matches
  looking searched consistent best appropriate accurate only closest nearest correction but yet while though although nevertheless
  nonetheless however
  elimination process i'll we'll i'd it's that's let's i'm sure certain confident
  match correspond corresponds select selected choose pick
  receive received bring brings bringing based information analysis data about how many much therefore get
  positive negative larger smaller greater bigger fewer less than exact whole integer even odd prime common half twice
  double triple quarter third fourth increase increases increased decrease decreases decreased rise rises drop drops
  dropped grow grows grew fall falls fell change changes changed start starts started begin begins end ends
  multiplied divided added subtracted squared power root squares cubes factor factors fraction decimal ratio sign
  denominator numerator base side sides angle slope radius diameter circle triangle square rectangle line point
  minus plus over under within across around amount to think believe fits fit works hold holds stands wins qualifies passes survives accept suits agrees applies tick ticks mark marks circle listed labeled labelled gcd lcm hcf gcf lcd sqrt log ln sin cos tan`.split(
    /\s+/,
  ),
)
/** Words of other languages that do the same. A sentence without any English word is not judged. */
const foreign = new Set(
  `por lo tanto portanto donc damit also lautet quindi risposta finale totale der die das den sind il en sono tiene
  insgesamt respuesta resultado solucion conclusion corrijo antwort ergebnis endergebnis resposta risultato soluzione
  endgultige richtige korrekte bonne vraie correcta correta corretta es est ist y o a e la le el`.split(
    /\s+/,
  ),
)
const counting = new Set(numberWords.filter((word) => word !== 'and'))

/** A word with its apostrophes. */
export const wordPattern = /[\p{L}\p{M}]+(?:['’][\p{L}]+)*/gu
/** The name of a function whose value follows: `gcd(252, 198) = 18`. */
const functionBefore = /\\?\p{L}{1,20}(?=\s?\([^()]{0,80}\)\s*=)/gu
const reasonFollows = /\b(?:because|since|as)\b|[=(]/i
/** A word without the endings of its forms. */
export const stemOf = (word: string): string =>
  word.length > 4
    ? word.replace(/(?:['’]s|ally|al|ies|es|s|ed|ing|y)$/, '')
    : word.replace(/(?:['’]s|s)$/, '')

/** One name for all forms of a word, and for all spellings of a unit. */
export function nameOf(word: string): string {
  const name = unitName(word)
  return name === word ? stemOf(word) : name
}

/**
 * Whether words beside a marked number are neither known nor of the question: before it none may be, after it
 * one, as the name of what is counted. Without a question two more may be, in case they are names. `own`: what of `rest`
 * is about the number. Linear.
 */
export function hasStrayWords(
  marked: string,
  rest: string,
  value: Fraction,
  question: string,
  own = rest,
): boolean {
  const all =
    withScales(undressed(marked)).replace(functionBefore, ' ').toLowerCase().match(wordPattern) ?? []
  const [ending = ''] = own
    .toLowerCase()
    .replace(/\b(?:in|at)\s+the\s+end\b/, ' ')
    .split(reasonFollows, 1)
  const after = ending.match(wordPattern) ?? []
  const before = all.slice(0, all.length - (rest.match(wordPattern) ?? []).length)
  let asked: ReadonlySet<string> | null = null
  const isAsked = (word: string): boolean => {
    asked ??= new Set(withScales(question).toLowerCase().match(wordPattern)?.map(nameOf))
    return asked.has(nameOf(word))
  }
  const isStray = (word: string): boolean => {
    if (stating.has(word) || counting.has(word) || foreign.has(word) || !/^[a-z'’]+$/.test(word)) return false
    return !isAsked(word)
  }
  const spare = question === '' ? 2 : 0
  const last = before.at(-1) ?? ''
  if (count(before, isStray) > spare || (singular.test(last) && !isAsked(last))) return true
  // "two hundred 49", "one thousand (49)"
  if (/\d/.test(marked) && before.some((word) => counting.has(word)) && !states(before, value)) return true
  if (/^(?:was|were)$/.test(all[0] ?? '')) return true
  if (asks.test(marked) || (spare === 0 && hasForeignBracket(own, question))) return true
  return count(after, isStray) > spare + (namesCounted(own, after, isStray) ? 1 : 0)
}

/**
 * Whether the one unknown word after a number may name what is counted: next to the number, behind a word that
 * describes it, or behind `of`.
 */
function namesCounted(rest: string, after: readonly string[], isStray: (word: string) => boolean): boolean {
  if (!/^[\s*_)$]*\p{L}/u.test(rest)) return false
  const at = after.findIndex(isStray)
  const word = after[at] ?? ''
  if (relating.test(word) || (after.length === 1 && word.length > 1 && !plural.test(word))) return false
  return at <= 0 || after[at - 1] === 'of' || (at === 1 && !joining.test(after[0] ?? ''))
}

const joining =
  /^(?:in|on|at|with|by|to|for|from|and|or|then|per|each|my|our|the|a|an|i|we|they|he|she|it|this|that|is|are|was)$/
/** A name of several things, or of a mass of them. */
const plural = /(?:[^s]s|men|people|children|feet|fish|sheep|deer|money|[^\0-\x7f])$/
/** No names of things. */
const relating =
  /^(?:feels|looks|seems|sounds|says|thinks|ago|below|above|under|less|fewer|than|last|next|back|until|till|formerly)$/
/** Before a number, one of these makes a name of it: `the year 42`. */
const singular = /^(?:year|month|week|day|hour|minute|second|age|time|way)$/
const asks =
  /^[\s*_$({]*(?:(?:would|could|can|might|does|do|did|shall|should)\s|(?:is|are|was|were|will)\s+(?:it|this|that|they|there|we|he|she|the\s+\w+)\b)/i

/** Whether a bracket after a number holds unknown words, other than a reason or a calculation: `42 (octal)`. */
export function hasForeignBracket(rest: string, question: string): boolean {
  const [, inner = ''] = /^[\s*_$]*(?:\p{L}+[\s*_$]*)?[([]([^()[\]\n]{1,80})[)\]]/u.exec(rest) ?? []
  return (
    /[a-z]{3}/i.test(inner) &&
    !/[=×*/+]|\b(?:because|since|as|i\.?e|or)\b/i.test(inner) &&
    hasForeignWords(inner.replace(everyNumberInWords, ' '), question)
  )
}

/** Whether words end in the number that the digits after them write again. */
function states(words: readonly string[], { numerator, denominator }: Fraction): boolean {
  const start = words.findIndex((word) => counting.has(word))
  const { value, end } = countedWords([...words], start)
  return end === words.length && value === numerator && denominator === 1n
}

/** Whether a word states a result or leads to one, in English or another language. */
export const isKnownWord = (word: string): boolean =>
  stating.has(word) || leading.has(word) || counting.has(word) || foreign.has(word)

const count = <T>(all: readonly T[], holds: (one: T) => boolean): number => all.filter(holds).length

const formula = /\$[^$]*(?:\$|$)|\\\([\s\S]*?(?:\\\)|$)|\\\[[\s\S]*?(?:\\\]|$)/g
const command = /\\[A-Za-z]+/g
/** A variable, a side of a triangle or a function: `xy`, `ABC`, `gcd`. Longer words in a formula were set as text. */
const shortName = /(?<![\p{L}'’])\p{L}{1,3}(?![\p{L}'’])/gu

/** A sentence without the commands of LaTeX and the names in its formulas, which are no words. At most quadratic: for a sentence. */
function proseOf(sentence: string): string {
  if (!/[\\$]/.test(sentence)) return sentence
  return sentence
    .replace(formula, (inner) => inner.replace(command, ' ').replace(shortName, ' '))
    .replace(command, ' ')
}

/** Words that only English has. */
export const englishWords =
  /(?<![\p{L}])(?:the|is|are|was|were|of|to|it|that|this|these|my|our|so|we|has|have|what|how|if|not|with|one|you|they|by|an|for|on|at|your|would|could|had)(?![\p{L}])/iu
/** Words by which a sentence in another language denies. */
export const foreignDenial =
  /(?<![\p{L}])(?:no|non|não|nao|nicht|kein\p{L}*|ne|pas|jamais|nunca|jamás|nie|niemals|mai|не|нет|никогда)(?![\p{L}])/iu
const isForeign =
  /[^\0-\x7f]|(?<![\p{L}])(?:el|los|las|un|una|del|que|es|son|por|para|con|lo|al|su|le|les|du|et|est|sont|par|pour|dans|ce|elle|nous|der|das|und|ist|sind|ein|eine|zu|mit|wir|gli|di|sono|per|che|os|um|uma|da|em|luego|donc|quindi|damit|folglich|quedan|queda|reste|restent|restano|ficam|bleiben|bleibt|übrig|es|insgesamt)(?![\p{L}])/iu
/** Whether a sentence of three words or more is in no English: the lists of words that state a result do not fit it. */
export const isOtherLanguage = (sentence: string): boolean =>
  (sentence.match(wordPattern)?.length ?? 0) > 2 && !englishWords.test(sentence) && isForeign.test(sentence)

/** What is certain, and clauses that tell which things are meant, may deny. */
const harmless =
  /\b(?:without\s+(?:a|any)\s+|no\s+)doubt\b|\b(?:who|that|which)\s+(?:do|does|did|are|were|have|had|has|is|was)\s+not\b(?:\s+have\b)?|\bmost\s+(?:likely|appropriate|suitable|accurate|plausible|logical|reasonable)\b|(?<=\p{L}\s)(?<!\b(?:I|we|you)\s)\b(?:did|do|does|were|have|had|has)\s+not\s+\w+|^\W*(?:(?:So|Then|Now|Thus)\W+)?(?:Ignoring|Neglecting|Omitting|Removing|Leaving|Considering|Using|Taking|Combining|Adding|With|After|Since|As|Because|By|To)\b[^,]{1,80},/giu

/** A person of the story, or a count of things, may have a name of its own. */
const named =
  /\b(?:number|amount|sum|product|difference|total|value|price|cost|quantity)\s+of\b|^\W*(?:(?:So|Thus|Hence|Therefore|Then|Now)\b\W*)?\p{Lu}[a-z]+\s+(?:has|had|have|needs|will)\b/u

/**
 * Whether a sentence that leads to a marked answer, or goes on after it, has words that are neither known nor of the
 * question. One may be, two beside three words of the question: a story has its names. Linear.
 */
export function hasForeignWords(sentence: string, question: string, spare = 0): boolean {
  const plain = proseOf(sentence).replace(/\([^()]{0,200}\)/g, ' ')
  const all = plain.replace(harmless, ' ').toLowerCase().match(wordPattern) ?? []
  // A single letter is a name in a formula.
  const unknown = all.filter((word) => !isKnownWord(word) && /^[a-z'’]{2,}$/.test(word))
  if (unknown.length <= spare) return false
  if (isOtherLanguage(plain)) return false
  const asked = new Set(question.toLowerCase().match(wordPattern)?.map(nameOf))
  const strays = unknown.filter((word) => !asked.has(nameOf(word)))
  const shared = new Set(all.filter((word) => !isKnownWord(word) && asked.has(nameOf(word)))).size
  const allowed =
    (question === '' ? 2 : shared >= 3 ? 2 : shared >= 1 ? 1 : 0) +
    (named.test(plain) && !/\b(?:the|my|this|that|which)\s+answer\b/i.test(plain) ? 2 : 0)
  return strays.length > Math.max(allowed, spare)
}
