import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import { countCodePoints, trimSpace } from '../src/grading/characters.ts'
import { isBlank } from '../src/grading/index.ts'
import { isList, isObject, pythonic, same, sameMultiset, typed } from '../src/grading/json/identity.ts'
import { type JsonValue, readJson } from '../src/grading/json/json.ts'
import { readPythonList } from '../src/grading/python-literal.ts'
import {
  braceTrim,
  lastTurnReply,
  numberFields,
  requiredFields,
  solutionFields,
  strictReply,
} from '../src/grading/rider.ts'

/** Thinking of at least this length is padding. */
const longThought = 1300
/** Thinking below this length is only a token gesture. */
const shortThought = 4

type Marks = { readonly thought: number; readonly response: number; readonly solution: number }

/**
 * Scores a delivery-support agent's JSON reply: thinking x form of the reply x solution. Each factor is 1,
 * 0.1 or 0, so the range is 0 to 1.
 *
 * Invalid: a ground truth that is not a JSON object with all fields. `published` only requires JSON.
 */
export default defineRule({
  truth: ({ mode }) =>
    z.string().transform((text, context): JsonValue => {
      const target = readJson(text)?.value
      const fault = target === undefined ? 'is not JSON' : mode === 'strict' ? faultOf(target) : null
      if (fault !== null) context.addIssue(`the target ${fault}`)
      return target ?? null
    }),
  options: z.strictObject({ mode }),
  range: [0, 1],
  parts: ['thought', 'response', 'solution'],
  score({ sample, truth, options: { mode } }) {
    const response: unknown = sample.response
    if (typeof response !== 'string') return nothing('not_text')
    const marks = mode === 'published' ? publishedMarks(response, truth) : strictMarks(response, truth)
    if (typeof marks === 'string') return nothing(marks)
    const value = marks.thought * marks.response * marks.solution
    const low = (['response', 'thought', 'solution'] as const).find((part) => marks[part] < 1)
    return { value, parts: marks, details: low ? { reason: `${low}: ${marks[low]}` } : {} }
  },
})

function nothing(reason: string): Score {
  return { value: 0, parts: { thought: 0, response: 0, solution: 0 }, details: { reason } }
}

/**
 * The published code's marks, or the reason why it gives 0. It reads the target's fields in order and stops
 * at a missing one.
 */
function publishedMarks(response: string, target: JsonValue): Marks | string {
  if (braceTrim(response) === null) return 'no_reply'
  const reply = lastTurnReply(response)
  if (reply === null) return 'no_reply'
  if (!legibleNumbers(numberFields.map((field) => reply.get(field)))) return 'numbers'
  if (!isObject(target) || !target.has('Response')) return 'ground truth: missing_field'
  const thought = publishedThought(reply.get('Thought'), target.get('Thought'))
  if (thought === null) return 'thought'
  const text = reply.get('Response')
  if (typeof text !== 'string') return 'response'
  const equal = (field: string): boolean | null => {
    const wanted = target.get(field)
    return wanted === undefined ? null : same(reply.get(field) ?? null, wanted, pythonic)
  }
  const solutions = inTurn(solutionFields, equal)
  const numbers = inTurn(numberFields, equal)
  if (solutions === null || numbers === null) return 'ground truth: missing_field'
  return { thought, response: text.startsWith('客服:') ? 1 : 0, solution: solutions && numbers ? 1 : 0.1 }
}

/** Python's `a and b`: stops at the first false field. null: a field is missing. */
function inTurn(fields: readonly string[], equal: (field: string) => boolean | null): boolean | null {
  for (const field of fields) {
    const result = equal(field)
    if (result !== true) return result
  }
  return true
}

function legibleNumbers(fields: readonly (JsonValue | undefined)[]): boolean {
  if (fields.every((field) => field !== undefined && isList(field))) return true
  return fields.every((field) => typeof field === 'string' && readPythonList(field) !== null)
}

function publishedThought(given: JsonValue | undefined, wanted: JsonValue | undefined): number | null {
  if (given === undefined || wanted === undefined) return null
  if ((given === '') !== (wanted === '')) return 0.1
  const length = lengthOf(given)
  if (length === null) return null
  return length >= longThought ? 0.1 : 1
}

function lengthOf(value: JsonValue): number | null {
  if (typeof value === 'string') return countCodePoints(value)
  if (value === null || typeof value !== 'object') return null
  return isList(value) ? value.length : value.size
}

/** Why no reply can match this target. This is a fault of the data, not a low score. */
function faultOf(target: JsonValue): string | null {
  if (!isObject(target)) return 'is not an object'
  const missing = [...requiredFields, 'Thought'].filter((field) => !target.has(field))
  if (missing.length > 0) return `lacks ${missing.join(', ')}`
  const lists = numberFields.filter((field) => numbersOf(target.get(field)) === null)
  const texts = ['Thought', ...solutionFields].filter((field) => typeof target.get(field) !== 'string')
  if (lists.length > 0) return `has no list in ${lists.join(', ')}`
  return texts.length > 0 ? `has no text in ${texts.join(', ')}` : null
}

function strictMarks(response: string, target: JsonValue): Marks | string {
  const reply = strictReply(response)
  if (!reply || !isObject(target)) return 'no_reply'
  if ([...requiredFields, 'Thought'].some((field) => !reply.has(field))) return 'missing_field'
  const texts = ['Thought', 'Response', ...solutionFields].map((field) => reply.get(field))
  const [thought = '', answer = ''] = texts
  if (typeof thought !== 'string' || typeof answer !== 'string') return 'not_text'
  if (texts.some((text) => typeof text !== 'string')) return 'not_text'
  if (!/^客服[:：]/.test(answer) || isBlank(answer.slice(3))) return 'response'
  const numbers = numberFields.map((field) => numbersOf(reply.get(field)))
  if (numbers.includes(null)) return 'numbers'
  const right =
    solutionFields.every((field) => trimmed(reply.get(field)) === trimmed(target.get(field))) &&
    numberFields.every((field, i) =>
      sameMultiset(numbers[i] ?? [], numbersOf(target.get(field)) ?? [], typed),
    )
  const mark = thoughtMark(trimSpace(thought), trimmed(target.get('Thought')))
  return { thought: mark, response: 1, solution: right ? 1 : 0.1 }
}

function numbersOf(field: JsonValue | undefined): readonly JsonValue[] | null {
  if (typeof field === 'string') return readPythonList(field)
  return field !== undefined && isList(field) ? field : null
}

const trimmed = (value: JsonValue | undefined): string => (typeof value === 'string' ? trimSpace(value) : '')

function thoughtMark(given: string, wanted: string): number {
  if (isBlank(given) !== isBlank(wanted)) return 0.1
  const length = countCodePoints(given)
  return (wanted !== '' && length < shortThought) || length >= longThought ? 0.1 : 1
}
