import {
  against,
  clauseAround,
  denied,
  lastClauses,
  openly,
  sentenceOf,
  speaksAgainst,
  startOfSentence,
} from './choice-clause.ts'
import { type AnswerKind, type FinalAnswer, objectionAround, unreal } from './final-answer.ts'
import { hasForeignWords } from './known-words.ts'
import { leadWithin } from './lead-in.ts'
import {
  followsOtherText,
  followsOwnText,
  letterOfText,
  namesOtherText,
  noNoun,
  optionNoun,
  optionsOf,
} from './options.ts'

/** Letters of choices in prose without marks: where a sentence settles on one, and where it only names one. */

const adverbs = `(?:(?:clearly|definitely|therefore|thus|hence|indeed|also|the|a|our|my|only|most|by\\s+far)\\s+){0,3}`
const good = `(?:correct|right|best|strongest|closest|nearest|true|answer|match|winner|most\\s+(?:logical|sensible|plausible|likely|appropriate|reasonable|suitable)|exactly\\s+(?:that|this)|(?:the\\s+)?one\\b|what\\s+(?:we|you)\\s+(?:want|need)(?=\\s*(?:[.,;!]|$))|(?:right|correct|best|proper|closest|nearest|only)\\s+(?:answer|option|choice|match|pick|one|fit))\\b(?!\\?)`
const abroad = `(?:richtig|korrekt|correct[aeo]?|corretta|corretto|bonne|exacte?|die\\s+(?:richtige|Lösung)|la\\s+(?:correcta|bonne|respuesta|réponse)|le\\s+bon)(?!\\p{L})`
const positive = new RegExp(
  [
    `(?:option|choice|answer)?\\s*\\(?(?<!\\p{L})([A-Z])(?!\\p{L})\\)?\\*{0,2}\\s+(?:is|must\\s+be|has\\s+to\\s+be|would\\s+be|seems)\\s+${adverbs}${good}`,
    `(?<!\\p{L})(?:[Oo]nly|[Mm]ak(?:es|ing)|[Ll]eav(?:es|ing))\\s+(?:${optionNoun}\\s+)?\\(?([A-Z])\\)?\\s+(?:remains?|fits?|works?|matches|holds|satisfies|meets|agrees|survives|accounts\\s+for|is\\s+left|is\\s+possible|as\\s+the|the\\s+${adverbs}${good}|${good})`,
    `(?<=^|[.!?,;:]\\s|\\n)(?:(?:[Ss]o|[Tt]hen|[Hh]ence|[Tt]hus)\\s+)?\\(?([A-Z])\\)?\\s+it\\s+is\\b(?!\\s+not)`,
    `(?:[Tt]his|[Tt]hat|[Ww]hich)\\s+is\\s+(?:exactly\\s+|just\\s+)?(?:what\\s+(?:${optionNoun}\\s+)?\\(?([A-Z])\\)?\\s+(?:describes|says|states|expresses|means|gives)|${optionNoun}\\s+\\(?([A-Z])\\)?\\s+in\\s+the\\s+(?:list|options|question))\\b`,
    `(?<!\\p{L})([A-Z])(?!\\p{L})\\)?\\s+(?:(?:ist|es|est|è|é)\\s+(?:also\\s+|donc\\s+)?${abroad}|(?:stimmt|passt|convient)(?!\\p{L}))`,
    `(?<!\\p{L})(?:ist|es|est|è|é)\\s+(?:die\\s+|la\\s+|l['’]|a\\s+)?(?:Option|Antwort|opción|opzione|opção|option|réponse|respuesta|risposta|resposta)\\s+([A-Z])\\s+${abroad}`,
    `(?<![\\p{Script=Latin}\\d])([A-Z])\\)?(?:(?:选项)?(?:是)?(?:正确|对的)|(?:が|は)(?:正しい|正解)|(?:が|は)?(?:適切|最も適切)|(?:です|である|だ)(?=[。.!]|$)|を(?:選び|選択))`,
  ].join('|'),
  'gu',
)
const chosen =
  /(?:\b(?:choisir|choisis(?:sons)?|elijo|elegir|elegimos|escojo|wählen?|scelgo|scegliere|escolho|escolher)(?:\s+(?:la|le|el|die|a))?|\b(?:I|we|I['’](?:ll|d)|we['’](?:ll|d)|should|must|will|would|to)\s+(?:therefore\s+|thus\s+)?(?:choose|pick|select|go\s+(?:with|for)|opt\s+for|settle\s+on|say|mark|tick|circle|answer(?:\s+with)?)|\b(?:(?:choose|Choose)|[Pp]ick|[Ss]elect|go(?:ing)?\s+with|(?:[Tt]hat|[Tt]his|[Ww]hich)\s+leaves|[Ll]eaving|(?:am|are|['’]m|['’]re)\s+left\s+with)(?:\s+us\s+with|\s+only|\s+just)?)\s+(?:option\s+|choice\s+|answer\s+|letter\s+|sentence\s+|statement\s+)?(?=[\s*("']*[A-Z](?![\p{L}\p{N}'’]))/gu
/** Where a clause that only names a letter ends, or goes on with another one. */
const closed = `(?=[*("'[]*[A-Z][)*"'\\]]*\\s*(?:[.,;:!—–\\n]|(?<=\\s)\\(|$|(?:and|or|and/or)\\s[*("']*[A-Z](?!\\p{L})))`
/** Words that conclude with the letter after them, if it ends its clause: `So C.`, `which is option C`. */
const concluded = new RegExp(
  `\\b(?:(?:is|ist|es|est|[Ss]o|thus|Thus|hence|Hence|therefore|Therefore|[Aa]lso|[Dd]aher|[Ss]omit|[Dd]onc|[Ii]t['’]s|[Tt]hat['’]s|(?:[Tt]his|[Tt]hat|[Ii]t|[Ww]hich)\\s+(?:matches|corresponds\\s+to|agrees\\s+with|points\\s+to)|i\\.e\\.|[Ii]t\\s+(?:must|has\\s+to)\\s+be)(?:,?\\s+it\\s+is|,?\\s+it['’]s|,)?)\\s+(?:the\\s+)?(?:${optionNoun}\\s+)?${closed}`,
  'gu',
)
/** A letter behind what it stands for: `O(log n), option D.`, `0.5 A, matching choice A`. */
const behind = new RegExp(
  `(?:[,;:(—–→]|\\s-|(?<=[,;—–]\\s)(?:matching|i\\.e\\.,?|that\\s+is,?|namely|which\\s+is))\\s?${optionNoun}\\s+${closed}`,
  'gu',
)
/** A label at the start of a line or a sentence: `My pick: B`. */
const labelled =
  /(?<=^|\n|[.!?]\s)[#>\s*_-]{0,6}(?:[Mm]y|[Oo]ur|[Tt]he|[Ff]inal)\s+(?:final\s+|best\s+)?(?:pick|choice|selection)\s*(?:is\s*:?|[:=→⇒]|->|[-–—]\s)\s*(?=[*_("'$]*[A-Z](?![\p{L}\p{N}'’]))/gu
/** A letter in bold, alone or with the text of its choice. */
const emphasised = /\*\*\s?\(?([A-Z])\)?(?:\s?[.):]\s[^*\n]{1,200}|[.):])?\*\*/g
const bold = /\*\*([^*\n]{2,200})\*\*/g
/** A line of a list of choices that is ticked. */
const tick =
  /(?<=^|\n)(?:[^\p{L}\p{N}\n✗✘❌✖❎☐]{0,8}(?:[Oo]ption\s)?([A-Z])(?!\p{L})[^\n✗✘❌✖❎☐]{0,200}?[✓✔✅☑]|[^\p{L}\p{N}\n]{0,4}[✓✔✅☑]\ufe0f?[^\p{L}\p{N}\n]{0,4}([A-Z])(?!\p{L}))[^\n]*/gu
/** A line of a list of choices that says whether it is right. */
const verdict =
  /(?<=^|\n)[^\p{L}\p{N}\n]{0,8}(?:[Oo]ption\s)?([A-Z])[\s*_)]{0,4}[.:–—-][\s*_]{0,4}(yes|no|correct|incorrect|right|wrong|true|false)(?!\p{L})(?=[^\n]{0,60}(?:\n|$))/giu
/** Words that name a letter without choosing it. */
const mentioning =
  /\b(?:consider(?:ing|ed)?|look(?:ing)?\s+at|examin(?:e|ing)|discuss(?:ing)?|start(?:ing|ed)?\s+with|fig(?:ure|\.)?|section|appendix|table|chapter|page|vitamin|hepatitis|type|grade|class|group|student|point|cross\s+out|strike|drop|rule\s+out|avoid)\s+(?:option\s+|choice\s+)?[*_("'$]*$|\b(?:previous|earlier|other|another|next|last)\s+(?:question|problem|task|exercise)\b[^.]{0,40}$/i
/** A letter behind these is a part of a formula: `\\hat{B`, `C / B`. */
const inFormula =
  /[=/|&\\+×÷][\s,!]*[*_("'[]{0,3}$|\\(?!(?:text|math)\w*|boxed|bf|bm|mbox)[A-Za-z]{1,12}\s?\{[^{}]{0,20}$/
/** A letter that may name a choice: no article, no person, no unit, no name in a formula. */
const lone = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{N}'’\\\\^_{!¬~]|[~!<>≠≈=]=\\s?|\\d\\s)(?:[B-HJ-Z]|A(?!\\s+(?!${noNoun})\\p{Ll}|(?<=^A)\\s+\\p{Lu}\\p{Ll})|I(?!\\s+\\p{Ll}))(?![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{N}'’′^_]|\\s?=)`,
  'gu',
)
const formula = /\$(?!\s*(?:\\(?:text|mathrm|textbf|mathbf)\{)?\(?[A-Z]\)?\}?\s*\$)[^$\n]{1,300}\$/g

const longestTail = 4000

/** The last cell of a table that a text ends with, or the text. */
const lastCell = (text: string): string =>
  text.endsWith('|') && text.includes('|--') ? (text.split('|').at(-2) ?? text).trim() : text

/** A small letter that is all there is: `b`, `option b)`. */
const loneSmall = /^(?:option|choice|answer|letter)?[\s:]{0,3}[(*]{0,3}[a-z][.)*]{0,3}$/i

/** A place in prose that settles on a letter. */
interface Commitment {
  readonly at: number
  readonly from: number
  /** undefined: it stands at `from`. */
  readonly letter: string | undefined
  readonly rest: string
  readonly isUnreal: boolean
  /** Whether it stands behind the text of the choice. */
  readonly isBehind: boolean
}

/** The letter that a text starts with, that its last commitment names, or the only one of its last sentence that names any. */
export function unmarkedChoice(
  text: string,
  kind: AnswerKind<string>,
  labels: readonly string[],
  question: string,
): FinalAnswer<string> {
  const trimmed = lastCell(text.trim()).replace(loneSmall, (letter) => letter.toUpperCase())
  const whole = letterOfText(trimmed, labels, question)
  if (whole !== null) return judged(trimmed, 0, '', whole, kind)
  const tail = trimmed.slice(-longestTail)
  const { texts } = optionsOf(question)
  const isListed = (letter: string): boolean =>
    labels.includes(letter) && (texts.size < 3 || texts.has(letter))
  const ticked = onlyTicked(tail, isListed)
  if (ticked !== null) return judged(tail.slice(ticked.index), 0, ticked.rest, ticked.letter, kind)
  const places = commitments(tail).filter(({ from, letter }) =>
    isListed(letter ?? /[A-Z]/.exec(tail.slice(from, from + 20))?.[0] ?? ''),
  )
  const first = leading(trimmed, kind, labels)
  // "A. Too large. C. Too small. That leaves B."
  if (first !== null && ('answer' in first || places.length === 0)) return first
  const place = places.at(-1)
  if (place !== undefined) return committed(tail, place, places.at(-2), kind, labels, question)
  return (
    onlyEmphasised(tail, kind, labels) ??
    lastSentence(trimmed, kind, isListed, question) ??
    emphasisedText(tail, kind, labels, question) ?? { reason: 'no_choice' }
  )
}

const commitments = (tail: string): Commitment[] =>
  [
    ...Array.from(tail.matchAll(positive), (found) => {
      const rest = tail.slice(found.index + found[0].length)
      const isUnreal =
        /\bwould\b/.test(found[0]) &&
        (/^\s+(?:in|if|under|on)\s+(?:another|an?\s+different|other|the)\b/i.test(rest.slice(0, 40)) ||
          unreal.test(tail.slice(Math.max(0, found.index - 200), found.index)))
      const letter = found.slice(1).find((one) => one !== undefined)
      return { at: found.index, from: found.index, letter, rest, isUnreal, isBehind: false }
    }),
    ...[chosen, concluded, behind, labelled].flatMap((pattern) =>
      Array.from(tail.matchAll(pattern), (found) => ({
        at: found.index,
        from: found.index + found[0].length,
        letter: undefined,
        rest: '',
        isUnreal: false,
        isBehind: pattern === behind,
      })),
    ),
  ].sort((a, b) => a.at - b.at)

function committed(
  tail: string,
  place: Commitment,
  before: Commitment | undefined,
  kind: AnswerKind<string>,
  labels: readonly string[],
  question: string,
): FinalAnswer<string> {
  if (place.isUnreal) return { reason: 'conditional' }
  // "So C. So B."
  const between = before === undefined ? '' : tail.slice(before.from, place.at)
  const [earlier = ''] = between.match(/^[\s*("']*[A-Z](?![\p{L}\p{N}])/u) ?? []
  const own = place.letter ?? /[A-Z]/.exec(tail.slice(place.from))?.[0]
  const isOther = labels.includes(earlier.slice(-1)) && earlier.slice(-1) !== own
  if (isOther && between.length < 12) return { reason: 'several_choices' }
  const lead = tail.slice(
    startOfSentence(tail, place.from),
    place.letter === undefined ? place.from : place.at,
  )
  const isNew = !place.isBehind && /[,;:—–]\s*$/.test(lead)
  const clause = isNew ? '' : lastClauses(lead, place.isBehind ? 2 : 1)
  if (speaksAgainst(clause, question, [against]) || ofSomebody.test(lead)) return { reason: 'denied' }
  const reading =
    place.letter === undefined
      ? kind.read(tail.slice(place.from).split('\n', 1)[0] ?? '', false)
      : { answer: place.letter, rest: '' }
  if ('reason' in reading) return reading
  if (place.letter === undefined && followsOtherText(tail.slice(0, place.from), reading.answer, question))
    return { reason: 'contradiction' }
  const rest = place.letter === undefined ? reading.rest : place.rest
  return judged(tail, place.from, rest, reading.answer, kind)
}

/** What somebody else would say: `My professor would say D.` */
const ofSomebody =
  /(?:^|[\s,;:])(?:my|our|your|his|her|an?|some|another|every(?:one|body)|some(?:one|body)|people)\b(?!\s+(?:answer|choice|pick|selection|vote))(?:\s[\p{L}'’]+){0,4}\s(?:would|will|might|could|should|must)\s+(?:\p{L}+\s+)?(?:choose|pick|select|go|opt|settle|say|mark|tick|circle|answer)\b[^.!?]*$/iu

/** The one line that a text ticks, if it goes through the choices line by line. */
function onlyTicked(text: string, isListed: (letter: string) => boolean) {
  const judgedLines = Array.from(text.matchAll(verdict))
  const [yes, ...others] = judgedLines.filter(([, , word = '']) => /^(?:yes|correct|true|right)/i.test(word))
  if (yes !== undefined && others.length === 0 && judgedLines.length > 2)
    return { index: yes.index, letter: yes[1] ?? '', rest: '' }
  if (!/[✓✔✅☑]/.test(text) || !/[✗✘❌✖❎☐]/.test(text)) return null
  const found = Array.from(text.matchAll(tick)).filter(({ 1: a, 2: b }) => isListed(a ?? b ?? ''))
  const [first] = found
  if (first === undefined || found.length > 1) return null
  return {
    index: first.index,
    letter: first[1] ?? first[2] ?? '',
    rest: text.slice(first.index + first[0].length),
  }
}

/** The one letter that a text sets in bold. null: none, or several. */
function onlyEmphasised(
  text: string,
  kind: AnswerKind<string>,
  labels: readonly string[],
): FinalAnswer<string> | null {
  const found = Array.from(text.matchAll(emphasised)).filter(([, letter = '']) => labels.includes(letter))
  const [first] = found
  if (first === undefined || found.some(([, letter]) => letter !== first[1])) return null
  const rest = text.slice(first.index + first[0].length)
  if (namesOtherText(rest, first[1] ?? '', kind.prompt ?? '')) return { reason: 'contradiction' }
  return judged(text, first.index, rest, first[1] ?? '', kind)
}

/** The one choice whose text the last sentence sets in bold, in a text that names no letter. */
function emphasisedText(
  text: string,
  kind: AnswerKind<string>,
  labels: readonly string[],
  question: string,
): FinalAnswer<string> | null {
  const found = Array.from(text.matchAll(bold))
  const last = found.at(-1)
  if (last === undefined || found.length > 1) return null
  const letter = letterOfText(last[1] ?? '', labels, question)
  if (letter === null || speaksAgainst(sentenceOf(text, last.index), question, [against, openly])) return null
  return judged(text, last.index, text.slice(last.index + last[0].length), letter, kind)
}

/** A text whose first or last line is a letter, or starts with one as a list item would, if no other line does. */
function leading(
  text: string,
  kind: AnswerKind<string>,
  labels: readonly string[],
): FinalAnswer<string> | null {
  const lines = text.split('\n')
  const item =
    /^[#>\s-]*(?:\\[([]|[*_"'`“‘$])*(?:\\text(?:bf)?\{?)?(?:([A-Z])(?=(?:\\[)\]]|[*_"'`”’$}])*\s?(?:$|[.):,]|\((?![A-Z]\))|!|(?:because|since|and\s+not|but\s+not|not|rather\s+than|instead\s+of)\s|[—–]\s|[👍✅✔🎯])|\s-\s)|([a-z])(?=\)\s)|[[({]\s*([A-Za-z])\s*[)}\]](?=[*_"'`”’$}]*(?:$|[.:,]|\s)))/u
  const letters = lines.map((line) => {
    const found = item.exec(line.trim())
    const letter = (found?.[1] ?? found?.[2] ?? found?.[3])?.toUpperCase()
    return letter !== undefined && labels.includes(letter) ? letter : null
  })
  const isBehindList = isAloneBehindList(lines, letters, labels)
  const at = letters[0] && !isBehindList ? 0 : letters.length - 1
  const letter = letters[at]
  if (letter === null || letter === undefined) return null
  if (!isBehindList && letters.some((other) => other !== null && other !== letter))
    return { reason: 'several_choices' }
  const line = lines[at] ?? ''
  const reading = kind.read(line.replace(/^[#>\s-]+/, ''), false)
  if ('reason' in reading) return reading
  const start = at === 0 ? 0 : text.length - line.length
  return judged(text, start, `${reading.rest}${text.slice(start + line.length)}`, letter, kind)
}

/** Whether the last line is a letter and no more, in a text that goes through all choices, a line each, before it. */
const isAloneBehindList = (
  lines: readonly string[],
  letters: readonly (string | null)[],
  labels: readonly string[],
): boolean => {
  const listed = letters.slice(0, -1).filter((letter) => letter !== null)
  return (
    listed.length > 2 &&
    new Set(listed).size === listed.length &&
    listed.length >= Math.min(labels.length, 4) &&
    /^[\s*_(]*[A-Z][\s*_).]*$/.test(lines.at(-1) ?? '') &&
    lines.every((line, at) => letters[at] === null || at === lines.length - 1 || /[.):]\s+\S/.test(line))
  )
}

interface Mention {
  readonly index: number
  readonly letter: string
}

/** The letter of the last sentence that names any, if it names one, and its clause says nothing against it. */
function lastSentence(
  text: string,
  kind: AnswerKind<string>,
  isListed: (letter: string) => boolean,
  question: string,
): FinalAnswer<string> | null {
  const tail = text.slice(-longestTail)
  const { texts } = optionsOf(question)
  const shown = tail.replace(formula, (inner) => ' '.repeat(inner.length))
  const all = Array.from(shown.matchAll(lone), ({ index, 0: letter }): Mention => ({ index, letter })).filter(
    ({ letter }) => isListed(letter),
  )
  const last = all.at(-1)
  if (last === undefined) return null
  // A letter alone in another line is another answer, and one in code is quoted.
  const isAlone = (line: string): boolean => {
    const letter = /^[\s*_>#(]{0,6}([A-Z])[\s*_).]{0,4}$/.exec(line)?.[1]
    return letter !== undefined && letter !== last.letter && isListed(letter)
  }
  if (tail.split('\n').some(isAlone)) return { reason: 'several_choices' }
  const start = startOfSentence(shown, last.index)
  const inSentence = all.filter(({ index }) => index >= start)
  const isSame = ({ letter }: Mention): boolean => letter === last.letter
  const clause = clauseAround(shown, last.index)
  const others = inSentence.filter((one) => !isSame(one))
  // A letter that only a sentence in brackets names, behind another one.
  const isBracketed = /^\s*\([^()]*\)?[.!]?\s*$/.test(shown.slice(start))
  if (isBracketed && all.some((one) => one.index < start && !isSame(one)))
    return { reason: 'several_choices' }
  const isRuledOut = ({ index }: Mention) => speaksAgainst(clauseAround(shown, index), question, [against])
  if (!others.every(isRuledOut)) return { reason: 'several_choices' }
  const first = inSentence.find(isSame) ?? last
  const before = tail.slice(0, first.index)
  const equated = /(?<!\p{L})([A-Z])\s?[=≠≈]/u.exec(tail.slice(start, last.index))?.[1] ?? ''
  if (
    mentioning.test(before.slice(-120)) ||
    inFormula.test(before.slice(-60)) ||
    /`\s*#+[^`\n]*$/.test(before) ||
    isListed(equated)
  )
    return { reason: 'no_choice' }
  const own = texts.get(last.letter) ?? ''
  const said = own === '' ? clause : withoutText(clause, own)
  if (speaksAgainst(said, question, [against, openly])) return { reason: 'denied' }
  if (isApposed(shown, last)) {
    if (all.some((one) => !isSame(one) && isApposed(shown, one))) return { reason: 'several_choices' }
  } else if (all.some((one) => one.index < start && !isSame(one) && isApposed(shown, one))) {
    return { reason: 'several_choices' }
  } else if (
    !isIdentity.test(said) &&
    !followsOwnText(before, first.letter, question) &&
    hasForeignWords(said.replace(denied, ' ').replace(lone, ' '), question)
  )
    return { reason: 'no_choice' }
  // "Which is wrong? B"
  const from = /\?\s*$/.test(tail.slice(0, start)) ? tail.lastIndexOf('\n', first.index) + 1 : start
  const line = tail.slice(from, first.index)
  const within = leadWithin(line.replace(denied, ' '))
  if (within !== null) return { reason: within }
  const reading = kind.read(tail.slice(first.index).split('\n', 1)[0] ?? '', false)
  if ('reason' in reading) return reading
  if (followsOtherText(before, first.letter, question)) return { reason: 'contradiction' }
  const rest = `${reading.rest}${tail.slice(first.index + (tail.slice(first.index).split('\n', 1)[0] ?? '').length)}`
  return judged(tail, first.index, rest, first.letter, kind)
}

/** Whether a letter ends its sentence as a clause of its own: `It halves the range: D.` */
const isApposed = (text: string, { index, letter }: Mention): boolean =>
  /(?:[,:;—–→⇒]|\s-|->)\s?[*_("'[]{0,3}$/.test(text.slice(Math.max(0, index - 8), index)) &&
  /^[)*_"'\]]{0,3}\s?(?:[.!]?\s*$|[.!]\s|\n)/.test(text.slice(index + letter.length, index + 10))

/** `B is the synonym`, `only B is odd`: what it is said to be is what is asked for, if no word speaks against it. */
const isIdentity = /^\W*(?:(?:[Ss]o|[Tt]hus|[Hh]ence|[Oo]nly)\s+)?[A-Z]\W{0,3}\s+is\s+the\s+\p{L}+\W*$/u

const withoutText = (clause: string, own: string): string => {
  const at = clause.toLowerCase().indexOf(own)
  return at < 0 ? clause : clause.slice(0, at) + clause.slice(at + own.length)
}

function judged(
  text: string,
  start: number,
  rest: string,
  answer: string,
  kind: AnswerKind<string>,
): FinalAnswer<string> {
  const [line = ''] = rest.replace(denied, (words) => ' '.repeat(words.length)).split('\n', 1)
  const from = text.length - rest.length
  const place = {
    kind: 'phrase' as const,
    start,
    end: from + line.length,
    from: start,
    isClosed: false,
    text: line,
  }
  const objection = objectionAround(text, place, { answer, rest: line }, kind)
  return objection === null ? { answer, kind: null, tail: 0 } : { reason: objection }
}
