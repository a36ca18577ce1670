import { followUp } from './answer/follow-up.ts'
import { isDoubtful } from './answer/remarks.ts'
import { isHedged } from './answer/wording.ts'

/** Whether a question has a word. */
type IsAsked = (word: string) => boolean

/** A longer answer is not shortened. The bound also limits the patterns' cost. */
const longest = 500

/** What tells more of the answer before it, and names no other one. */
const opening =
  /^(who|whom|whose|which|where|when|after|during|specifically|namely|making|because|since|with(?=\s+(?:an?|the|its|his|her)\s)|(?:from|in|on)(?=\s+(?:[Tt]he\s+)?\p{Lu})|an?|the|his|her|its|their|one\s+of)\s+\S/u
/** What contrasts, chooses or judges. */
const turning =
  /\b(?:or|nor|but|not|no|though|although|while|whereas|unlike|instead|rather|until|if|unless|than|then|later|before|actually|actual|correct|right|true|truth|answer|real|really|says?|said|claims?|thinks?|believes?|I|we|you|my|knows?|so-called)\b|[;:?!()[\]{}"|/~<>]|\s[-–—]\s|\.\s/i
/** A year behind an answer without digits: `around 1665`, `in March 1901`. */
const when =
  /,?\s+(?:(?:back\s+)?in|around|on|since|circa|c\.)\s+(?:(?:the\s+year|early|late|\d{1,2}|January|February|March|April|May|June|July|August|September|October|November|December)\s+){0,2}\d{4}$/i
const noRole = `(?:of|to|than|not|rather|other|for|from|with|by|in|and|or|but|after|before|behind|against|above|under|near|around|about|like|unlike|versus|beside|besides|beyond|over|via|no|nor|rival|opponent|enemy|former|fake|false|wrong|pseudo|quasi|anti|faux|non|ex|impostor|imposter|so-called|alleged|supposed|would-be|is|was|are|were)`
const roleWord = `(?!${noRole}\\b)[\\p{L}'’-]{2,20},?\\s+`
/** The role of the person or thing that is named next: `by the Scottish physician Alexander Fleming`. */
const role = new RegExp(
  `(?<=\\b(?:by|is|was|are|were)\\s)(?:the|an?|his|her|its|their)\\s+(?:${roleWord}){1,4}$`,
  'iu',
)
/** What somebody or something is, by its ending or by name. */
const roleNoun = `(?!(?:n?either|n?ever|other|another|rather|whether|former|latter|later|after|under|over|however|per)\\b)(?:[a-zß-ÿ-]{2,20}(?:er|or|ist|ian|ess|man|woman|ant|ent|eur|ar)|poet|king|queen|river|city|town|planet|island|state|band|god|goddess|monk|pope|nun|pilot|chef|spy|saint|lake|sea|country|capital|element|novel|play|film|company|singer|scholar|duo|trio|group|team)`
/** The same at the start of an answer, before a name: `English novelist Jane Austen`. */
const roleFirst = new RegExp(
  `^(?:(?:[Tt]he|[Aa]n?|[Hh]er|[Hh]is|[Ii]ts)\\s+)?(?:(?!${noRole}\\b)(?:[a-zß-ÿ][a-zß-ÿ'’-]{1,20}|[A-Z][a-zß-ÿ]{2,12}(?:ish|an|ese|ch|sh))\\s+){0,3}(?!${noRole}\\b)${roleNoun}\\s+$`,
  'u',
)
const day = String.raw`(?:(?:born|b\.|died|d\.|c\.|ca\.|circa)\s*)?(?:\d{1,2}\s+)?(?:(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+)?(?:\d{1,2},\s+)?\d{1,4}(?:\s+(?:BC|AD|BCE|CE))?`
/** What a bracket right behind a name may tell of it: dates, a source, or what it is in one word. */
const bracketed = new RegExp(
  String.raw`^\s?(?:\(\s?${day}(?:\s?[-–—]\s?(?:${day})?)?\s?\)|\[\d{1,3}\]|\(\d{1,2}\)|\((?:the\s+)?(?!${noRole}\b)\p{Ll}{4,20}\))`,
  'u',
)
/** Another answer that is ruled out: `Canberra, not Sydney`. */
const ruledOut =
  /(?:,\s*|\s?\(\s?)(?:and\s+)?not\s+((?:(?:in|at|on|by|the|an?)\s+){0,2}(?:(?:\p{Lu}|\d)[\p{L}\d'’.-]*(?![\p{L}\d'’.-])\s?|(?<=\b(?:the|an?)\s)\p{Ll}+(?!\p{Ll})\s?){1,4})\)?\.?$/u
const labelled =
  /^(?:the\s+)?(?:(?:final|correct)\s+)?(?:answer|author|writer|name|person|place|city|country|capital|year|date)\s*:\s+/i
