import { undressed } from './legible.ts'

/** The choices that a question lists, with the text of each. */
export interface Options {
  /** Texts by capital letters, in lower case and without dress. Empty: the question lists none. */
  readonly texts: ReadonlyMap<string, string>
  /** Whether they are listed by small letters. */
  readonly isSmall: boolean
}

/** How a list marks its items. The sign of each stands in the first group. */
const marks = (letters: string): readonly RegExp[] => [
  new RegExp(`(?<![\\p{L}\\p{N}])\\(([${letters}])\\)[*_]{0,2}\\s?`, 'gu'),
  new RegExp(`(?<![\\p{L}\\p{N}(])([${letters}])\\)[*_]{0,2}\\s?`, 'gu'),
  new RegExp(`(?<![\\p{L}\\p{N}.])([${letters}])\\.[*_]{0,2}\\s`, 'gu'),
  new RegExp(`(?<![\\p{L}\\p{N}])([${letters}]):[*_]{0,2}\\s`, 'gu'),
  new RegExp(`\\[([${letters}])\\]\\s?`, 'gu'),
  new RegExp(`(?<=^|\\n)[\\s>*|-]{0,6}([${letters}])[*_]{0,2}\\s?[-–—|]\\s`, 'gu'),
]
const styles = [
  ...marks('A-Z').map((mark) => ({ mark, isSmall: false })),
  ...marks('a-z').map((mark) => ({ mark, isSmall: true })),
]

interface Item {
  readonly start: number
  readonly end: number
}

const none: Options = { texts: new Map(), isSmall: false }
/** Answers to one question come together. */
let latest: { readonly question: string; readonly options: Options } = { question: '', options: none }
const longestQuestion = 20_000

/** The choices of a question. Linear, and remembered for the next answer. */
export function optionsOf(question: string): Options {
  if (latest.question !== question)
    latest = { question, options: question === '' ? none : listedIn(question.slice(-longestQuestion)) }
  return latest.options
}

/** The text that a question gives a choice, in lower case. '': it gives none. */
export const offered = (question: string, choice: string): string =>
  optionsOf(question).texts.get(choice) ?? ''

function listedIn(question: string): Options {
  let [items, isSmall]: readonly [readonly Item[], boolean] = [[], false]
  for (const style of styles) {
    const found = inOrder(question, style)
    if (found.length > Math.max(items.length, 1)) [items, isSmall] = [found, style.isSmall]
  }
  return { texts: new Map(items.map((_, at) => [letterAt(at), textOf(question, items, at)])), isSmall }
}

const letterAt = (at: number): string => String.fromCharCode(65 + at)

/** The longest list that begins with A and goes on in order; of equal ones the last. */
function inOrder(question: string, { mark }: (typeof styles)[number]): readonly Item[] {
  let best: Item[] = []
  let items: Item[] = []
  for (const { index, 0: all, 1: letter = '' } of question.matchAll(mark)) {
    const item = { start: index, end: index + all.length }
    if (letter.toUpperCase() === 'A') items = [item]
    else if (items.length > 0 && letter.toUpperCase() === letterAt(items.length)) items.push(item)
    if (items.length >= best.length) best = items
  }
  return best
}

/** The rest of an item's line, up to the next item, or what stands before a mark at the end of its line. */
function textOf(question: string, items: readonly Item[], at: number): string {
  const { start, end } = items[at] as Item
  const next = items[at + 1]?.start ?? question.length
  const [line = ''] = question
    .slice(end, Math.min(next, end + 500))
    .trimStart()
    .split('\n', 1)
  const before =
    question
      .slice(Math.max(0, start - 500), start)
      .split('\n')
      .at(-1) ?? ''
  const isBehind = /^\s*(?:\n|$)/.test(question.slice(end - 1, end + 80)) && /\p{L}/u.test(before)
  return plainText(isBehind ? before.replace(/^\s*(?:\d{1,2}[.)]|[-*•])\s+/, '') : line)
}

