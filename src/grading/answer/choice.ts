import { type AnswerKind, finalAnswer, type Reading } from './final-answer.ts'
import { hasForeignWords } from './known-words.ts'
import { leadIn } from './lead-in.ts'
import { undressed } from './legible.ts'
import { letterOfText, namesOtherText, noNoun, offered, withCapitals, withoutOwn } from './options.ts'
import { isDisclaimer } from './remarks.ts'
import { unmarkedChoice } from './unmarked-choice.ts'
import { isRevocation } from './withdrawal.ts'

/** A stated choice, or why there is none. */
export type StatedChoice = { readonly choice: string } | { readonly reason: string }

const opened = `[\\s*_"'\`“‘(\\[$]*`
const introduced = `(?:(?:donc|quindi|pues|also|luego|entonces|portanto)\\s+)?(?:(?:the\\s+)?(?:(?:final|correct|right|best)\\s+)?(?:answer|option|choice|letter)(?:\\s+is)?\\s*:?|(?:clearly|definitely|obviously|certainly|therefore|thus|indeed|simply)|it\\s+is|it['’]s|(?:(?:la|le|el|die|a)\\s+)?(?:opci[oó]n|option|opzione|opção|letra|lettre|lettera|alternativa|antwort)|l['’]option|la|le|el|必是|应该?是|是|为|选项?)?`
const sole = new RegExp(
  `^${opened}${introduced}${opened}(?:([A-Z])(?![\\p{L}\\p{M}\\p{N}\\p{Sm}'’_-])|([A-Z])(?=[\\u3040-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7af])|(?<=[(\\[{]\\s?)([a-z])(?=[)\\]}]))`,
  'iu',
)
const delimiter = /^[\s*_"'”’\])]*[.):：](?=\s|$|[*_"”$])|^\s+[-–—]\s/

const mostlyMarks = new RegExp(`^${opened.slice(0, -1)}{60}`)

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
    isNoNumber: true,
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
  const byText = letterOfText(text, labels, question)
  if (byText !== null) return { answer: byText, rest: '' }
  const found = sole.exec(text)
  const written = found?.[1] ?? found?.[2] ?? found?.[3]
  if (found === null || written === undefined) return denialOrNone(text, labels)
  const rest = text.slice(found[0].length).replace(/^\p{Cf}+/u, '')
  if (/^[\s*_)\]]*(?:[≠<>≉≁]|!=|\\ne)/.test(rest)) return { reason: 'denied' }
  // A lower-case letter in a sentence is a word: "the answer is a dog".
  const isWord =
    written === written.toLowerCase() &&
    !/^[)\]]/.test(rest) &&
    !(rest === '' && found[0].trim().length === 1)
  const isArticle = written === 'A' && article.test(`A${rest}`)
  const choice = written.toUpperCase()
  if (isWord || isArticle || !labels.includes(choice)) return { reason: 'no_choice' }
  if (namesOtherText(rest, choice, question)) return { reason: 'contradiction' }
  return { answer: choice, rest: openRest(withoutOwn(rest, choice, question), choice, question) }
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
  if (line.split(/(?<=[.!?])\s+/, 20).some((said) => isDisclaimer(said) || isRevocation(said)))
    return `\n${text}`
  return text.slice(line.length)
}

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
  const { question: _, ...ofProse } = { ...kind, prompt: question }
  const found = finalAnswer(
    withCapitals(response, question),
    kind,
    ['boxed', 'tag', 'hashes', 'phrase'],
    (text) => unmarkedChoice(text, ofProse, labels, question),
  )
  return 'answer' in found ? { choice: found.answer } : { reason: found.reason }
}
