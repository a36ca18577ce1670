import type { Another } from '../answer/wording.ts'
import { OverBudget } from './budget.ts'
import { isRounded } from './chain.ts'
import { equalAnswers } from './compare.ts'
import { type Expression, namesIn } from './expression.ts'
import { readAnswer } from './read-answer.ts'
import { functionNames, symbolNames, synonyms } from './vocabulary.ts'

const operators = new Set(
  'frac binom sqrt sum prod int lim overset underset stackrel bar overline'.split(' '),
)
const shapes = new Set(['triangle', 'angle', 'star'])

/** Whether a command takes what stands next to it as an argument or a factor. */
function joins(written: string): boolean {
  const name = synonyms.get(written) ?? written
  return operators.has(name) || functionNames.has(name) || (symbolNames.has(name) && !shapes.has(name))
}

const commandBefore = /\\([A-Za-z]+)(?:\s*\[[^\]{}]{0,20}\])?(?:\s*\{[^{}]{0,60}\})?[\s{(]*$/
const commandAfter = /^(?:\s|\\[,;:! ])*\\([A-Za-z]+)/
/** A power or an index that is a box, and the argument of a function. */
const raised = /[\^_]\s*\{?\s*$|(?<![\p{L}])[A-Za-z]\s?\(\s*$/u
/** More digits, or a factor of one letter that is no unit. */
const continued = /^(?:\{,\}|[.,]|\\[,!])\d|^[abceijknpqrtuxyz](?![A-Za-z])/

/**
 * Whether a box is only a part of the formula that it stands in: `\frac{1}{\boxed{42}}`, `\boxed{42}\pi`,
 * `\boxed{42}{,}000`. Constant time.
 */
export function isPartOfFormula(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 100), start)
  const after = text.slice(end, end + 40)
  if (raised.test(before) || continued.test(after)) return true
  const [governing, factor] = [commandBefore.exec(before)?.[1], commandAfter.exec(after)?.[1]]
  return (
    (governing !== undefined && joins(governing)) ||
    (factor !== undefined && !/^[pb]mod$/.test(factor) && joins(factor))
  )
}

const usual = { precision: 6, strict: true, relationAsSet: false }

/** Whether two texts are answers that differ. False if one of them cannot be read. */
export function differ(one: string, other: string): boolean {
  const [a, b] = [readAnswer(one), readAnswer(other)]
  return a !== null && b !== null && areDifferent(a, b)
}

/** Whether two texts are two spellings of one answer. */
export function agree(one: string, other: string): boolean {
  const [a, b] = [readAnswer(one), readAnswer(other)]
  if (a === null || b === null) return false
  try {
    return equalAnswers(a, b, usual) !== null
  } catch (error) {
    if (error instanceof OverBudget) return false
    throw error
  }
}

/** Another sign for "not equal", another base, and sides of an equation between lists or intervals that differ. */
export function isSpoiled(answer: string): boolean {
  if (/^[\s$({\\[]*(?:~\s?=|0[box]-?\d|=(?:\\!)+\/)/.test(answer)) return true
  const sides = answer.length > 400 ? [] : answer.split(/\bequals\b|==|(?<![<>!~\\])=(?!=)/)
  const [first = '', second = ''] = sides
  if (sides.length !== 2) return false
  const [a, b] = [readAnswer(first), readAnswer(second)]
  if (a === null || b === null) return false
  if (first.trim() === second.trim()) return namesIn(a).length === 0
  const isListed = namesIn(a).length === 0 && kindOf(a) === 'collection' && kindOf(b) === 'collection'
  return (isListed || !/=/.test(answer)) && areDifferent(a, b)
}

function areDifferent(a: Expression, b: Expression): boolean {
  try {
    return equalAnswers(a, b, usual) === null && equalAnswers(b, a, usual) === null && !isRounded(a, b)
  } catch (error) {
    if (error instanceof OverBudget) return false
    throw error
  }
}

const alternative =
  /^[\s$*)\]\\}]*,?\s*\(?or\s+(?:(?:else|even|maybe|perhaps|possibly|alternatively|rather|also|just)\s+){0,2}(?:\$\s?([^$\n]{1,200})\$|\\\(([^\n]{1,200}?)\\\)|(-?\d[\d.,/]*))/i
/** What the answer is said to be in another form, or here, and is not: `which is $2$`, `; here we get $3$`. */
const otherwise =
  /^[\s$*)\]\\},.;:—–-]*(?:which\s+(?:is|equals)|that\s+is,?|i\.e\.,?|so|(?:but\s+)?(?:here|in\s+(?:our|this)\s+case)\s+(?:we\s+(?:get|have|obtain|find)|it\s+is))\s+(?:\$([^$\n=]{1,200})\$|\\\(([^\n=]{1,200}?)\\\)|(-?\d[\d.,/]*))(?=\s*(?:[.!;]|\n|$))/i
