import { isRounded } from './chain.ts'
import { lastPlainFormula } from './plain-formula.ts'
import { readAnswer } from './read-answer.ts'

/**
 * What people write around a formula that is an answer: that it cannot be simplified, what it is about, what a name in
 * it stands for, which other value is none. Such a remark names values that are not the answer.
 */

const formula = String.raw`(?:(?<!\\)\$[^$\n]{1,120}\$|\\\([^\n]{1,120}?\\\)|[-−]?(?:[\p{L}]\s?=\s?)?[-−]?[\d.,/√πi∞^()²³+]{1,20}(?<![.,(+])|[a-zA-Z]\s?=\s?\S{1,20}(?<![.,;)])|\([-−\d., ∞/π]{1,30}\))`
const rest = String.raw`[^.;()\n]{0,120}`
/** Where a remark ends. */
const end = String.raw`(?=\s*(?:[.;)\n]|$))`
const remark = (source: string): RegExp => new RegExp(source, 'giu')

/** Remarks behind an answer that say nothing of its value. */
const idle = [
  remark(
    String.raw`[,;]?\s*(?:(?:which|that|and|as|but|because|since)\s+)?(?:(?:it|this|that|the\s+(?:fraction|expression|result|answer|root|radical|ratio))\s+)?(?:can(?:not|\snot|['’]t)|does\s+not|doesn['’]t)\s+(?:be\s+)?(?:further\s+|easily\s+)?(?:simpl|reduc|factor|cancel|shorten|improv)\w*(?:\s+(?:any|further|more|nicely|simply|down|over|the|reals?|integers|anymore))*${end}`,
  ),
  remark(
    String.raw`[,;]\s*(?:and\s+|but\s+|with\s+|as\s+|since\s+)?(?:(?:there\s+(?:is|are)|has|have)\s+)?(?:no(?:thing)?\s+(?:other|else|further|more)|none\s+other)\b(?!\s+(?:than|but))[^.;$\d]{0,60}${end}`,
  ),
  remark(
    String.raw`[,;]\s*(?:(?:but|and|so|where|with|since|as|because)\s+)?(?:(?:the|both)\s+)?(?:end\s?points?|boundar(?:y|ies)|bounds?|ends?)\b[^.;\n]{0,60}?\b(?:excluded|included|open|closed|allowed|attained|reached)\b[^.;\n]{0,30}${end}`,
  ),
  remark(
    String.raw`[,;]?\s*\(?(?:where|with|for(?:\s+(?:all|any|every|each|some|an?))?|wobei|mit|où|donde|где|其中)\s+(?:(?:an?|any|all|arbitrary|the|integers?|constants?|real|natural|whole|numbers?)\s+){0,4}\$?\s*[A-Za-z](?:_\{?\d\}?)?(?:\s*\\in\s*\\?[\w{}\\]{1,20}|\s?∈\s?[ℤℕℝℚℂ]|\s*(?:\\geq?|≥|>|\\neq?|≠)\s*-?\d+)?\s*\$?(?:\s+(?:is|are|being|ist|est|an)\s[^.;$\d\n]{0,60})?\)?${end}`,
  ),
  remark(
    String.raw`,?\s*as\s+\$?\s*[a-z]\s*(?:\\(?:right|long)*arrow|\\to|→|approaches|tends\s+to|goes\s+to)\s*[^.;\n]{1,30}${end}`,
  ),
]

/** What a bracket behind an answer says about something else: `(the antiderivative being x³)`. */
const bracketed =
  /\s\((?!\s*(?:or|not|i\.?e|that\s+is|about|approx|roughly|around|circa|ca\.|in\s+decimal|or\s+so)\b|\s*[≈~=\d$\\-])(?=[^()]*\p{L}{3,}\s)(?![^()]*\b(?:answer|value|result|correct|right|true|actual\w*|real\w*|wrong|instead|should|maybe|perhaps|possibly|or|not|but|if|unless|also|too|guess\w*|mistake\w*|error\w*|equals?|either|both)\b)((?:[^()\n]|\([^()\n]{0,40}\)){4,160})\)(?=\s*(?:[.;,]|\n|$))/giu

