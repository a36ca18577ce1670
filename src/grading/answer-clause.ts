import { followUp } from './answer/follow-up.ts'
import { isHedged } from './answer/wording.ts'

/** Whether a question has a word. */
type IsAsked = (word: string) => boolean

/** A longer answer is not shortened. The bound also limits the patterns' cost. */
const longest = 500

/** What tells more of the answer before it, and names no other one. */
const opening =
  /^(who|whom|whose|which|where|when|after|during|specifically|namely|making|because|since|(?:from|in|on)(?=\s+(?:[Tt]he\s+)?\p{Lu})|an?|the|his|her|its|their|one\s+of)\s+\S/u
/** What contrasts, chooses or judges. */
const turning =
  /\b(?:or|nor|but|not|no|though|although|while|whereas|unlike|instead|rather|until|if|unless|than|then|later|before|actually|actual|correct|right|true|truth|answer|real|really|says?|said|claims?|thinks?|believes?|I|we|you|my|knows?|so-called)\b|[;:?!()[\]{}"|/~<>]|\s[-–—]\s|\.\s/i
/** A year behind an answer without digits: `around 1665`, `in March 1901`. */
const when =
  /,?\s+(?:(?:back\s+)?in|around|on|since|circa|c\.)\s+(?:(?:the\s+year|early|late|\d{1,2}|January|February|March|April|May|June|July|August|September|October|November|December)\s+){0,2}\d{4}$/i
/** The role of the person or thing that is named next: `by the Scottish physician Alexander Fleming`. */
const role =
  /(?<=\b(?:by|is|was|are|were)\s)(?:the|an?|his|her|its|their)\s+(?:(?!(?:of|to|than|not|rather|other|for|from|with|by|in|and|or|but|rival|opponent|enemy|former|fake|false|wrong)\b)[\p{L}'’-]{2,20},?\s+){1,4}$/iu
const month =
  /(?<=\bin\s)(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+$/i
const cleft = /^(it\s+(?:is|was)\s+)$/i

/**
 * An answer without what only tells more of the target in it: a clause behind it, a year, the country of a place, the
 * role of a person. null: there is nothing of the kind, or it may say something against the target. Only the target that
 * the clause before it commits to can count, so a list of such clauses earns no more than its head.
 */
export function withoutDetails(answer: string, target: string, isAsked: IsAsked): string | null {
  if (answer.length > longest || target === '' || isHedged(answer)) return null
  const plain = answer.replace(/\s?\([^\p{L}\p{N}()]{1,3}\)/gu, '').replace(/\.\s*$/, '')
  const at = plain.toLowerCase().indexOf(target.toLowerCase())
  if (at < 0) return plain === answer ? null : plain
  const end = at + target.length
  const before = plain.slice(0, at)
  const tail = plain.slice(end)
  const hasDigits = /\d/.test(target)
  const lead = /^\d{4}$/.test(target) ? before.replace(month, '') : before.replace(role, '')
  const kept = hasDigits ? tail : tail.replace(when, '')
  const rest = isDetail(lead, kept, target, isAsked) ? '' : kept
  const shorter = `${lead}${plain.slice(at, end)}${rest}`
  return shorter === answer.replace(/\.\s*$/, '') ? null : shorter
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
  if (/^(?:wh|after|during|because|since|specifically|making)/i.test(word)) return true
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
  const [did, what] = [verb.toLowerCase(), object.toLowerCase().replace(/^(?:the|an?)\s/, '')]
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
