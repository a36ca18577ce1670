import { followUp } from '../answer/follow-up.ts'
import { isDisguised, leadIn } from '../answer/lead-in.ts'
import { isHidden } from '../answer/shown.ts'
import { negated } from '../answer/unmarked-number.ts'
import { isWithdrawn } from '../answer/withdrawal.ts'
import { differ, isSpoiled } from './around.ts'
import { namesIn } from './expression.ts'
import { lastPlainFormula } from './plain-formula.ts'
import { readAnswer } from './read-answer.ts'
import { isSupposed, isUndermined } from './undermined.ts'
import { proseCommands, styleCommands } from './vocabulary.ts'

/** A place in prose that holds an expression: LaTeX or a number. */
interface Candidate {
  readonly start: number
  readonly end: number
  readonly text: string
  /** A number in prose, without signs of mathematics around it. */
  readonly isBare: boolean
}

const candidateOpening =
  /\\\[|\\\(|\$\$?|\\begin\{(?:[pbv]?matrix)\}|-?(?:\d+(?:[.,]\d+)*|\.\d+|∞)(?:\s?\/\s?\d+)?(?:\s?\\?%|\s?π(?!\p{L}))?/gu
const closing: Readonly<Record<string, string>> = { '\\[': '\\]', '\\(': '\\)', $$: '$$', $: '$' }
const longestCandidate = 4000
const mostCandidates = 500
const between =
  /^[\s,;、，；*•()\-–]*(?:(?:and|or|and\/or|as\s+well\s+as|und|oder|et|ou|y|e|o|u|и|или|och|en|of|og|eller|i|lub|ve|veya|và|hoặc|和|及|与|または|と|および|와|과|및|또는|或者?)[\s,;*•(\-–]*)?(?:[a-z]\s?=\s?)?$/iu
/** What comes before a formula that is a reason for the next one. */
const premise =
  /(?:^|[.!?;:\n]\s*|,\s|\b(?:and|but|so)\s)(?:now\s+)?(?:since|because|as|given(?:\s+that)?|if|when|from|using|with|knowing|recall(?:\s+that)?|да|так\s+как|weil|da|wegen|comme|puisque|como|ya\s+que|由于|因为)\s[^.!?;\n]{0,60}$/iu

const noOther = (): null => null

/**
 * The last expression in prose, or the last few if only commas, `and` or `or` separate them. null: none, or
 * the words around it deny or doubt it. `isAnnounced`: the text is one sentence that states an answer, so another
 * expression in it contradicts the last one, and what follows a reason is none.
 */
export function lastExpression(text: string, isAnnounced = false): string | null {
  const all = withPlainFormula(text, candidates(text))
  const stated = isAnnounced ? beforeReason(text, all) : beforeBecause(text, all)
  const found = stated.length > 0 ? stated : all
  const last = found.at(-1)
  if (last === undefined) return null
  const group = [last]
  for (let k = found.length - 2; k >= 0; k--) {
    const [candidate, next] = [found[k], group[0]]
    if (!candidate || !next) break
    const gap = text.slice(candidate.end, next.start).replace(/\\(?:text|math)[a-z]{0,4}\s?\{\s?$/, '')
    if (!between.test(gap.slice(0, 40))) break
    if (/^,\s*$/.test(gap) && premise.test(text.slice(Math.max(0, candidate.start - 80), candidate.start)))
      break
    group.unshift(candidate)
  }
  const start = group[0]?.start ?? 0
  const answer = group.map((candidate) => candidate.text.replace(/[\s,.;]+$/, '')).join(', ')
  const earlier = found[found.length - group.length - 1]
  if (earlier !== undefined && isRival(text.slice(earlier.end, start), isAnnounced)) {
    const rivals = isAnnounced ? found.slice(0, -group.length) : [earlier]
    const isPut = versus.test(text.slice(earlier.end, start))
    if (rivals.slice(-8).some((rival) => (isPut || isConstant(rival.text)) && differ(rival.text, answer)))
      return null
  }
  if (isOption(text, start)) return null
  const before = text
    .slice(Math.max(0, start - 400), start)
    .replace(/\\text[a-z]*(?=\{)|[{}]/g, ' ')
    .replace(/(?<![\p{L}\\])\p{L}[\w']{0,6}\s?=\s?$/u, '')
  if (isDisguised(before.slice(-60)) || (last.isBare && isOperand(text, start, last.end))) return null
  if (wronglyMade.test(before) || isSupposed(before)) return null
  const lead = leadIn(before)
  if (lead !== null && (lead !== 'several_answers' || group.length === 1)) return null
  if (
    isHidden(text, start, last.end) ||
    isSpoiled(`${before.slice(-60).replace(/^[\s\S]*[.\n]|^[^\p{L}\d$\\(-]+/gu, '')}${answer}`)
  )
    return null
  if (
    /\b(?:minus|negative|about|around|roughly)[\s{}$(*_]*$/i.test(text.slice(Math.max(0, start - 40), start))
  )
    return null
  const after = text.slice(last.end)
  if (
    /^[\s`*"]*\\(?:text|mathrm|operatorname)|^["”]\p{L}|^[`*")\]]*(?:\p{Cf}|\u034f)+\d|^[)\]*`"]*[₀-₉]/u.test(
      after,
    )
  )
    return null
  if (isElsewhere(text.slice(Math.max(0, start - 40), start), after.slice(0, 60))) return null
  if (/^[\s*$.,]*(?:or\b|(?:less|fewer|more|short|upwards?|onwards?)\W*$)/.test(after)) return null
  const next = followUp(after, noOther)
  if (next !== null && next !== 'several_answers') return null
  if (isWithdrawn(after, noOther) || isUndermined(after)) return null
  if (group.length > 1 && group.every(({ isBare }) => isBare)) {
    const point = enclosed(text, start, last.end)
    if (point !== null) return negated.test(before) ? null : point
  }
  return last.isBare && group.length === 1 ? (computation(text, last) ?? answer) : answer
}

/** Whether a place stands behind the letter of a choice, in a list of choices. */
function isOption(text: string, start: number): boolean {
  const near = text.slice(Math.max(0, start - 200), start)
  const label = /(?:^|\n)[\s*_>-]{0,6}\(?([B-J])[.)]\s?[\s$*_\\([]*$/.exec(near)?.[1]
  return label !== undefined && /(?:^|\n)[\s*_>-]{0,6}\(?A[.)]\s/.test(text.slice(0, start).slice(-2000))
}

/** The candidates of a text with the last formula in plain signs for the numbers in it. */
function withPlainFormula(text: string, found: readonly Candidate[]): readonly Candidate[] {
  const last = found.at(-1)
  const from = text.lastIndexOf('\n', last?.start ?? text.length) + 1
  const [line = ''] = text.slice(from, from + 4000).split('\n', 1)
  const formula = lastPlainFormula(line)
  if (formula === null) return found
  const [start, end] = [from + formula.start, from + formula.end]
  if (last !== undefined && (last.isBare ? last.end > end : last.end > start)) return found
  return [...found.filter((one) => one.end <= start), { start, end, text: formula.text, isBare: false }]
}

/** `A wrong expansion is`, `and not as` */
const wronglyMade =
  /\b(?:wrong|incorrect|mistaken|erroneous|invalid)\s+\p{L}{2,20}\s+(?:is|was|would\s+be|gives)[\s:$*]{0,5}$|\b(?:and|but|,)\s+not\s+(?:as|to|by|with|into|in)[\s$*]{0,5}$/iu

/** A point or an interval in prose with its brackets: `(2, -1)`, `[0, 5)`. null: no brackets around the whole of it. */
function enclosed(text: string, start: number, end: number): string | null {
  const [open, close] = [text.charAt(start - 1), text.charAt(end)]
  const inner = text.slice(start, end)
  const isPair = '(['.includes(open) && ')]'.includes(close) && open !== '' && close !== ''
  // A function of two numbers is no point.
  const isFree = !/[\p{L}\d)\]}]/u.test(text.charAt(start - 2))
  return isPair && isFree && /^[-\d\s.,/%∞π]*$/.test(inner) ? `${open}${inner}${close}` : null
}

const reasons = /\b(?:because|since|(?<!\bwell\s)as(?!\s+well\b)|where|given|for|by|after|whose|which)\b/i

/** The expressions of a sentence that come before the reason for the first of them. */
function beforeReason(text: string, found: readonly Candidate[]): readonly Candidate[] {
  const from = found[0]?.end ?? 0
  const reason = text.slice(from).search(reasons)
  return reason < 0 ? found : found.filter(({ end }) => end <= from + reason)
}

/** The expressions before a reason that ends the last sentence: `The roots are $3$ and $-1$, since ...` */
function beforeBecause(text: string, found: readonly Candidate[]): readonly Candidate[] {
  const from = Math.max(text.lastIndexOf('\n') + 1, text.length - 400)
  const sentence = text.slice(from)
  const reason = because.exec(sentence)
  if (reason === null || followsFrom.test(sentence.slice(reason.index))) return found
  const start = from + sentence.slice(0, reason.index).search(/[^.!?]*$/)
  const kept = found.filter(({ end }) => end <= from + reason.index)
  return (kept.at(-1)?.start ?? 0) >= start && (kept.at(-1)?.end ?? 0) > start ? kept : found
}

const because =
  /(?:,\s*(?:since|as|da|weil|denn|car|puisque|porque|pues|ya\s+que|perché|poiché|pois|так\s+как|потому\s+что|поскольку)|\sbecause|，?因为)(?=\s|\$|\\)[^.!?;\n]{1,300}\.?\s*$/iu
const followsFrom =
  /\b(?:so|thus|hence|therefore|then|gives?|get|giving|yields?|implies|obtain|conclude|means|also|folgt|donc|luego|quindi|logo)\b|следует|所以|因此/i

/** Whether a text is an expression without names. */
function isConstant(text: string): boolean {
  const read = readAnswer(text)
  return read !== null && namesIn(read).length === 0
}

const sign =
  /^[\s$*_]*(?:[%#/|\\[({;~→]+|->|,?\s*(?:to|r|i\.?e\.?|aka|or|remainder|with|against|versus|vs\.?|than)\b)[\s$*_[({,.]*$/i

/** Signs and words that put one expression against another. */
const versus = /^[\s$*_]*(?:%|\|\|?|,?\s*(?:or|against|versus|vs)\b\.?)[\s$*_({]*$/i

/** Whether what stands between two expressions leaves it open which one is meant. */
const isRival = (gap: string, isAnnounced: boolean): boolean => isAnnounced || sign.test(gap)

/** `3 + 4 = 7` around a bare number. null: no equation, or none that can be read. */
function computation(text: string, { start, end }: Candidate): string | null {
  const [run = ''] = /[-\d\s.+*/×÷·=()^]{1,80}$/.exec(text.slice(Math.max(0, start - 80), start)) ?? []
  const own = run.slice(run.lastIndexOf('\n') + 1).replace(/^(?:[\s.+*/×÷·=)^]|-(?![\d(]))+/, '')
  if (!own.includes('=') || /[\p{L}\\_}√∛]/u.test(text[start - own.length - 1] ?? ' ')) return null
  const formula = own + text.slice(start, end)
  return readAnswer(formula) === null ? null : formula
}

/** Whether signs around a bare number make it a part of something else: `÷42`, `\sqrt{42}`, `-(42)`, `42ⁿ`, `42i`. */
function isOperand(text: string, start: number, end: number): boolean {
  const before = text
    .slice(Math.max(0, start - 60), start)
    .replace(/(?:\\[,;:! ]|(?<![\p{L}\\])\p{L}\s?=\s?)+$/u, '')
    .replace(/\\(?:mathbf|textbf|text|mathrm|mathit|boldsymbol)\s*\{$/, '')
  const after = text.slice(end, end + 20)
  if (
    /[÷×⁻﹣~≈≅≠¬√∛^_⊥/]\s*$|[\p{L})\]}]\(\s*$|(?:!=|<>|[<>≤≥]=?)\s*(?:\w\s?=\s?)?$|[-−–][(*\u2060{]+$|\b0[box]-?$|\d\.$|=(?:\\!)+\/(?:\\,)?[\s*`"]*$/u.test(
      before,
    )
  )
    return true
  const command = /\\([A-Za-z]+)(?:_\{?[\w]+\}?|\[[^\]]{0,10}\])?(?:\s?\{[^{}]{0,30}\})?[\s{(]*$/.exec(
    before,
  )?.[1]
  if (command !== undefined && !styleCommands.has(command) && !proseCommands.has(command)) return true
  if (/^(?:[KMB]|E-?\d+|\s[kKMBT])(?![\p{L}'’])/u.test(after)) return true
  return /^[⁰¹²³⁴-⁹ⁿ₀-₉‰‱′π½⅓¼¾√]|^'(?!s)|^[\s)*`"]*\^|^(?:\\right)?\)\s*[\^!']|^[abceijknpqrtuxyz](?![A-Za-z])|^\s*(?:\*\s?|[x×]\s?)\d|^\s*\\(?![)\]$,;%! ]|text|quad|right|mathrm|boxed|times|cdot)/.test(
    after,
  )
}

const located =
  /\b(?:(?:page|line|section|step|equation|exercise|problem|question|chapter|footnote|appendix|theorem|lemma|case)s?[ \t]*|eq\.?[ \t]*)[#(]*\$?$/i

/** Whether a number counts or names something beside the answer: `on page 42`, `(42 lines of proof)`, `the 42nd prime`. */
const isElsewhere = (before: string, after: string): boolean =>
  located.test(before) ||
  (/\(\s*\$?$/.test(before) && /^\$?\s*\p{L}+\s+\p{L}[^()]*\)/u.test(after)) ||
  /^(?:st|nd|rd|th)\s+\p{L}|^\s*\+/u.test(after)

function candidates(text: string): Candidate[] {
  const found: Candidate[] = []
  const closings = new Closings(text)
  candidateOpening.lastIndex = 0
  for (let match = candidateOpening.exec(text); match; match = candidateOpening.exec(text)) {
    const candidate = read(text, match.index, match[0], closings)
    if (candidate === null) continue
    found.push(candidate)
    if (found.length > 2 * mostCandidates) found.splice(0, mostCandidates)
    candidateOpening.lastIndex = Math.max(candidate.end, match.index + 1)
  }
  return found
}

function read(text: string, start: number, open: string, closings: Closings): Candidate | null {
  const isMatrix = open.startsWith('\\begin')
  const close = isMatrix ? open.replace('begin', 'end') : Object.hasOwn(closing, open) ? closing[open] : null
  if (!close) return number(text, start, open)
  if (text[start - 1] === '\\' && text[start - 2] !== '\\') return null
  const from = start + open.length
  const at = closings.after(close, from)
  if (at - from > longestCandidate) return null
  const end = at + close.length
  if (isMatrix) return { start, end, text: text.slice(start, end), isBare: false }
  const inner = text.slice(from, at)
  return inner.trim() === '' || (open === '$' && isProse(inner))
    ? null
    : { start, end, text: inner, isBare: false }
}

/**
 * Finds the next occurrence of signs for positions that only move forward, so each sign is searched once over
 * the whole text.
 */
class Closings {
  private readonly known = new Map<string, number>()
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Infinity if there is none. */
  after(sign: string, from: number): number {
    let at = this.known.get(sign) ?? -1
    while (at < from || (sign === '$' && this.text[at - 1] === '\\')) {
      const next = this.text.indexOf(sign, Math.max(from, at + 1))
      at = next < 0 ? Number.POSITIVE_INFINITY : next
    }
    this.known.set(sign, at)
    return at
  }
}

/** The text between two dollar prices is prose, not mathematics. */
const isProse = (inner: string): boolean =>
  /^\d/.test(inner) && /[A-Za-z]{3,}[\s,]+[A-Za-z]{2,}/.test(inner.slice(0, 400).replace(/\\[A-Za-z]+/g, ' '))

function number(text: string, start: number, written: string): Candidate | null {
  const before = text[start - 1] ?? ' '
  const isMinus = written.startsWith('-') && /[\s(=:$*_"“[]/.test(before)
  const plain = written.startsWith('-') && !isMinus ? written.slice(1) : written
  const at = start + written.length - plain.length
  if (/[\p{Cf}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\d_]/u.test(text[at - 1] ?? ' ')) return null
  // Part of a power, an index or a struck number, or disguised by what hangs on it.
  if (/[\^_~]\{?-?$/.test(text.slice(Math.max(0, at - 3), at))) return null
  if (/^(?:[\p{M}\p{Cf}~^_!…吗]|\.\.)/u.test(text.slice(at + plain.length, at + plain.length + 2)))
    return null
  return { start: at, end: at + plain.length, text: plain, isBare: true }
}