const rejected = String.raw`(?:an?\s+)?(?:extraneous|spurious|rejected|excluded|discarded|dismissed|invalid|inadmissible|impossible|negative|not\s+(?:valid|allowed|possible|admissible|a\s+(?:solution|root)|in\s+the\s+domain|positive)|no\s+(?:solution|root))`
const noun = String.raw`(?:(?:the|other|second|first|negative|root|solution|value|candidate|case|possibility)\s+){0,4}`
/** Other values that a remark says are not the answer. The value stands in the first group that matched. */
const exclusions = [
  remark(
    String.raw`[,;(–—-]*\s*(?:(?:and|but)\s+)?(?<![\p{L}])(?:not|rather\s+than|instead\s+of|as\s+opposed\s+to|nicht|und\s+nicht|pas|и\s+не|а\s+не|而不是|不是)\s+(?:just\s+|simply\s+|merely\s+)?(${formula})${rest}\)?`,
  ),
  remark(
    String.raw`[,;(]\s*(?:(?:while|where|since|as|because|and|but|note\s+that)\s+)?${noun}(${formula})\s+(?:(?:is|was|must\s+be|has\s+to\s+be)\s+(?:\w+ly\s+)?${rejected}|fails?|(?:does\s+not|doesn['’]t|cannot|can['’]t)\s+(?:satisfy|work|hold|solve|check|fit|be)|lies\s+outside)(?![\p{L}])${rest}\)?`,
  ),
  remark(
    String.raw`[,;(]\s*(?:(?:and|we|after)\s+)*(?:reject|discard|exclud|dismiss|ruling\s+out|rul|ignor|dropp|disregard)(?:ing|ed|s)?\s+${noun}(${formula})${rest}\)?`,
  ),
  remark(
    String.raw`[,;(]\s*(?:although|though|even\s+though|while|whereas)\s+(?:some|many|most|other|others|people|students|textbooks|books|the\s+book|my\s+\w+|one|you)\b[^.;()\n$]{0,60}(${formula})${rest}\)?`,
  ),
]

const startOfRemark =
  /[,;(–—-]|\b(?:not|rather|instead|as|nicht|und|pas|which|that|cannot|can|does|doesn|where|with|for|wobei|mit)\b|[и而不其где]/iu

const longest = 4000

/** A sentence or two without the remarks behind a formula in them, and with an approximation in its relation. Linear. */
export function withoutRemarks(text: string): string {
  if (text.length > longest || !startOfRemark.test(text)) return text
  let kept = withoutIdleRemarks(text)
  for (const pattern of exclusions)
    kept = kept.replace(pattern, (all, other: string, at: number, whole: string) =>
      isAfterFormula(whole, at) && !repeats(whole.slice(0, at), other) ? closingOf(all) : all,
    )
  return approximated(kept)
}

/** A text without remarks that say nothing of the value before them. */
export function withoutIdleRemarks(text: string): string {
  let kept = text
  for (const pattern of idle)
    kept = kept.replace(pattern, (all, at: number, whole: string) =>
      isAfterFormula(whole, at) ? closingOf(all) : all,
    )
  return kept.includes('(')
    ? kept.replace(bracketed, (all, _: string, at: number, whole: string) =>
        isAfterFormula(whole, at) ? '' : all,
      )
    : kept
}

/** A remark in brackets takes both of them along. */
const closingOf = (removed: string): string => (removed.endsWith(')') && !removed.includes('(') ? ')' : '')

const isAfterFormula = (text: string, at: number): boolean =>
  /(?:[\d$)\]}%°πi∞²³√'*]|(?<![\p{L}])[A-Za-z])\s*$/u.test(text.slice(Math.max(0, at - 10), at))

/** Whether a value is the one right before it, so that it is denied. */
function repeats(before: string, other: string): boolean {
  const plain = (text: string): string => text.replace(/[\s$*]|\\[()]/g, '')
  const [all, own] = [plain(before.slice(-200)), plain(other)]
  return all.endsWith(own) && !/[\p{L}\d\-−+*/^\\.)}]$/u.test(all.slice(0, all.length - own.length))
}

