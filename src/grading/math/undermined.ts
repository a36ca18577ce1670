/**
 * Words of mathematics around an answer by which it only would hold, or comes from an error: they take it back without a
 * word of denial.
 */

const dress = String.raw`^[\s$)\]}*_\\.]{0,6}`
const pattern = (source: string): RegExp => new RegExp(source, 'iu')
const slip = String.raw`(?:wrong|incorrect|naive\w*|mistak\w*|forg[eo]t\w*|ignor\w+|neglect\w*|careless\w*|error|misread\w*|false|flawed)`
/** What shows that a theorem or a value does not hold here. */
const failing = String.raw`(?:not\s+(?:sure|certain|hold|apply|valid|allowed|true|satisfied|met|here|so)|unsure|uncertain|diverg\w+|fails?|violat\w+|undefined|(?:do|does|did|is|was|can)n['’]t\s+(?:hold|apply|exist|true|valid|work|check|verify|so)|(?:do|does|did|is|was|can)\s*not\s+(?:hold|apply|exist|true|valid|work|check|verify|so)|(?:it|this|that)\s+(?:is\s+not|isn['’]t)(?:\s*[.!,;]|\s*$)|no\s+(?:such\s+)?(?:value|limit|sum|solution|answer|root|number)\s+(?:exists?|is\s+possible)|extraneous|spurious|inadmissible|has\s+no\s+(?:limit|sum|value|solution)|(?:this|that|ours|here)\s+(?:one\s+)?differs)`
/** Clauses about another value or form take nothing back. */
const ofAnother =
  /\d|[$\\]|\b(?:other|others|second|negative|alternative|converse|simplif\w*|reduc\w*|factor\w*|matter\w*|need\w*|only\s+if)\b/i

const after: readonly RegExp[] = [
  pattern(
    String.raw`${dress}\s*(?:is|was)\s+(?:only|just|merely)\s+(?:the|an?|one)\s+(?:left|right|one-sided|first|second|partial|intermediate|local|particular|special)\b`,
  ),
  pattern(
    String.raw`${dress}\s*would\s+(?:(?:only|also|just)\s+)?(?:be|hold|have|apply|work|follow|fit|make|solve|satisfy|suffice|count)\b(?!\s+(?:the|my|our)\s+(?:final\s+|correct\s+|right\s+)?(?:answer|result|value|solution)\W*(?:$|\n))`,
  ),
  pattern(
    String.raw`${dress}\s*(?:is|are|was)\s+(?:(?:only|just|merely|exactly)\s+)?what\b[^.;\n]{0,80}\b(?:${slip}|would|might|if)\b`,
  ),
  pattern(
    String.raw`${dress}\s*(?:is|was)\s+(?:(?:only|just|merely|but)\s+)?(?:(?:an?|the|my)\s+)?(?:\w+\s+)?(?:extraneous|spurious|inadmissible|placeholder|dummy|template|stub|filler|bluff|decoy|distractor|misprint|typo|(?:lower|upper)\s+bound)\b`,
  ),
  pattern(
    String.raw`${dress}[^.!?\n]{0,60}?\bonly\s+(?:if|when)\b[^.!?\n]{0,80}\b(?:is|does|did|do|was|are)\s*(?:not|n['’]t)\b`,
  ),
]
const turning =
  /^([^!?\n]{0,80}?)(?:[,;:—–]\s*|\.\s+|\s)(?:but|yet|however|except(?:\s+that)?|although|though)\b,?([^.!?;\n]{1,160})/i
const fails = pattern(String.raw`(?<![\p{L}])${failing}(?![\p{L}])`)

/** Whether the text right after an answer says that it would hold elsewhere, or that it fails here. Bounded. */
export function isUndermined(following: string): boolean {
  const near = following.slice(0, 300).replace(/[$*_]+/g, (signs) => (signs.includes('$') ? '$' : ''))
  const [line = ''] = near.split(/\n\s*\n/, 1)
  if (after.some((one) => one.test(line))) return true
  const [, between = '', clause = ''] = turning.exec(line) ?? []
  return (
    clause !== '' && !/[.]\s+\S+\s+\S+\s+\S/.test(between) && fails.test(clause) && !ofAnother.test(clause)
  )
}

const before: readonly RegExp[] = [
  pattern(
    String.raw`\b(?:slip|blunder|mistake|error|misreading)\s+(?:gives|yields|leads\s+to|produces|results\s+in|would\s+\w+)\s[^.!?;\n]{0,40}$`,
  ),
  pattern(
    String.raw`(?:^|[.!?\n]\s*|,\s*)(?:(?:let\s+us|let['’]s|now|first)\s+)?(?:assume|suppose|imagine|pretend)\s+(?:that\s+)?(?:the|my|our|its|it)\s[^.!?,;\n]{0,60}$`,
  ),
  pattern(
    String.raw`\bif\s+(?:we|one|you|I|somebody|someone|a\s+student|students|people)\s+(?:(?:forg[eo]t|ignore|neglect|skip|drop|misread|swap|confuse|mistake|omit|mix|leave\s+out|overlook)\w*|wrongly|carelessly|(?:do|does)\s*(?:not|n['’]t))\b[^.!?;\n]{0,100}$`,
  ),
  pattern(
    String.raw`(?:^|[.!?\n]\s*|[,;]\s*)(?:with|using|by|from|under|applying|through)\s+(?:the|an?|this|that)\s+(?:\w+\s+)?(?:wrong|incorrect|false|mistaken|erroneous|flawed|naive|faulty)\s[^.!?;\n]{0,80}$`,
  ),
]

/** Whether the clause that leads to an answer supposes it, or comes to it by an error. Bounded. */
export function isSupposed(lead: string): boolean {
  const near = lead.slice(-200).replace(/[$*_]+/g, '')
  return (
    !/\b(?:correct\w*|instead|earlier|so|therefore|thus|hence|but)\b[^.!?\n]{0,60}$/i.test(near) &&
    before.some((one) => one.test(near))
  )
}
