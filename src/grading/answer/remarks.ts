import { stemOf, wordPattern } from './known-words.ts'
import { type Another, apostrophe } from './wording.ts'

/**
 * What a clause says about an answer, not about the things that are asked for: that it is a guess, a trap, hearsay, or
 * somebody's error. One vocabulary for the clause that leads to an answer, its own sentence and the sentences behind
 * it. Words of the question are about the things.
 */

/** Words of doubt, error and hearsay. A story may have them, too: then the question does. */
const doubtful = new Set(
  `guess guesses guessed guessing guesswork hunch gut instinct intuition feeling vibe vibes tempting tempted tempts
  temptation naive naively careless carelessly sloppy hasty hastily trap traps decoy distractor bait lure fallacy
  fallacious myth misconception error errors erroneous erroneously mistake mistakes mistaken mistakenly wrong wrongly
  incorrect incorrectly false falsely invalid bogus fake bluff untrue reject rejected discard discarded doubt doubts
  doubtful dubious suspect suspicious uncertain unsure unclear unverified unconfirmed unchecked allegedly reportedly
  supposedly purportedly ostensibly rumor rumors rumour rumours rumored rumoured legend hearsay gossip hopefully
  perhaps maybe possibly probably presumably apparently seemingly conceivably arguably thereabouts joke joking kidding
  lie lying nonsense rubbish placeholder hypothetical hypothetically speculation speculative wishful cigar conjecture
  random randomly arbitrary arbitrarily draft estimate estimated estimation preliminary interim
  misleading deceptive illusion coincidence luck lucky gamble lottery`.split(/\s+/),
)
/** Several words that do the same. */
const doubtfulPhrase = new RegExp(
  `\\b(?:(?:may|might|could)\\s+(?:(?:well|also|just)\\s+)?(?:look|seem|sound|appear|pass\\s+for)|(?:so|as|or\\s+so)\\s+(?:they|people|some|I${apostrophe}m|I\\s+am)\\s+(?:say|told|claim)|for\\s+all\\s+I\\s+know|memory\\s+serves|I\\s+(?:remember|recall|counted|heard|read)\\s+(?:it\\s+)?(?:well|correctly|right|rightly|somewhere)|(?:is|was)\\s+said\\s+to\\s+be|fingers\\s+crossed|(?:let${apostrophe}s|let\\s+us|I|we)\\s+(?:just\\s+)?(?:hope|pray|wish|wonder)|with\\s+(?:some|any|a\\s+bit\\s+of)\\s+luck|(?:anybody|anyone|everybody)(?:${apostrophe}s|\\s+else${apostrophe}s)\\s+\\w+|miss(?:es|ed)\\s+the\\s+(?:mark|point|target)|take\\s+it\\s+or\\s+leave|at\\s+first\\s+(?:sight|glance|look|blush)|(?:(?:you|one|many|most|some|others|people|students|readers)\\s+(?:people\\s+|students\\s+)?(?:would|might|may|could)|(?:we|I)\\s+(?:might|may|could))\\s+(?:(?:well|easily|first|be\\s+inclined\\s+to|want\\s+to)\\s+)?(?:think|say|answer|guess|expect|believe|assume|conclude|claim|suppose)|easy\\s+to\\s+(?:say|think|answer|believe|assume)|\\bno\\s+cigar|far\\s+from\\s+(?:the\\s+)?(?:truth|true|right|correct|it)|who\\s+knows|(?:number|answer|value|result|option|choice|letter|one)\\s+to\\s+(?:avoid|reject|discard|skip)|(?:ask|consult|check\\s+with)\\s+(?:some(?:one|body)\\s+else|an?\\s+\\w+|your\\s+\\w+)|(?:needs?|wants|requires?|deserves?)\\s+(?:checking|verification|verifying|confirmation|proof|an?\\s+(?:\\w+\\s+)?check)|(?:please|better|do|must|should)\\s+(?:double-?\\s?check|verify|recheck|confirm)|double-check|subject\\s+to|not\\s+(?:yet\\s+)?(?:final|definitive|certain|confirmed|checked|verified)|mark\\s+(?:this|it|me)\\s+(?:as\\s+)?(?:correct|right)|(?:correct|right|gold|true|reference)\\s+label|your\\s+answer\\s+here|^\\W*(?:example|sample|template|format)\\s*[:：]|(?:I|we)\\s+(?:was|were|am|have\\s+been)\\s+told|(?:user|grader|trainer|checker|judge|key|system|prompt|rubric|reference)\\s+(?:says?|wants?|expects?|needs?|asks\\s+for)|slipped|but\\s+(?:it|that|this)\\s+(?:fails|does\\s+not|doesn${apostrophe}t|did\\s+not|is\\s+not|isn${apostrophe}t|can(?:not|${apostrophe}t))|(?:it|that|this)\\s+(?:is|does|was)(?:\\s+not|n${apostrophe}t)\\s*$)`,
  'i',
)
/** Distrust of what was said, to the reader or by the author. */
const distrust = new RegExp(
  `\\b(?:(?:do|would|should|could|will|must|can|may|need)(?:\\s+not|n${apostrophe}t)|won${apostrophe}t|cannot|can${apostrophe}t|never|nobody\\s+(?:should|would|will|can)|better\\s+not|hard(?:ly)?\\s+to|not\\s+to)\\s+(?:\\w+ly\\s+|be\\s+)?(?:(?:rel(?:y|ied)|count(?:ed)?|bet|bank|stake|depend|build|put\\s+(?:\\w+\\s+){1,3})\\s+(?:\\w+\\s+){0,2}on|(?:trust|believe|quote|accept|submit|grade|credit|use|buy|cite|print|copy|repeat)(?:ed)?\\s+(?:it|this|that|me|any|what|the\\s+above|my\\s+\\w+)|write\\s+(?:it|this|that)\\s+down|swear|vouch|stand\\s+by|sign|hold\\s+(?:me|it|this|that)|(?:take|taken?)\\s+(?:my|me|it|this|that)\\b)`,
  'i',
)
/** The author at a loss, or an answer that does not stand. */
const selfDenial = new RegExp(
  `^\\W*(?:(?:but|however|hmm+|wait|and|so)[\\s,]+)*(?:(?:this|that|it|the\\s+(?:answer|result|value|number))\\s+(?:do(?:es)?|did)(?:\\s+not|n${apostrophe}t)\\s+(?:match|agree|fit|work|hold|satisfy|equal|add\\s+up|make\\s+(?:any\\s+)?sense|look\\s+right|seem\\s+right|check\\s+out)|I\\s+have(?:\\s+not|n${apostrophe}t)\\s+(?:yet\\s+)?(?:made\\s+up\\s+my\\s+mind|decided|settled)|I(?:\\s+am|${apostrophe}m)\\s+(?:\\w+ly\\s+)?(?:lost|stuck|confused|stumped|clueless|puzzled)|(?:some(?:body|one)|anyone|you|please)\\s+(?:please\\s+|should\\s+|must\\s+|had\\s+better\\s+)+(?:check|verify|correct|confirm|recompute))\\b`,
  'i',
)
/** What is counted may be wrong or a guess: `the number of incorrect answers`. */
const counted =
  /\b(?:number|count|amount|total|share|percentage|fraction|probability|chance|sum|how\s+many)\s+(?:of|that)\s[^,;:]{0,60}/gi