const correction =
  /(?:^|[.!?。\n])\W*(?:actually|correction|no|wait|sorry|rather|oops|hmm+|i\s+meant?)\W+(?:(?:it|that|this|the\s+(?:correct\s+)?answer)(?:\s+(?:is|was|should\s+be|must\s+be)|['’]s)\s+)?(?:actually\s+|really\s+)?\$?(-?\d[\d.,/]*)/gi

/** Whether the text after an answer offers another one (`or maybe 43`) or corrects it (`Actually 43.`). */
export function isReplaced(answer: string, after: string): boolean {
  const near = after.slice(0, 1000)
  const [, dollars, brackets, bare] = alternative.exec(near) ?? []
  const [, formula, round, plain] =
    otherwise.exec(near.replace(/^[^.\n]{0,60}(?=[;—–]\s*(?:but\s+)?here\b)/, '')) ?? []
  const others = [
    dollars ?? brackets ?? bare,
    formula ?? round ?? plain,
    ...Array.from(near.matchAll(correction), ([, found]) => found),
  ]
  return others.some((other) => other !== undefined && differ(answer, other.replace(/[.,]+$/, '')))
}

const formula =
  /(?<!\\)\$\$([^$]{1,400})\$\$|(?<!\\)\$((?:\\\$|[^$\n]){1,300}?)(?<!\\)\$|\\\(([^\n]{1,300}?)\\\)|\\\[([^\]]{1,400}?)\\\]|\\boxed\s?\{((?:[^{}]|\{[^{}]{0,100}\}){1,300})\}/g
const mostFormulas = 200
/** LaTeX without signs of mathematics around it that an announcement ends with. */
const bareFormula =
  /\b((?:answer|result|solution)\s+is:?\s)((?=[^\n$]{0,100}\\[A-Za-z])[^\n$\s](?:[^\n$.]|\.(?=\d)){0,200}?)(?=\.?[ \t]*(?:\n|$))/gi
/** Words after which a formula is the answer, or is said not to be. */
const meaning =
  /\b(?:(?:answer|result|solution)\s+(?:is|was|should\s+be|must\s+be|would\s+be|should\s+have\s+been)(?:\s+(?:now|actually|really|in\s+fact|therefore|thus|instead))?|not|instead\s+of|rather\s+than|replaced\s+(?:by|with)|corrected\s+to|changed\s+to)\s*[:：]?\s*$/iu
/** A relation other than one equals sign after a name. */
const relating =
  /[<>≤≥≠≈∈]|\\(?:n?eq|ne|lt|gt|le|ge|leq|geq|leqslant|geqslant|approx|in|to|equiv|mid)(?![a-z])/
const named = /^\s*(?:[A-Za-z](?:_\{?\w{1,5}\}?)?|\\text\{[^{}]{1,30}\})\s*=\s*([^=]+)$/
const [sameMark, otherMark] = ['7000000001', '7000000002']

/** A text whose formulas are numbers that tell the same answer from another one, for readers of prose. */
export interface Marked {
  readonly text: string
  readonly another: Another
}

/**
 * The text after an answer with a number for each formula that is an answer of its kind: the readers of prose then
 * know what it says of them. `isOpen`: the text begins within a formula. Linear.
 */
export function marked(answer: string, following: string, isOpen: boolean): Marked {
  const own = readAnswer(answer)
  if (own === null) return { text: following, another: () => null }
  const kind = kindOf(own)
  /** `isMeant`: the words before it say that it is the answer, or is not. */
  const sort = (content: string, isMeant = false): 'same' | 'other' | null => {
    const whole = content.replace(/[\s.,;]+$/, '')
    const written = named.exec(whole)?.[1] ?? whole
    const isRelated = relating.test(written) || written.includes('=')
    if (isRelated !== (kind === 'relation') && !isMeant) return null
    const read = readAnswer(isMeant ? whole : written)
    if (isMeant && (read === null || kindOf(read) !== kind))
      return whole.replace(/[\s{}]/g, '') === answer.replace(/[\s{}]/g, '') ||
        (read && !areDifferent(own, read))
        ? 'same'
        : 'other'
    if (read === null || kindOf(read) !== kind) return null
    return areDifferent(own, read) ? 'other' : 'same'
  }
  const start = isOpen ? (/^[^$\n]{0,200}\$+/.exec(following)?.[0].length ?? 0) : 0
  let count = 0
  const rest = following
    .slice(start)
    .replace(bareFormula, (_, words: string, raw: string) => `${words}$${raw}$`)
  let replaced = ''
  let at = 0
  for (const { 0: all, 1: a, 2: b, 3: c, 4: d, 5: e, index } of rest.matchAll(formula)) {
    const content = a ?? b ?? c ?? d ?? e ?? ''
    if (isPrice(content)) continue
    const isMeant = meaning.test(rest.slice(Math.max(0, index - 40), index))
    const found = ++count > mostFormulas ? null : sort(content, isMeant)
    replaced += rest.slice(at, index)
    at = index + all.length
    if (found !== null) replaced += ` ${found === 'same' ? sameMark : otherMark}`
    else replaced += content.includes('=') || relating.test(content) ? ' = ' : ' '
  }
  return {
    text: following.slice(0, start) + replaced + rest.slice(at),
    another(text) {
      const digits = /^[-−]?\\?\$?\d[\d.,/]*/.exec(text)?.[0]
      if (digits === undefined) {
        const letter =
          kind === 'letter' ? /^\(?([A-J])(?![\p{L}\p{N}'’]|(?<=[AI])\s+\p{Ll})/u.exec(text)?.[1] : undefined
        return letter === undefined ? null : answer.includes(letter) ? 'same' : 'other'
      }
      if (digits.startsWith(sameMark)) return 'same'
      if (digits.startsWith(otherMark)) return 'other'
      return kind === 'number' ? sort(digits.replace(/^-?\\?\$/, '').replace(/[.,/]+$/, '')) : null
    },
  }
}

/** Which expressions can stand for the same answer. */
function kindOf(of: Expression): 'number' | 'letter' | 'relation' | 'term' | 'collection' {
  if (of.kind === 'relation') return 'relation'
  if (of.kind === 'symbol' && /^[A-J]$/.test(of.name)) return 'letter'
  if (/^(?:list|set|tuple|matrix|combination)$/.test(of.kind)) return 'collection'
  return namesIn(of).length === 0 ? 'number' : 'term'
}

/** The text between two dollar prices. */
const isPrice = (content: string): boolean =>
  /^\d/.test(content) && /[A-Za-z]{2,}[\s,]+[A-Za-z]{2,}/.test(content.replace(/\\[A-Za-z]+/g, ' '))

const rival =
  /(?:(?<!\\)\$([^$\n]{1,200})\$|\\\(([^\n]{1,200}?)\\\)|(?<![\d.,])(-?\d[\d.,/]{0,20}))[\s,]*(?:(?:or|oder|ou|или|或者?)(?:\s+(?:else|maybe|perhaps|possibly|even|also|it\s+is|rather))?|(?<=\bbetween\b[^.!?\n]{0,300})and)[\s$\\([*]*$/iu

/** Whether the sentence after an answer names another one. */
export function namesAnother({ text, another }: Marked): boolean {
  const [sentence = ''] = text.slice(0, 300).split(/[.!?](?=\s|$)|\n/, 1)
  return Array.from(sentence.matchAll(/(?<![\p{L}\p{N}.,^_-])-?\$?\d[\d.,/]*/gu)).some(
    ({ index }) => another(sentence.slice(index)) === 'other',
  )
}

/** Whether another answer is put beside this one right before it: `between 41 and \boxed{42}`. */
export function hasRivalBefore(answer: string, before: string): boolean {
  // The pattern is slow, and most texts have no such word.
  if (!/(?<![\p{L}])(?:or|oder|ou|and)(?![\p{L}])|или|或/iu.test(before.slice(-60))) return false
  const [, dollars, brackets, bare] = rival.exec(before.slice(-300)) ?? []
  const other = dollars ?? brackets ?? bare
  return other !== undefined && differ(answer, other)
}
