import type { AnswerKind, FinalAnswer, Reading } from './final-answer.ts'
import { finalAnswer, objectionAround, unreal } from './final-answer.ts'
import { hasForeignWords } from './known-words.ts'
import { leadIn, leadWithin } from './lead-in.ts'
import { undressed } from './legible.ts'
import { isDisclaimer } from './remarks.ts'

/** A stated choice, or why there is none. */
export type StatedChoice = { readonly choice: string } | { readonly reason: string }

const opened = `[\\s*_"'\`“‘(\\[$]*`
const introduced = `(?:(?:the\\s+)?(?:(?:final|correct|right|best)\\s+)?(?:answer|option|choice|letter)(?:\\s+is)?\\s*:?|(?:clearly|definitely|obviously|certainly|therefore|thus|indeed|simply)|it\\s+is|it['’]s|(?:(?:la|le|el|die|a)\\s+)?(?:opci[oó]n|option|opzione|opção|letra|lettre|lettera|alternativa|antwort)|l['’]option|la|le|el|必是|应该?是|是|为|选项?)?`
const sole = new RegExp(
  `^${opened}${introduced}${opened}(?:([A-Z])(?![\\p{L}\\p{M}\\p{N}\\p{Sm}'’_-])|([A-Z])(?=[\\u3040-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7af])|(?<=[(\\[{]\\s?)([a-z])(?=[)\\]}]))`,
  'iu',
)
const delimiter = /^[\s*_"'”’\])]*[.):：](?=\s|$|[*_"”$])|^\s+[-–—]\s/

const mostlyMarks = new RegExp(`^${opened.slice(0, -1)}{60}`)

/** Words that no article stands before. */
const noNoun = `(?:is|are|was|were|has|too|also|would|could|can|may|might|must|fits|works|does|did|beats|wins|seems|looks|sounds|matches|as|and|or|but|because|since|with|by|not|on|in|at|for|if|when|otherwise|than|due|here|then|again|instead)\\b`
const article = new RegExp(`^[\\s*_$([]*(?:A\\s+(?!${noNoun})|I\\s+)[a-z]`)

/** Reads letters of choices. `labels` are the letters that exist. */
function choiceKind(labels: readonly string[], question: string): AnswerKind<string> {
  return {
    ...(question === '' ? {} : { question }),
    read(whole, isClosed) {
      const found = readChoice(whole, labels, question)
      if ('reason' in found || !isClosed || question === '') return found
      const [clause = ''] = found.rest.split(/[.!?。;,:(\n=]|\b(?:because|since|as|where|given|not)\b/, 1)
      return hasForeignWords(clause, question) ? { reason: 'extended' } : found
    },
    same: (a, b) => a === b,
    another(text, answer) {
      const [, bracketed, bare] =
        /^[\s*_$(["'“‘]*(?:(?:option|choice|answer|letter)\s+)?(?:\(([A-Za-z])\)|([A-Z])(?![\p{Script=Latin}\p{Script=Cyrillic}\p{N}'’]))/u.exec(
          text,
        ) ?? []
      const letter = (bracketed ?? bare)?.toUpperCase()
      if (letter === undefined || !labels.includes(letter)) return null
      // "A" before a word is an article, and "I" a person.
      if (bare !== undefined && article.test(text)) return null
      return letter === answer ? 'same' : 'other'
    },
  }
}

function readChoice(whole: string, labels: readonly string[], question: string): Reading<string> {
  const contrasted = whole.replace(
    /^\s*(?:definitely\s+|certainly\s+)?not\s+(?:option\s+)?\(?[A-Z]\)?(?:\s\([^()\n]{1,80}\))?,?\s+but\s+(?:rather\s+)?/i,
    '',
  )
  const text = undressed(contrasted)
  if (text === '') return { reason: 'no_answer' }
  if (/^[!¬]/.test(text)) return { reason: 'denied' }
  // The pattern walks a run of opening marks twice.
  if (mostlyMarks.test(text)) return { reason: 'no_choice' }
  const byText = ownText(text, labels, question)
  if (byText !== null) return { answer: byText, rest: '' }
  const found = sole.exec(text)
  const written = found?.[1] ?? found?.[2] ?? found?.[3]
  if (found === null || written === undefined) return denialOrNone(text, labels)
  const rest = text.slice(found[0].length)
  if (/^[\s*_)\]]*(?:[≠<>≉≁]|!=|\\ne)/.test(rest)) return { reason: 'denied' }
  // A lower-case letter in a sentence is a word: "the answer is a dog".
  const isWord =
    written === written.toLowerCase() &&
    !/^[)\]]/.test(rest) &&
    !(rest === '' && found[0].trim().length === 1)
  const isArticle = written === 'A' && article.test(`A${rest}`)
  const choice = written.toUpperCase()
  if (isWord || isArticle || !labels.includes(choice)) return { reason: 'no_choice' }
  if (namesOtherText(rest, choice, labels, question)) return { reason: 'contradiction' }
  return { answer: choice, rest: openRest(withoutOwn(rest, choice, question), choice, question) }
}