/** What denies a word of doubt: `no doubt`, `not a guess`, `without error`. */
const denies =
  /^(?:no|not|free|without|beyond|never|isn['’]t|nor|avoid|avoids|avoiding|unlike|corrects?|fixes)$/
const bridging = /^(?:a|an|any|the|all|every|just|mere|slightest|reasonable|shadow|of|in|by|this)$/
/** Words of a sentence that says nothing else. */
const idle = new Set(
  `a an the my it is was be this that just only pure wild lucky educated total complete mere random i am im so though but
  at best really completely totally and or in to honest all of course by with some own very quite shot dark still
  though here sorry oh well ok s m`.split(/\s+/),
)
/** Where a clause may end. */
const clauseEnd =
  /[,;:()—–]|\s-\s|\b(?:but|while|although|though|whereas|because|since|not|rather|instead|unlike)\b/gi
const longestClause = 400

/** Whether a clause about an answer doubts it, or takes it for an error. `question`: what was asked. Linear. */
export function isDoubtful(clause: string, question: string): boolean {
  if (!/[a-z]{3}/i.test(clause)) return false
  const near = clause.slice(0, longestClause).replace(counted, ' ')
  if (doubtfulPhrase.test(near) || distrust.test(near)) return true
  const words = near.toLowerCase().match(wordPattern) ?? []
  return words.some((word, at) => doubtful.has(word) && !isDenied(words, at) && !isAsked(word, question))
}

const leadBreak =
  /[;:—–]\s|,\s(?<=\d[^;:]{0,80})|\b(?:so|but|because|since|which|and|then|though|although|thus|hence|therefore)\s/gi

/** Whether the words of a sentence before its answer doubt it, from the last clause on. Linear. */
export function isLedInDoubt(lead: string, question: string): boolean {
  const near = lead.slice(-longestClause)
  const end = near.trimEnd().length
  const start = Array.from(near.matchAll(leadBreak)).findLast(
    ({ index, 0: sign }) => index + sign.length < end,
  )
  return isDoubtful(near.slice(start === undefined ? 0 : start.index + start[0].length), question)
}

const faulted =
  /\b(?:wrong(?:ly)?|incorrect(?:ly)?|false|mistaken(?:ly)?|mistakes?|errors?|erroneous|tempting|trap|naive|fallacy|misconceptions?|myths?)\b/i

/** Whether a clause calls something wrong. */
export const isFaulted = (clause: string): boolean => faulted.test(clause)

const speech =
  'says|said|whispers|whispered|claims|claimed|insists|insisted|swears|swore|shouts|shouted|reckons|reckoned|thinks|thought|believes|believed|guesses|guessed|would\\s+(?:tell|have)\\s+you|tells?\\s+you'
/** Somebody else's words right before an answer, or around it. */
const saidBefore = new RegExp(
  `(?<!\\b(?:I|we|it|which|that|question|problem|task|text|story|formula|equation|rule|statement|condition|prompt))\\s(?:${speech})\\b(?:\\s+(?:that|it|it\\s+is|it['’]s|the\\s+answer\\s+is))*[\\s:,"'“]*$`,
  'i',
)
const saidAfter = new RegExp(
  `^[\\s"'”’.]*,?\\s+(?:(?:${speech})\\s+(?!(?:the|a)\\s+(?:question|problem))[^\\s\\d.,;:!?()"“”]|(?!(?:I|we|it|that|which|this)\\s)[^\\s\\d.,;:!?()"“”]+\\s+(?:[^\\s\\d.,;:!?()"“”]+\\s+)?(?:${speech})\\s*[.!]?$)`,
  'i',
)

/** What somebody says the answer is: `A classmate of mine says the limit is 2.5`, `Somebody told my dog: 42`. */
const saidToBe = new RegExp(
  `(?:^|[\\s,;:.])(?:my|our|your|his|her|an?|some|another|one\\s+of|every(?:one|body)|some(?:one|body)|people)\\b(?:\\s[\\p{L}'’]+){0,5}?\\s(?:${speech}|(?:told|tells)\\s+(?:me|us|my\\s+\\p{L}+|everyone|everybody))(?:\\s[\\p{L}'’]+){0,6}?(?:\\s(?:is|was|equals|comes\\s+to)|\\s?[:=])[\\s"'“*$\\\\({]*$`,
  'iu',
)

/** Whether an answer is what somebody else says. */
export const isReported = (lead: string, rest: string): boolean =>
  saidBefore.test(lead.slice(-100)) || saidToBe.test(lead.slice(-160)) || saidAfter.test(rest.slice(0, 80))

/** Whether the sentence that an answer stands in goes on with doubts of it. What it says of another one does not count. */
export const isDoubtedAfter = (rest: string, another: Another, question: string): boolean =>
  isDoubtful(ownPart(rest, another), question)

/** A text up to the clause that names another answer. */
function ownPart(rest: string, another: Another): string {
  const near = rest.slice(0, longestClause)
  for (const { index } of near.matchAll(value)) {
    if (another(near.slice(index)) !== 'other') continue
    const before = near.slice(0, index)
    return before.slice(0, Array.from(before.matchAll(clauseEnd)).at(-1)?.index ?? 0)
  }
  return near
}

const value =
  /(?<![\p{L}\p{N}.,^_$\\-]|\d\s(?=\d+\/\d))(?:[A-Z](?![\p{L}\p{N}'’])|[-−]?\\?\$?\.?\d[\d.,/]*)/gu
/** Whether a sentence behind an answer says no more than that it is a guess, an error or the like, or distrusts it. */
export function isDisclaimer(sentence: string): boolean {
  const near = sentence.slice(0, longestClause)
  if (distrust.test(near) || selfDenial.test(near)) return true
  const words = near.toLowerCase().match(wordPattern) ?? []
  if (words.length > 9) return false
  return (
    words.some((word, at) => doubtful.has(word) && !isDenied(words, at)) &&
    words.every((word) => doubtful.has(word) || idle.has(word))
  )
}

function isDenied(words: readonly string[], at: number): boolean {
  let before = at - 1
  while (before >= 0 && bridging.test(words[before] ?? '')) before--
  return denies.test(words[before] ?? '')
}

const isAsked = (word: string, question: string): boolean =>
  question !== '' &&
  (question.toLowerCase().match(wordPattern) ?? []).some((other) => stemOf(other) === stemOf(word))