const plainText = (text: string): string =>
  undressed(text)
    .toLowerCase()
    .replace(/^[\s"'“‘«„*_]+|[\s.;,"'”’»*_]+$/g, '')

const toText =
  /^(?:\s?[*_]{0,3}[([]\s?|[\s*_)\]}.:,;=—–→-]{0,12})(?:(?:i\.?e\.?|which\s+is|that\s+is|namely|is)[\s,:]{1,3})?(?:(?:the|an?)\s)?/i
const endOfText = /^[\s*_"'”’»}]*(?:[)\]]|$|[.,;:!?。、，！\n]|(?:or|and)\b|です|だ(?![\p{L}]))/iu
const quotes = /^[\s"'“‘«„「*_]+/
/** What a text that stands for a choice may end with. */
const breakAfter = /[.,;:!?()[\]\n"“”»—–]|\s-\s/

/** Whether the text behind a letter is that of another choice: `C. Oxygen`, `C, "Oxygen"`, where A is oxygen. */
export function namesOtherText(rest: string, choice: string, question: string): boolean {
  const [line = ''] = rest.slice(0, 500).split('\n', 1)
  const text = line.replace(toText, '')
  const found = standsFor(text, choice, question)
  return found === null ? isPartOfOther(text, choice, question) : found === 'other'
}

/** Whether a text starts with the text of a choice and no more, or with that of another one. null: with neither. */
function standsFor(text: string, choice: string, question: string): 'own' | 'other' | null {
  const { texts } = optionsOf(question)
  if (texts.size === 0 || text === '') return null
  const lower = undressed(text).toLowerCase().replace(quotes, '')
  const matches = [...texts]
    .filter(([, own]) => own !== '' && lower.startsWith(own) && endOfText.test(lower.slice(own.length)))
    .sort(([, a], [, b]) => b.length - a.length)
  const [longest] = matches
  if (longest === undefined) return null
  return matches.some(([letter, own]) => letter === choice && own === longest[1]) ? 'own' : 'other'
}

/** Whether all words right behind a letter are of another choice, and none of its own: `C (Nietzsche)`. */
function isPartOfOther(text: string, choice: string, question: string): boolean {
  const [phrase = ''] = undressed(text).toLowerCase().replace(quotes, '').split(breakAfter, 1)
  const words = wordsOf(phrase)
  if (words.length === 0 || words.length > 4 || !words.some((word) => word.length > 3)) return false
  const { texts } = optionsOf(question)
  const holders = [...texts].filter(([, own]) => {
    const owned = wordsOf(own)
    return words.every((word) => owned.includes(word))
  })
  const own = wordsOf(texts.get(choice) ?? '')
  return holders.length === 1 && holders[0]?.[0] !== choice && !words.some((word) => own.includes(word))
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? []

/** Words between the text of a choice and its letter. */
const toLetter =
  /(?:[\s*_"'”’»,;:=→—–()[-]|\b(?:so|thus|hence|therefore|which|that|this|is|it|it['’]s|i\.e\.?|matches|matching|under|in|other|words|option|choice|answer|letter|also|antwort|donc|réponse|así|que|opción|la|daher)\b)*[\s*_(["'$→,-]*$/i

/** Whether the text right before a letter is that of another choice: `Oxygen (C)`, `Oxygen, so C`. */
export const followsOtherText = (before: string, choice: string, question: string): boolean =>
  textBefore(before, choice, question) === 'other'

/** Whether the text right before a letter is that of its choice. */
export const followsOwnText = (before: string, choice: string, question: string): boolean =>
  textBefore(before, choice, question) === 'own'

function textBefore(before: string, choice: string, question: string): 'own' | 'other' | null {
  const { texts } = optionsOf(question)
  if (texts.size === 0) return null
  const near = before.slice(-200)
  const said = undressed(near.slice(near.lastIndexOf('\n') + 1).replace(toLetter, '')).toLowerCase()
  const matches = [...texts]
    .filter(
      ([, own]) =>
        /\p{L}{2}|\d\s?\p{L}/u.test(own) &&
        said.endsWith(own) &&
        !/[\p{L}\p{N}]/u.test(said.charAt(said.length - own.length - 1)),
    )
    .sort(([, a], [, b]) => b.length - a.length)
  const [longest] = matches
  // "It is not oxygen, so C"
  if (longest === undefined || denying.test(said.slice(0, said.length - longest[1].length))) return null
  return matches.some(([letter, own]) => letter === choice && own === longest[1]) ? 'own' : 'other'
}

const denying =
  /\b(?:not|never|no|nor|neither|than|unlike|without|instead\s+of|except|excludes?|rules?\s+out|nicht|pas|kein\w*)\b[^.,;:]{0,40}$|n['’]t\b[^.,;:]{0,40}$/i

/** The letter of the choice whose text is all there is, with or without its letter: `"All of the above" (D).` */
export function letterOfText(text: string, labels: readonly string[], question: string): string | null {
  if (question === '' || text.length > 300) return null
  const plain = text.toLowerCase().replace(/^[\s"'“‘«„*_]+|[\s"'”’»*_.!。]+$/g, '')
  const found = [...optionsOf(question).texts].filter(([letter, own]) => {
    if (own.length < 2 || !/\p{L}/u.test(own) || !plain.startsWith(own) || !labels.includes(letter))
      return false
    const rest = plain.slice(own.length)
    return (
      rest === '' ||
      new RegExp(`^["'”’*_.]*,?\\s*[(\\[]?(?:option\\s+)?${letter.toLowerCase()}[)\\]]?$`).test(rest)
    )
  })
  return found.length === 1 ? (found[0]?.[0] ?? null) : null
}

/** Without the text of the choice in brackets behind its letter: `D (Not found)`. */
export function withoutOwn(rest: string, choice: string, question: string): string {
  const [all, inner = ''] = /^[\s*_]{0,6}\(([^()\n]{1,200})\)/.exec(rest) ?? ['']
  return inner !== '' && plainText(inner) === offered(question, choice) ? rest.slice(all.length) : rest
}

/** Words that no article stands before. */
export const noNoun = `(?:is|are|was|were|has|too|also|would|could|can|may|might|must|fits|works|does|did|beats|wins|seems|looks|sounds|matches|as|and|or|but|because|since|with|by|not|on|in|at|for|if|when|otherwise|than|due|here|then|again|instead|both|all|either|neither|each)\\b`
/** Names of an answer among choices, in the languages that policies mix in, with a capital or without. */
export const optionNoun = `(?:${`option choice answer letter alternative statement sentence opción opcion respuesta letra lettre
  lettera inciso alternativa antwort antwortmöglichkeit lösung aussage möglichkeit réponse proposition opzione risposta
  opção resposta вариант ответ`
  .split(/\s+/)
  .map((noun) => `[${noun.charAt(0).toUpperCase()}${noun.charAt(0)}]${noun.slice(1)}`)
  .join('|')}|OPTION|CHOICE|ANSWER)`
const small = /(?<![\p{L}\p{N}'’])[a-z](?![\p{L}\p{N}'’])/gu
const behindNoun = new RegExp(
  `(?<!\\p{L})${optionNoun}(?:\\s+(?:is|would\\s+be))?\\s?:?\\s?[*_(["']{0,3}$`,
  'u',
)
const behindCopula =
  /(?<!\p{L})(?:choose|pick|select|mark|with|wähle|elijo|choisis|is|be|are|ist|es|est|è|é|wäre|also|daher|so|thus|hence|therefore|somit|donc|la|le|el|die|correcta|richtig|korrekt|[A-Za-z]{0,9}:)(?:\s+(?:la|le|el|die|a))?\s?[*_(["']{0,3}$/iu
const begins = /(?:^|[.!?\n]\s{0,4})(?:(?:La|Die|Le|El)\s)?[*_]{0,2}$/u
const endsClause =
  /^[*_)\]"']{0,3}(?:[.,;:!]|\s*$|\s*\n|\s(?:because|since|as|ist|es|est|is|è|denn|weil|porque|car|parce)(?!\p{L}))/u
const longestText = 20_000

/** A text with capitals for the small letters that name choices near its end. Its length stays. Linear. */
export function withCapitals(text: string, question: string): string {
  const { isSmall } = optionsOf(question)
  const from = Math.max(0, text.length - longestText)
  const near = text.slice(from)
  const raised = near.replace(small, (letter, at: number) => {
    const [before, after] = [near.slice(Math.max(0, at - 40), at), near.slice(at + 1, at + 20)]
    const names = isSmall
      ? (/(?:^|[\s([*_])[([*_]{0,2}$/.test(before) && after.startsWith(')')) ||
        (begins.test(before) && /^[.:]\s|^\s(?:ist|es|est|is|è)\s/.test(after)) ||
        ((behindNoun.test(before) || behindCopula.test(before)) && endsClause.test(after))
      : letter !== 'a' && letter !== 'i' && behindNoun.test(before) && endsClause.test(after)
    return names ? letter.toUpperCase() : letter
  })
  return from === 0 ? raised : text.slice(0, from) + raised
}