const month =
  /(?<=\b(?:in|on)\s)(?:\d{1,2}(?:st|nd|rd|th)?\s+)?(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+(?:\d{1,2}(?:st|nd|rd|th)?,\s+)?$/i
const cleft = /^(it\s+(?:is|was)\s+)$/i

/**
 * An answer without what only tells more of the target in it: a clause behind it, a year, the country of a place, the
 * role of a person. null: there is nothing of the kind, or it may say something against the target. Only the target that
 * the clause before it commits to can count, so a list of such clauses earns no more than its head.
 */
export function withoutDetails(answer: string, target: string, isAsked: IsAsked): string | null {
  if (answer.length > longest || target === '') return null
  const sure = withoutRuledOut(answer, target)
  if (isHedged(sure) || isDoubtful(sure, '')) return null
  const plain = sure
    .replace(labelled, '')
    .replace(/\s?\([^\p{L}\p{N}()]{1,3}\)/gu, '')
    .replace(/\.\s*$/, '')
  const at = plain.toLowerCase().indexOf(target.toLowerCase())
  if (at < 0) return plain === answer ? null : plain
  const end = at + target.length
  const before = plain.slice(0, at)
  const tail = plain.slice(end)
  const hasDigits = /\d/.test(target)
  const isName = /^\p{Lu}/u.test(plain.slice(at))
  const short = isName && roleFirst.test(before) ? '' : before.replace(role, '')
  const lead = /^\d{4}$/.test(target) ? before.replace(month, '') : short
  const told = hasDigits ? tail : tail.replace(bracketed, '')
  const kept = hasDigits ? tail : told.replace(when, '')
  const rest = isDetail(lead, kept, target, isAsked) ? '' : kept
  const shorter = `${lead}${plain.slice(at, end)}${rest}`
  return shorter === answer.replace(/\.\s*$/, '') ? null : shorter
}

function withoutRuledOut(answer: string, target: string): string {
  const [all = '', other = ''] = ruledOut.exec(answer) ?? []
  return all === '' || other.toLowerCase().includes(target.toLowerCase())
    ? answer
    : answer.slice(0, answer.length - all.length)
}

/** Whether a text behind a target is a clause about it. */
function isDetail(before: string, tail: string, target: string, isAsked: IsAsked): boolean {
  const words = tail.replace(/(?<=\b(?:\p{Lu}|Mr|Mrs|Ms|Dr|St))\./gu, '')
  if (turning.test(words) || followUp(tail, () => null) !== null || (/\d/.test(target) && /\d/.test(tail)))
    return false
  const told = cleft.test(before) ? /^\s+(?:who|that|which)\s+(.{1,200})$/i.exec(words)?.[1] : undefined
  if (told !== undefined) return told.split(/\s+/).filter((word) => !isAsked(word)).length <= 1
  const clause = /^,\s+([^\n]{2,200})$/.exec(words)?.[1]
  if (clause === undefined) return false
  if (isCountry(clause)) return !isCountry(target)
  const [, word = ''] = opening.exec(clause) ?? []
  if (word === '') return false
  if (/^(?:wh|with|after|during|because|since|specifically|making)/i.test(word)) return true
  // "in Paris, in London"
  return !clause.includes(',') && !new RegExp(`\\b${word}\\s+(?:the\\s+)?$`, 'i').test(before)
}

let countries: ReadonlySet<string> | undefined

/** Whether a text is the English name of a country. */
function isCountry(text: string): boolean {
  countries ??= countryNames()
  return countries.has(text.toLowerCase())
}

function countryNames(): ReadonlySet<string> {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const codes = letters.flatMap((first) => letters.map((second) => first + second))
  return new Set(codes.map((code) => names.of(code)?.toLowerCase() ?? '').filter((name) => name !== ''))
}

const asking = /^\s*(?:who|what|which(?:\s+\p{L}+)?)\s+(\p{L}{3,})\s+([^?]{1,200}?)\s*\?/iu
const noVerb =
  /^(?:is|are|was|were|has|have|had|does|did|can|could|will|would|should|might|may|must|the|kind|sort|type|year|city|country|person)$/i

/**
 * Whether an answer swaps who does what: `Hamlet wrote Shakespeare` or `Shakespeare was written by Hamlet`, asked
 * `Who wrote Hamlet?`.
 */
export function swapsRoles(answer: string, targets: readonly string[], question: string): boolean {
  const [, verb = '', object = ''] = asking.exec(question.slice(0, 1000)) ?? []
  if (verb === '' || noVerb.test(verb) || answer.length > longest) return false
  const text = ` ${answer.toLowerCase().replace(/[.!,]/g, ' ').replace(/\s+/g, ' ')} `
  const did = verb.toLowerCase()
  const whole = object.replace(/^(?:the|an?)\s/i, '')
  // "the novel Emma" is also "Emma".
  const objects = [whole, whole.replace(/^(?:\p{Ll}[\p{L}'’-]*\s)+(?=\p{Lu})/u, '')].map((one) =>
    one.toLowerCase(),
  )
  return [...new Set(objects)].some((what) => isSwapped(text, did, what, targets))
}

function isSwapped(text: string, did: string, what: string, targets: readonly string[]): boolean {
  return targets.some((target) => {
    const who = target.toLowerCase()
    const [first, other] = [text.indexOf(` ${who} `), text.indexOf(` ${what} `)]
    if (first < 0 || other < 0) return false
    const [from, to] = first < other ? [first + who.length + 1, other] : [other + what.length + 1, first]
    const between = text.slice(from, to + 1)
    const isPassive = /\s(?:is|are|was|were|been)\s/.test(between) && /\sby\s/.test(between)
    const isActive = between.trim() === did
    return first < other ? isPassive : isActive
  })
}
