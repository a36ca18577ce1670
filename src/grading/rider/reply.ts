import { isObject } from '../json/identity.ts'
import { type JsonValue, readJson } from '../json/json.ts'
import { trimSpace } from '../white-space.ts'

/** The fields of a delivery-support agent's reply, by their names. */
export type RiderReply = ReadonlyMap<string, JsonValue>

/** Fields that hold a list of numbers, or a text of one. */
export const numberFields = ['RelevantConstraintRuleNumber', 'RelevantKnowledgeNumber'] as const
/** Fields that name a solution. */
export const solutionFields = ['ResponseSolution', 'DialogueAgreeSolution'] as const
/** What every reply must have; most have `Thought` as well. */
export const requiredFields = [...numberFields, 'Response', ...solutionFields] as const

const turn = 'Assistant: \n'

/** From the first `{` to the last `}`, which is added where there is none; null: no `{` before it. */
export function braceTrim(text: string): string | null {
  const end = text.lastIndexOf('}')
  const head = end < 0 ? `${text}}` : text.slice(0, end + 1)
  const start = head.indexOf('{')
  return start < 0 ? null : head.slice(start)
}

/** What follows the last turn marker (`Assistant: ` and a line feed), or the whole text. */
function afterTurn(text: string): string {
  const at = text.lastIndexOf(turn)
  return at < 0 ? text : text.slice(at + turn.length)
}

/** The whole text as one strict JSON object that names no key twice; null: it is something else. */
export function strictReply(text: string): RiderReply | null {
  const reading = readJson(trimSpace(text))
  if (!reading || reading.repeatedKeys || reading.constants) return null
  return isObject(reading.value) ? reading.value : null
}

/** What the original takes for a reply: a JSON object after the last turn marker, with all fields; null: it is none. */
export function lastTurnReply(text: string): RiderReply | null {
  const value = readJson(trimSpace(afterTurn(text)))?.value
  if (value === undefined || !isObject(value)) return null
  return requiredFields.every((field) => value.has(field)) ? value : null
}

/** The reply's fields as the judges' hooks read them: strict, or from the first `{` to the last `}`; null: no object. */
export function replyOf(text: string, mode: 'strict' | 'published'): RiderReply | null {
  if (mode === 'strict') return strictReply(text)
  const value = readJson(trimSpace(braceTrim(text) ?? ''))?.value
  return value !== undefined && isObject(value) ? value : null
}
