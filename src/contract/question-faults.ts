import { isWordless } from '../core/sample/blank.ts'
import type { Sample } from '../core/sample/sample.ts'
import type { AskName, Asks } from './asks.ts'
import { noQuestion } from './last-user-text.ts'
import { questionTexts } from './marker.ts'
import { emptyPlaces } from './prompt.ts'
import type { Row } from './row.ts'

type Question = Asks[AskName]['input']
type Rows = readonly Pick<Row, 'sample' | 'earlier'>[]

/** What is wrong with a question, for people, without a word of it; `isOfRow`: the row lacks something, not the author's code. */
export interface QuestionFault {
  readonly detail: string
  readonly isOfRow: boolean
}

/** The first fault of a question that a judge would be asked about these rows; null: there is none. */
export function questionFault(ask: AskName, question: Question, rows: Rows): QuestionFault | null {
  return (
    emptyIn(question, rows) ??
    objectIn(question, rows) ??
    (ask === 'rewards' ? lostMarks(question, rows) : null)
  )
}

/** A question of nothing, or with an empty value in it about a row that asks nothing. */
function emptyIn(question: Question, rows: Rows): QuestionFault | null {
  if (!someText(question, (text) => !isWordless(text)))
    return { detail: 'the question that rm_preprocess made has no text', isOfRow: true }
  if (isConstant(question))
    return { detail: holdsNothing, isOfRow: rows.some(({ sample }) => sample.rmPrompt !== undefined) }
  const empty = emptyValues(question)
  if (empty === 0) return null
  const { untrusted } = questionTexts(question)
  if (!rows.some((row) => asksNothing(row) && !asksByInfo(row, untrusted))) return null
  // An answer may be empty: what it earns is for the judge to say.
  if (empty <= rows.filter(({ sample }) => isWordless(sample.response)).length) return null
  return { detail: `${noQuestion}. A value that may be empty stands in optional(...)`, isOfRow: true }
}

/** Whether neither a row's prompt nor its `rm_prompt` says anything. */
export const asksNothing = ({ sample: { prompt, rmPrompt = '' } }: Pick<Row, 'sample'>): boolean =>
  isWordless(rmPrompt) &&
  (typeof prompt === 'string' ? isWordless(prompt) : prompt.every(({ content }) => isWordless(content)))

/** Of a question without a value; for people. */
export const holdsNothing =
  "the question that rm_preprocess made holds nothing of the row: does its template, or the row's rm_prompt, lack a place such as {response}?"

/** Whether a question has no place for a value: every row would get the same verdict. What stands in plain strings is not known. */
function isConstant(question: Question): boolean {
  if (typeof question === 'string') return false
  if (!('kind' in question)) return 'question' in question && isConstant(question.question)
  if (question.kind === 'prompt') return question.values.length === 0
  return question.messages.every(({ content }) => typeof content !== 'string' && content.values.length === 0)
}

/** Whether a value is a text of extra_info, other than the truth: some data sets keep their question there. */
function asksByInfo(
  { sample: { extraInfo, groundTruth } }: Rows[number],
  values: readonly string[],
): boolean {
  const info = JSON.stringify(extraInfo)
  return values.some(
    (value) => !isWordless(value) && value !== groundTruth && info.includes(JSON.stringify(value)),
  )
}

/** How many values are empty that may not be. */
function emptyValues(question: Question): number {
  if (typeof question === 'string') return Number(isWordless(question))
  if (!('kind' in question))
    return 'question' in question ? emptyValues(question.question) : question.filter(isWordless).length
  if (question.kind === 'prompt') return emptyPlaces(question).length
  let empty = 0
  for (const { content } of question.messages)
    empty += typeof content === 'string' ? Number(isWordless(content)) : emptyPlaces(content).length
  return empty
}

/** Whether one of a question's texts is such a one; every question is looked at, so it makes no lists of them. */
function someText(question: Question, isSuch: (text: string) => boolean): boolean {
  if (typeof question === 'string') return isSuch(question)
  if (!('kind' in question))
    return 'question' in question ? someText(question.question, isSuch) : question.some(isSuch)
  if (question.kind === 'prompt') return question.literals.some(isSuch) || question.values.some(isSuch)
  return question.messages.some(({ content }) => someText(content, isSuch))
}

const objectText = '[object Object]'

/** A text of an object, unless the row holds it: an answer about JavaScript may. */
function objectIn(question: Question, rows: Rows): QuestionFault | null {
  const has = (text: string): boolean => text.includes(objectText)
  if (!someText(question, has)) return null
  if (rows.some((row) => textsOf(row).some(has))) return null
  const detail =
    "the question that rm_preprocess made holds '[object Object]': give a text of the object (a field, JSON.stringify, lastUserText(sample) of a prompt of messages)"
  return { detail, isOfRow: false }
}

/** All text of a row, and the JSON of what is none. */
function textsOf({ sample, earlier }: Pick<Row, 'sample' | 'earlier'>): readonly string[] {
  return [...ownTexts(sample), ...Object.values(earlier).flatMap(({ texts }) => texts), rest(sample)]
}

const ownTexts = ({ response, prompt, rmPrompt = '' }: Sample): readonly string[] => [
  response,
  rmPrompt,
  ...(typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content)),
]

const rest = ({ groundTruth, extraInfo, rmPrompts }: Sample): string =>
  JSON.stringify([groundTruth, extraInfo, rmPrompts])

/** Marks between steps: Qwen's and Math-Shepherd's. */
const stepMark = /<extra_\d{1,3}>|(?<![\p{L}\p{N}])ки(?![\p{L}\p{N}])/gu

/** Marks that the author put between steps within a value, where the guard breaks them. */
function lostMarks(question: Question, rows: Rows): QuestionFault | null {
  const marks = (texts: readonly string[]): number =>
    texts.reduce((sum, text) => sum + (text.match(stepMark)?.length ?? 0), 0)
  const { untrusted } = questionTexts(question)
  const found = marks(untrusted)
  if (found === 0 || found <= marks(rows.flatMap(textsOf))) return null
  const detail =
    'rm_preprocess put step marks into a value, where the guard breaks them: write steps(texts, mark), which keeps them apart'
  return { detail, isOfRow: false }
}
