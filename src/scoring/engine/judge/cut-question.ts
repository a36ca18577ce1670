import type { AskName, Asks, ChatPrompt, Prompt } from '../../../contract/index.ts'
import type { CallRow } from '../../functions/function-host.ts'

type Question = Asks[AskName]['input']

/** Every untrusted value of a question. */
export function valuesOf(question: Question): readonly string[] {
  const values: string[] = []
  mapped(question, (value) => {
    values.push(value)
    return value
  })
  return values
}

/**
 * Whether a value is the row's response, holds it or was taken from it. What stands in the rest of the row is no
 * response, so that an answer which repeats its question cannot have that cut.
 */
export function isResponseOf({ sample, earlier }: CallRow, value: string): boolean {
  const { response, prompt, rmPrompt, groundTruth } = sample
  if (value === '' || response === '') return false
  if (value === response) return true
  const others = [
    ...(typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content)),
    rmPrompt ?? '',
    typeof groundTruth === 'string' ? groundTruth : '',
    ...Object.values(earlier).flatMap(({ texts }) => texts),
  ]
  if (others.some((text) => text.includes(value))) return false
  // Out of JSON, say, its escapes are gone.
  return (
    response.includes(value) ||
    value.includes(response) ||
    startsWithin(JSON.stringify(value).slice(1, -1), response)
  )
}

/** Whether the beginning of a piece of JSON text stands in another text. */
const startsWithin = (piece: string, text: string): boolean => text.includes(piece.slice(0, 64))

/**
 * The question with the middles of the values that `isCut` names left out, so that these have at most `bytes` together,
 * roughly: the longest lose the most.
 */
export function cutTo(question: Question, isCut: (value: string) => boolean, bytes: number): Question {
  const lengths = valuesOf(question)
    .filter(isCut)
    .map((value) => Buffer.byteLength(value))
  const cap = capOf(lengths, bytes)
  return mapped(question, (value) => (isCut(value) ? withoutMiddle(value, cap) : value))
}

/** The most that each may have so that all together have at most `total`. */
function capOf(lengths: readonly number[], total: number): number {
  let left = total
  const sorted = [...lengths].sort((a, b) => a - b)
  for (const [index, length] of sorted.entries()) {
    const share = left / (sorted.length - index)
    if (length > share) return Math.floor(share)
    left -= length
  }
  return Number.POSITIVE_INFINITY
}

/** Beginning and end of a text, with a note between them of how much is missing; about `bytes` long. */
export function withoutMiddle(text: string, bytes: number): string {
  const length = Buffer.byteLength(text)
  if (length <= bytes) return text
  const note = `\n[... ${text.length} characters, the middle left out ...]\n`
  const kept = Math.max(0, Math.floor(((bytes - note.length) * text.length) / length))
  const head = whole(text.slice(0, Math.ceil(kept / 2)), 'end')
  const tail = whole(kept < 2 ? '' : text.slice(-Math.floor(kept / 2)), 'start')
  return `${head}${note}${tail}`
}

/** Without the half of a surrogate pair at one end. */
const whole = (text: string, end: 'start' | 'end'): string =>
  end === 'end' ? text.replace(/[\ud800-\udbff]$/, '') : text.replace(/^[\udc00-\udfff]/, '')

function mapped(question: Question, change: (value: string) => string): Question {
  if (typeof question === 'string') return question
  if (!('kind' in question)) {
    if ('labels' in question) return { ...question, question: mappedText(question.question, change) }
    return question.map(change)
  }
  return mappedText(question, change)
}

type Text = Prompt | ChatPrompt | string

function mappedText(text: Text, change: (value: string) => string): Text {
  if (typeof text === 'string') return text
  if (text.kind === 'prompt') return mappedPrompt(text, change)
  const messages = text.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : mappedPrompt(content, change),
  }))
  return { ...text, messages }
}

const mappedPrompt = (prompt: Prompt, change: (value: string) => string): Prompt => ({
  ...prompt,
  values: prompt.values.map(change),
})