/** Without the text of the choice in brackets behind its letter: `D (Not found)`. */
function withoutOwn(rest: string, choice: string, question: string): string {
  const [all, inner = ''] = /^[\s*_]{0,6}\(([^()\n]{1,200})\)/.exec(rest) ?? ['']
  return inner !== '' && inner.trim().toLowerCase() === offered(question, choice)
    ? rest.slice(all.length)
    : rest
}

const toText =
  /^(?:\s?[*_]{0,3}\(|[\s*_)\].:,;=—–→-]{0,12})(?:(?:i\.?e\.?|which\s+is|that\s+is|namely|is)[\s,:]{1,3})?(?:(?:the|an?)\s)?/i
const endOfText = /^[\s*_"'”’)\]}]*(?:$|[.,;:!?\n]|(?:or|and)\b)/i

/** The letter of the choice whose text is all there is, with or without its letter: `"All of the above" (D).` */
function ownText(text: string, labels: readonly string[], question: string): string | null {
  if (question === '' || text.length > 300) return null
  const plain = text.toLowerCase().replace(/^[\s"'“‘*_]+|[\s"'”’*_.]+$/g, '')
  const found = labels.filter((label) => {
    const own = offered(question, label)
    if (own.length < 2 || !/\p{L}/u.test(own) || !plain.startsWith(own)) return false
    const rest = plain.slice(own.length)
    return (
      rest === '' ||
      new RegExp(`^["'”’*_.]*\\s*[(\\[]?(?:option\\s+)?${label.toLowerCase()}[)\\]]?$`).test(rest)
    )
  })
  return found.length === 1 ? (found[0] ?? null) : null
}

/** Whether the text behind a letter is that of another choice: `C. Oxygen`, where A is oxygen. */
function namesOtherText(rest: string, choice: string, labels: readonly string[], question: string): boolean {
  const [line = ''] = rest.slice(0, 500).split('\n', 1)
  return standsFor(line.replace(toText, ''), choice, labels, question) === 'other'
}

/** Whether a text starts with the text of a choice and no more, or with that of another one. null: with neither. */
function standsFor(
  text: string,
  choice: string,
  labels: readonly string[],
  question: string,
): 'own' | 'other' | null {
  if (question === '' || text === '') return null
  const lower = undressed(text).toLowerCase()
  const matches = labels
    .map((label) => ({ label, own: offered(question, label) }))
    .filter(({ own }) => own !== '' && lower.startsWith(own) && endOfText.test(lower.slice(own.length)))
    .sort((a, b) => b.own.length - a.own.length)
  const [longest] = matches
  if (longest === undefined) return null
  return matches.some(({ label, own }) => label === choice && own === longest.own) ? 'own' : 'other'
}

/** A text that names a letter only after other words: they may deny it. */
function denialOrNone(text: string, labels: readonly string[]): Reading<string> {
  const late = /^([^\n.]{1,60}?[\s(*])([A-Z])(?![\p{L}\p{N}'’])/u.exec(text)
  if (late && labels.includes(late[2] ?? '')) {
    const objection = leadIn(late[1] ?? '')
    if (objection !== null) return { reason: objection }
  }
  return { reason: 'no_choice' }
}

/** After `B.` or `B)` follows the text of the choice, which may say anything but another letter. */
const openRest = (rest: string, choice: string, question: string): string => {
  const found = delimiter.exec(rest)
  if (found) {
    const after = rest.slice(found[0].length).trimStart()
    const own = offered(question, choice)
    // "(C) Maybe", "(D) Both A and B": the words of a choice say nothing of it.
    if (own !== '' && after.toLowerCase().startsWith(own)) return after.slice(own.length)
    const [word = ''] = remark.exec(after) ?? []
    if (word !== '' && !own.startsWith(word.toLowerCase())) return after
  }
  return found ? (optionText(rest.slice(found[0].length)) ?? rest) : rest.replace(/^[)\]*_]+/, '')
}

/** What begins a remark, and seldom the text of a choice. */
const remark =
  /^(?:h?m+|wait|no|nope|actually|but|however|oh|sorry|or|scratch|correction|edit|update|oops)(?=[\s,.:;!…—-])/i

/** The text that a question gives a choice, in lower case. '': it gives none. */
function offered(question: string, choice: string): string {
  const start = question.search(new RegExp(`(?<![\\p{L}\\p{N}])\\(?${choice}[).:]\\s`, 'u'))
  if (start < 0) return ''
  const line = question.slice(start, start + 500).replace(/^\(?[A-Z][).:]\s+/, '')
  const [text = ''] = line.split(/\n|\s\(?[A-Z][).:]\s/, 1)
  return undressed(text)
    .toLowerCase()
    .replace(/[\s.;,]+$/, '')
}

function optionText(text: string): string | null {
  const line = text.split('\n', 1)[0] ?? ''
  if (
    /^\s*(?:(?:the\s+)?(?:other|remaining)\s+\w+|the\s+rest|(?:options?|choices?)\s[^.]*|[A-Z](?:,\s[A-Z])*,?\sand\s[A-Z]\s(?:are|do)\b)[^.]*\b(?:not|incorrect|wrong|false|eliminated|excluded|mistakes?|distractors?|traps?|too|fail|ruled)\b/i.test(
      line,
    )
  )
    return ''
  if (/^\s*(?:either|both|neither|none|all)\b/i.test(line)) return text.slice(line.length)
  const names =
    /(?:^|[\s,;/&(])(?:(?:or|and|nor|either|vs\.?|alternatively|otherwise|else)\s+)(?:option\s+)?\(?[A-Z]\)?(?=$|[\s.,;)?!*])|(?:^|[,;/&])\s?\(?[A-HJ-Z][).:](?=\s+[a-z\d]|$)|^\s*\(?[A-Z][).:](?=[\s"'}]|$)|^\s*[|/&=≠<>≈~]+\s*\(?[A-Z]\)?(?![a-z])|^\s*\(?[B-HJ-Z]\)?\s*(?:$|[,;/&])|\(([A-Z])\)|[,/]\s*[B-HJ-Z](?=$|[\s,.;/)])/.test(
      line,
    )
  if (names) return ` or ${line}`
  if (
    /^\s*(?:is|was|are|isn['’]t|wasn['’]t|cannot|can['’]t)\b/i.test(line) ||
    /\?\s*$|\([^)]*\b(?:correction|guess|maybe|perhaps|or|actually|not\s+sure|could\s+be|sorry)\b/i.test(
      line,
    ) ||
    /^\s*not\s+(?:this|that|it|the\s+(?:right|correct)|my|really|quite)\b/i.test(line) ||
    /^\s*(?:no|not|nope|wrong|maybe|perhaps|not\s+sure|or|wait|actually|oops|sorry|correction|scratch\s+that)\s*(?:[.,!?:]|$)/i.test(
      line,
    )
  )
    return line
  // "C. Just a guess."
  if (line.split(/(?<=[.!?])\s+/, 20).some(isDisclaimer)) return `\n${text}`
  return text.slice(line.length)
}

const positive =
  /(?:option|choice|answer)?\s*\(?\b([A-Z])\b\)?\*{0,2}\s+(?:is|must\s+be|has\s+to\s+be|would\s+be|seems)\s+(?:(?:clearly|definitely|therefore|thus|hence|indeed|the|our|my|only)\s+){0,3}(?:correct|right|best|strongest|closest|true|answer|most\s+(?:logical|sensible|plausible|likely|appropriate|reasonable|suitable)|exactly\s+(?:that|this)|the\s+one)\b(?!\?)|\b(?:[Oo]nly|[Mm]akes)\s+(?:option\s+|choice\s+)?\(?([A-Z])\)?\s+(?:remains?|fits?|works?|matches|holds|satisfies|meets|agrees|survives|accounts\s+for|is\s+left|is\s+possible|the\s+(?:only\s+)?(?:right|correct|best|answer))\b|(?<=^|[.!?]\s|\n)(?:So\s+|Then\s+)?([A-Z])\s+it\s+is\b/g
const chosen =
  /(?:\b(?:I|we|I['’](?:ll|d)|we['’](?:ll|d)|should|must|will|would|to)\s+(?:therefore\s+|thus\s+)?(?:choose|pick|select|go\s+(?:with|for)|opt\s+for|settle\s+on|answer(?:\s+with)?)|\b(?:(?:choose|Choose)|[Pp]ick|[Ss]elect|go(?:ing)?\s+with|(?:[Tt]hat|[Tt]his|[Ww]hich)\s+leaves|[Ll]eaving|(?:am|are|['’]m|['’]re)\s+left\s+with)(?:\s+us\s+with|\s+only|\s+just)?)\s+(?:option\s+|choice\s+|answer\s+|letter\s+)?(?=[\s*("']*[A-Z](?![\p{L}\p{N}'’]))/gu
const named = /\b(?:[Oo]ption|[Cc]hoice|OPTION|CHOICE)\s+(?=[*_("'$]*[A-Z](?![\p{L}\p{N}'’]))/gu
/** A capital letter that may name a choice: no article, no person. */
const lone = new RegExp(
  `(?<![\\p{L}\\p{N}'’])(?:[B-HJ-Z]|A(?!\\s+(?!${noNoun})\\p{Ll})|I(?!\\s+\\p{Ll}))(?![\\p{L}\\p{N}'’])`,
  'gu',
)
/** Words that conclude with the letter after them, if it ends its clause: `So C.`, `which is option C`. */
const concluded =
  /\b(?:(?:is|[Ss]o|thus|Thus|hence|Hence|therefore|Therefore|which\s+is|Which\s+is|[Ii]t\s+is|[Ii]t['’]s|[Tt]hat\s+is|[Tt]hat['’]s|(?:[Tt]his|[Tt]hat|[Ii]t|[Ww]hich)\s+(?:matches|corresponds\s+to|agrees\s+with|points\s+to)|i\.e\.|[Ii]t\s+(?:must|has\s+to)\s+be|[Tt]his\s+is)(?:,?\s+it\s+is|,?\s+it['’]s|,)?)\s+(?:the\s+)?(?:option\s+|choice\s+|answer\s+|letter\s+)?(?=[*("']*[A-Z][)*"']*\s*(?:[.,;:!(—–\n]|$))/gu
/** A label at the start of a line or a sentence: `My pick: B`. */
const labelled =
  /(?<=^|\n|[.!?]\s)[#>\s*_-]{0,6}(?:[Mm]y|[Oo]ur|[Tt]he|[Ff]inal)\s+(?:final\s+|best\s+)?(?:pick|choice|selection)\s*(?:is\s*:?|[:=→⇒]|->|[-–—]\s)\s*(?=[*_("'$]*[A-Z](?![\p{L}\p{N}'’]))/gu
/** A letter in bold, alone or with the text of its choice. */
const emphasised = /\*\*\s?\(?([A-Z])\)?(?:\s?[.):]\s[^*\n]{1,200}|[.):])?\*\*/g
/** Words that name a letter without choosing it. */
const mentioning =
  /\b(?:consider(?:ing|ed)?|look(?:ing)?\s+at|examin(?:e|ing)|discuss(?:ing)?|start(?:ing)?\s+with|fig(?:ure|\.)?|section|appendix|table|chapter|page|vitamin|hepatitis|type|grade|student|point|cross\s+out|strike|drop|rule\s+out|avoid)\s+(?:option\s+|choice\s+)?[*_("'$]*$|\b(?:previous|earlier|other|another|next|last)\s+(?:question|problem|task|exercise)\b[^.]{0,40}$/i
/** A capital letter that is not part of the sentence: in brackets, in bold, or at the end. */
const standing = /(?<=[(*])[A-Z](?=[)*])|(?<=\s)[A-Z](?=[.]?$)/g

/**
 * The letter that a response settles on: in its box, in `<answer>`, after `####` or "the answer is", or
 * alone. A letter that is denied, doubted or one of several is no choice. `question` may list the choices: the
 * text of a choice is no comment on it.
 *
 * @example
 * ```ts
 * import { statedChoice } from 'reward-gateway/grading'
 *
 * statedChoice('So the answer is (B).', ['A', 'B', 'C']) // { choice: 'B' }
 * ```
 */
export function statedChoice(response: string, labels: readonly string[], question = ''): StatedChoice {
  const kind = choiceKind(labels, question)
  const found = finalAnswer(response, kind, ['boxed', 'tag', 'hashes', 'phrase'], (text) =>
    unmarked(text, kind, labels),
  )
  return 'answer' in found ? { choice: found.answer } : { reason: found.reason }
}

/** The last cell of a table that a text ends with, or the text. */
const lastCell = (text: string): string =>
  text.endsWith('|') && text.includes('|--') ? (text.split('|').at(-2) ?? text).trim() : text

/** A small letter that is all there is: `b`, `option b)`. */
const loneSmall = /^(?:option|choice|answer|letter)?[\s:]{0,3}[(*]{0,3}[a-z][.)*]{0,3}$/i

/** The letter that a text starts with, that its last commitment names, or that stands alone in its last line. */
function unmarked(text: string, kind: AnswerKind<string>, labels: readonly string[]): FinalAnswer<string> {
  const trimmed = lastCell(text.trim()).replace(loneSmall, (letter) => letter.toUpperCase())
  const tail = trimmed.slice(-4000)
  const places = [
    ...Array.from(tail.matchAll(positive), (found) => ({
      at: found.index,
      from: found.index,
      letter: found[1] ?? found[2] ?? found[3],
      rest: tail.slice(found.index + found[0].length),
      isUnreal:
        (/\bwould\b/.test(found[0]) &&
          /^\s+(?:in|if|under|on)\s+(?:another|an?\s+different|other|the)\b/i.test(
            tail.slice(found.index + found[0].length, found.index + found[0].length + 40),
          )) ||
        (/\bwould\b/.test(found[0]) && unreal.test(tail.slice(Math.max(0, found.index - 200), found.index))),
    })),
    ...[chosen, concluded, labelled].flatMap((pattern) =>
      Array.from(tail.matchAll(pattern), (found) => ({
        at: found.index,
        from: found.index + found[0].length,
        letter: undefined,
        rest: '',
        isUnreal: false,
      })),
    ),
  ].sort((a, b) => a.at - b.at)
  const first = leading(trimmed, kind, labels)
  // "A. Too large. C. Too small. That leaves B."
  if (first !== null && ('answer' in first || places.length === 0)) return first
  const place = places.at(-1)
  if (place) {
    if (place.isUnreal) return { reason: 'conditional' }
    const before = places.at(-2)
    // "So C. So B."
    const between = before === undefined ? '' : tail.slice(before.from, place.at)
    const [earlier = ''] = between.match(/^[\s*("']*[A-Z](?![\p{L}\p{N}])/u) ?? []
    const own = place.letter ?? /[A-Z]/.exec(tail.slice(place.from))?.[0]
    if (earlier !== '' && between.length < 12 && earlier.slice(-1) !== own)
      return { reason: 'several_choices' }
    const reading =
      place.letter === undefined
        ? kind.read(tail.slice(place.from).split('\n', 1)[0] ?? '', false)
        : { answer: place.letter, rest: '' }
    if ('reason' in reading) return reading
    return judged(
      tail,
      place.from,
      place.letter === undefined ? reading.rest : place.rest,
      reading.answer,
      kind,
    )
  }
  return onlyEmphasised(tail, kind, labels) ?? lastLine(trimmed, kind, labels)
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
  return judged(text, first.index, text.slice(first.index + first[0].length), first[1] ?? '', kind)
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
  const at = letters[0] ? 0 : letters.length - 1
  const letter = letters[at]
  if (letter === null || letter === undefined) return null
  if (letters.some((other) => other !== null && other !== letter)) return { reason: 'several_choices' }
  const line = lines[at] ?? ''
  const reading = kind.read(line.replace(/^[#>\s-]+/, ''), false)
  if ('reason' in reading) return reading
  const start = at === 0 ? 0 : text.length - line.length
  return judged(text, start, `${reading.rest}${text.slice(start + line.length)}`, letter, kind)
}

function lastLine(text: string, kind: AnswerKind<string>, labels: readonly string[]): FinalAnswer<string> {
  const line = text.split('\n').at(-1) ?? ''
  const mentions = Array.from(line.matchAll(named))
  const letters = Array.from(line.matchAll(standing)).filter(([letter]) => labels.includes(letter))
  const names = new Set(
    [
      ...letters.map(([letter]) => letter),
      ...mentions.map(({ index, 0: word }) => /[A-Z]/.exec(line.slice(index + word.length))?.[0] ?? ''),
    ].filter((letter) => labels.includes(letter)),
  )
  const [choice] = names
  if (choice === undefined) return { reason: 'no_choice' }
  const others = Array.from(line.matchAll(lone), ([letter]) => letter).filter((letter) =>
    labels.includes(letter),
  )
  if (names.size > 1 || others.some((other) => other !== choice)) return { reason: 'several_choices' }
  const at = letters.at(-1)?.index ?? (mentions.at(-1)?.index ?? 0) + (mentions.at(-1)?.[0].length ?? 0)
  const within = leadWithin(line.slice(0, at))
  if (within !== null) return { reason: within }
  if (mentioning.test(line.slice(0, at).slice(-120))) return { reason: 'no_choice' }
  // "Oxygen (C)", where A is oxygen
  const [said = ''] = /[^.,;:!?]{1,80}$/.exec(line.slice(0, at).replace(/[\s*_(["'$→,-]+$/, '')) ?? []
  if (standsFor(said.replace(toText, ''), choice, labels, kind.question ?? '') === 'other')
    return { reason: 'contradiction' }
  const before = text.length - line.length
  const rest = line.slice(at).replace(/^[*_("'$]*[A-Z][*_)"'$]*/, '')
  return judged(text, before + at, rest, choice, kind)
}

function judged(
  text: string,
  start: number,
  rest: string,
  answer: string,
  kind: AnswerKind<string>,
): FinalAnswer<string> {
  const line = rest.split('\n', 1)[0] ?? ''
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
