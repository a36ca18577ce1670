/** What the clause around the letter of a choice says against it, in prose without marks. */

/** What says of a letter that it is not the answer, or leaves it open. */
export const against =
  /(?<!\p{L})(?:not|never|nothing|nobody|none|neither|nor|cannot|\p{L}{2,9}n['’‘`]t|wrong\w*|incorrect\w*|false|untrue|fail\w*|break\w*|violat\w*|lacks?|contradict\w*|errors?|mistakes?|mistaken|flaw\w*|worst|worse|least|furthest|farthest|opposite|contrary|antonym|second|runner|trap\w*|myths?|misconceptions?|distract\w*|decoy|lure|bait|impossible|improbable|implausible|unlikely|rul(?:es?|ed|ing)\s+(?:it\s+|this\s+)?out|eliminat\w*|exclu\p{L}*|schließ\p{L}*|ausgeschlossen|descart\p{L}*|reject\w*|discard\w*|dismiss\w*|avoid\w*|except\w*|unless|if|might|maybe|perhaps|possibly|some(?:one|body)|most\s+(?:people|students)|tempt\w*|at\s+first|careless|naive|random\w*|guess\w*|hunch|coin|dice|nicht|kein\p{L}*|falsch|vielleicht|pas|n['’]est|faux|fausse|peut-être|non|não|incorrect[oa]|fals[oa]|quizás?|puede|tal\s+vez|forse|talvez|не|нет|неверн\p{L}*)(?!\p{L})|[?？]|不|没|錯|错|非|ではな|じゃな|なく|ない|間違|違い|誤|かもし|たぶん|多分|おそらく|可能|也许|或|どちら|か[。.]?$|か[A-Z]|아니|틀/giu
/** The same, of a letter that a sentence only names. */
export const openly =
  /(?<!\p{L})(?:no|third|next|strike|cross|drop|skip\w*|besides|beside|unlike|instead|rather|compar\w*|consider\w*|look(?:ing)?\s+at|examin\w*|check\w*|test\w*|suppose|supposing|assum\w*|imagine|whether|probably|could|may|many|other|others|another|also|too|either|attractive|started?|began|was|were|had|popular|common|odd|odds|feel\w*|yet|would\s+(?:have|need|require|mean)|what\s+(?:about|if)|says|said|claims|claimed|thinks|thought|believes|friends?|classmates?|teachers?|textbooks?|books?|internet|websites?|oder|wäre|ou|o|u)(?!\p{L})/giu
/** What denies such a word: `without a mistake`, `no doubt`, `cannot be wrong`. */
export const denied =
  /(?<!\p{L})(?:without|free\s+(?:of|from)|no)\s+(?:an?\s+|any\s+|grammatical\s+)?(?:errors?|mistakes?|flaws?|doubts?|questions?|contradictions?|problems?)(?!\p{L})|(?<!\p{L})(?:first|second|third|fourth|next)\s+(?:box|option|choice|one|answer|statement|item|line)(?!\p{L})|(?<!\p{L})no\s+other(?!\p{L})|(?<!\p{L})(?:cannot|can['’]t)\s+be\s+(?:wrong|false)|(?<!\p{L})false\s+(?:positive|negative|alarm)s?(?!\p{L})/giu
const clauseBreak =
  /[,;:—–()]\s?|\s-\s|(?<!\p{L})(?:but|so|thus|hence|therefore|which|leaving|while|whereas|because|since|as|denn|weil|porque|car|puisque|because|although|though)(?!\p{L})/giu
/** Whether a clause has words against the letter in it that are not the question's: "Which is wrong?" asks for one. */
export function speaksAgainst(clause: string, question: string, words: readonly RegExp[]): boolean {
  const said = clause.replace(denied, ' ')
  const asked = question.toLowerCase()
  return words.some((pattern) =>
    Array.from(said.matchAll(pattern), ([word]) => word.toLowerCase()).some(
      (word) => !asked.includes(word) || !/\p{L}{2}/u.test(word),
    ),
  )
}

const sentenceEnd = /[.!?。！？](?=\s|$|[\p{Lo}])|\n/gu

export function startOfSentence(text: string, at: number): number {
  const from = Math.max(0, at - 600)
  const ends = Array.from(text.slice(from, at).matchAll(sentenceEnd))
  const end = ends.at(-1)
  return end === undefined ? from : from + end.index + end[0].length
}

/** The sentence around a place. */
export function sentenceOf(text: string, at: number): string {
  const rest = text.slice(at, at + 600)
  const end = rest.search(sentenceEnd)
  return text.slice(startOfSentence(text, at), at + (end < 0 ? rest.length : end))
}

/** The clause around a place. */
export function clauseAround(text: string, at: number): string {
  const before = text.slice(startOfSentence(text, at), at)
  const rest = text.slice(at, at + 600)
  const end = rest.search(sentenceEnd)
  const after = end < 0 ? rest : rest.slice(0, end + (/[?？]/.test(rest[end] ?? '') ? 1 : 0))
  // The letter may stand in brackets of its own.
  const own = /^[A-Z][)\]*_"']*[.:]?\s?/.exec(after)?.[0].length ?? 1
  const to = after.slice(own).search(clauseBreak)
  return lastClauses(before, 1) + (to < 0 ? after : after.slice(0, own + to))
}

/** The last clauses of the beginning of a sentence that have words, without what joins them to the one before. */
export function lastClauses(before: string, count: number): string {
  const shown = before.replace(/(?<=\p{L})\([^()]{0,40}\)/gu, (inner) => 'o'.repeat(inner.length))
  const breaks = Array.from(shown.matchAll(clauseBreak)).filter(({ index, 0: sign }) =>
    /[\p{L}\p{N}]/u.test(before.slice(index + sign.length)),
  )
  const from = breaks.at(-count)
  return from === undefined ? before : before.slice(from.index + from[0].length)
}
