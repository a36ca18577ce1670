import type { Message } from '../core/sample/sample.ts'
import { QuestionError } from './question-error.ts'

/** The same messages, but that making a text of the list throws instead of giving `[object Object]`. */
export function messagesWithoutText(messages: readonly Message[]): readonly Message[] {
  return Object.defineProperty([...messages], Symbol.toPrimitive, { value: refuse })
}

function refuse(): never {
  throw new QuestionError(
    'sample.prompt is a list of messages and no text: put it into prompt`...` as it is, or use lastUserText(sample)',
    refuse,
  )
}