const about = String.raw`(?:about|approximately|approx\.?|roughly|around|circa|ca\.?|≈|\\approx|~|(?:in|as\s+an?)\s+decimals?(?:\s+(?:form|notation|number))?|decimal(?:\s+(?:form|value|approximation))?|numerically|etwa|ungefähr|rund|environ|approximativement|aproximadamente|unos|cerca\s+de|примерно|приблизительно|около|大约|约等于|约为|约|およそ|約|약)`
const approximate = new RegExp(
  String.raw`(?:\s*[,;(–—]\s*|\s+)\$?(?:(?:or|and|i\.e\.|that\s+is|which|it|is|are|equals|this|so|oder|also|das|sind|ou|soit|o|sea|или)[,\s]+){0,4}${about}[\s,:]*(?:(?:is|equal\s+to|equals)\s+)?\$?\s*(?:\\approx\s*)?((?:\\pm\s?|±\s?)?[-−]?\d[\d,]*(?:\.\d+)?(?:\\?%|°|\^\\circ)?)\s*\$?(?:\s*(?:\\text\{[^{}]{1,20}\}|[a-z]{1,12}[²³]?(?:\s[a-z]{1,12})?))?\s*(\)?)`,
  'iu',
)

/** A unit between a value and its approximation: `$49\\pi$ square units, approximately $153.94$`. */
const unitAtEnd =
  /(?<=[\d$)}π²³])(?:\s|~|\\,)?(?:(?:square|cubic|sq\.?)\s)?(?:\\text\s?\{\s?[^{}]{1,20}\}|units?|[a-z]{1,3}|met(?:er|re)s|centimet(?:er|re)s|kilomet(?:er|re)s|inches|feet|yards|miles|lit(?:er|re)s|degrees|radians|seconds|minutes|hours|days)(?:\s(?:squared|cubed)|\$?\^\{?[23]\}?\$?|[²³])?$/

/** A text whose value with its approximation behind it is one relation: `$25\pi$ (about 78.5)` as `$25\pi \approx 78.5$`. */
function approximated(text: string): string {
  const found = approximate.exec(text)
  if (found === null) return text
  const [all, value = ''] = found
  const [unit = ''] = unitAtEnd.exec(text.slice(0, found.index)) ?? []
  const before = text.slice(0, found.index - unit.length)
  const exact = formulaAtEnd(before)
  if (exact === null || !rounds(exact.text, value)) return text
  const after = `${unit}${text.slice(found.index + all.length)}`
  const close = all.endsWith(')') && !all.includes('(') ? ')' : ''
  return exact.close === ''
    ? `${before} ≈ ${value}${close}${after}`
    : `${before.slice(0, before.length - exact.close.length)} \\approx ${value}${exact.close}${close}${after}`
}

/** The formula that a text ends with, and the signs that close it. */
function formulaAtEnd(text: string): { readonly text: string; readonly close: string } | null {
  const [, dollars, closing, round, square] =
    /(?<!\\)\$([^$\n]{1,200})(\$)$|\\\(([^\n]{1,200}?)\\\)$|\\boxed\s?\{((?:[^{}]|\{[^{}]{0,60}\}){1,200})\}\$?$/.exec(
      text.slice(-240),
    ) ?? []
  if (square !== undefined) return null
  if (dollars !== undefined) return { text: dollars, close: closing ?? '' }
  if (round !== undefined) return { text: round, close: '\\)' }
  const line = text.slice(text.lastIndexOf('\n') + 1).replace(/[*_\s]+$/, '')
  const plain = lastPlainFormula(line)
  if (plain !== null && plain.end === line.length) return { text: plain.text, close: '' }
  const number = /(?<![\p{L}\d.,])[-−]?\d+(?:\/\d+|\s\d+\/\d+)?$/u.exec(line)?.[0]
  return number === undefined || line.length !== text.slice(text.lastIndexOf('\n') + 1).length
    ? null
    : { text: number, close: '' }
}

/** Whether a decimal rounds the last side of a formula. */
function rounds(exact: string, value: string): boolean {
  const [of, near] = [readAnswer(exact), readAnswer(value)]
  if (of === null || near === null) return false
  return isRounded(of.kind === 'relation' ? (of.sides.at(-1) ?? of) : of, near)
}
