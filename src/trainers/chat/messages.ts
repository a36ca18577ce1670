/** Reads messages as trainers and servers write them: OpenAI's chat messages, and the forms of TRL and Hugging Face. */
import { eighthsOf, valueEighths } from '../../core/json/limits.ts'
import { isDeeperThan, JsonLimitError, parseJsonText } from '../../core/json/text.ts'
import { keepImage } from '../../core/sample/image.ts'
import type { ImagePart, Json, Message, Part, ToolCall } from '../../core/sample/sample.ts'
import { kindOf } from '../issues.ts'
import { imageFrom, imageSources, unknownImage } from './images.ts'

/** A value from outside, in its place. */
export type Fields = Readonly<Record<string, unknown>>

/** Something that is no message. `path` is its place below the value that was read; the message never quotes it. */
export class NoMessage extends Error {
  override readonly name = 'NoMessage' as const
  readonly path: readonly (string | number)[]

  constructor(path: readonly (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}

/** The place of a value that is being read. */
export type Place = readonly (string | number)[]

const expected = (what: string, found: unknown, path: Place): NoMessage =>
  new NoMessage(
    path,
    found === undefined ? `is missing; expected ${what}` : `expected ${what}, got ${kindOf(found)}`,
  )

/** The value as an object; throws NoMessage. */
export function fieldsOf(value: unknown, path: Place, what = 'an object'): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected(what, value, path)
  return value as Fields
}

/** An own field, so that no name of a prototype counts. null and undefined are absent: data sets fill columns with null. */
export const fieldOf = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined

/** A field that may be absent and otherwise is a text; throws NoMessage. */
export function textField(fields: Fields, name: string, path: Place): string | undefined {
  const value = fieldOf(fields, name)
  if (value !== undefined && typeof value !== 'string') throw expected('a text', value, [...path, name])
  return value
}

const deepest = 128

/** The value as plain data; throws NoMessage if it nests too deep. */
export function jsonOf(value: unknown, path: Place): Json {
  if (isDeeperThan(value, deepest)) throw new NoMessage(path, `nested deeper than ${deepest}`)
  return value as Json
}

/** Text and parts of a message's content. `parts` are set if there is anything but text. */
export interface Content {
  readonly text: string
  readonly parts: readonly Part[] | null
  /** What parts of reasoning hold. */
  readonly reasoning: string
}

/** Reads a text, null, or a list of parts. Throws NoMessage. */
export function readContent(value: unknown, path: Place): Content {
  if (value === undefined || value === null) return noContent
  if (typeof value === 'string') return { text: value, parts: null, reasoning: '' }
  if (!Array.isArray(value)) throw expected('a text or a list of parts', value, path)
  let text = ''
  let reasoning = ''
  let isText = true
  const parts: Part[] = []
  for (let at = 0; at < value.length; at++) {
    const sent = fieldsOf(value[at], [...path, at])
    const thought = thoughtOf(sent)
    if (thought !== null) {
      reasoning += thought
      continue
    }
    for (const part of partsOf(sent, [...path, at])) {
      if (part.type === 'text') text += part.text
      else isText = false
      parts.push(part)
    }
  }
  return { text, parts: isText ? null : parts, reasoning }
}

const noContent: Content = { text: '', parts: null, reasoning: '' }

const thoughtTypes: readonly unknown[] = ['thinking', 'reasoning', 'reasoning_text', 'summary_text']

/** The text of a part that holds reasoning; null for any other part. */
function thoughtOf(sent: Fields): string | null {
  const type = fieldOf(sent, 'type')
  if (!thoughtTypes.includes(type)) return null
  const text = fieldOf(sent, type === 'thinking' ? 'thinking' : 'text')
  return typeof text === 'string' ? text : null
}

const textTypes: readonly unknown[] = ['text', 'input_text', 'output_text']
const imageTypes: readonly unknown[] = ['image_url', 'input_image', 'image']

/** Fields of a part that hold no content. */
const partNotes: ReadonlySet<string> = new Set([
  'type',
  'annotations',
  'logprobs',
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
])

/** Usually one part. A text part with further content gives two, so that nothing is lost. */
function partsOf(sent: Fields, path: Place): readonly Part[] {
  const type = fieldOf(sent, 'type') ?? impliedType(sent)
  if (typeof type !== 'string') throw expected('a text', type, [...path, 'type'])
  if (textTypes.includes(type)) {
    const part: Part = { type: 'text', text: textField(sent, 'text', path) ?? '' }
    return hasFields(sent, 'text') ? [part, otherPart(type, sent, path)] : [part]
  }
  if (type === 'refusal') {
    const text = textField(sent, 'refusal', path) ?? textField(sent, 'text', path) ?? ''
    return [{ type: 'refusal', text }]
  }
  return [imageTypes.includes(type) ? imageOf(sent, path) : otherPart(type, sent, path)]
}

/** Templates of Qwen-VL take parts that are only `{ text }` or `{ image }`. */
function impliedType(sent: Fields): string | undefined {
  if (fieldOf(sent, 'text') !== undefined) return 'text'
  return imageTypes.find((name) => fieldOf(sent, name as string) !== undefined) as string | undefined
}

/** Whether a part has further content. */
function hasFields(sent: Fields, known: string): boolean {
  for (const name in sent)
    if (name !== known && !partNotes.has(name) && !isEmpty(fieldOf(sent, name))) return true
  return false
}

const otherPart = (name: string, sent: Fields, path: Place): Part => ({
  type: 'other',
  name,
  value: jsonOf(sent, path),
})

/** Null, an empty text, an empty list and an empty object say nothing. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (typeof value !== 'object') return false
  // `in` makes a text of each index first.
  if (Array.isArray(value)) return value.length === 0
  for (const _name in value) return false
  return true
}

function imageOf(sent: Fields, path: Place): ImagePart {
  const other = new OtherFields()
  let detail = textField(sent, 'detail', path)
  const from = imageSources.find((name) => fieldOf(sent, name) !== undefined)
  let source = from === undefined ? undefined : fieldOf(sent, from)
  const notes = from === 'sha256' ? handleNotes : none
  for (const name of Object.keys(sent))
    if (name !== from && name !== 'detail' && !partNotes.has(name) && !notes.has(name))
      other.add(name, sent[name], path)
  let named: string | undefined = from
  if (from !== undefined && typeof source === 'object' && !Array.isArray(source)) {
    const inner = source as Fields
    const within = imageSources.find((name) => typeof fieldOf(inner, name) === 'string')
    detail ??= textField(inner, 'detail', [...path, from])
    const rest = Object.entries(inner).filter(([name]) => name !== within && name !== 'detail')
    if (within !== undefined) {
      source = inner[within]
      named = within
      other.add(from, Object.fromEntries(rest.filter(([, value]) => !isEmpty(value))), path)
    }
  }
  const isText = typeof source === 'string'
  if (!isText) other.add('source', source, path)
  const { bytes, ...image } = isText ? imageFrom(source as string, named) : unknownImage(source)
  const part: ImagePart = {
    type: 'image',
    ...image,
    ...(from === 'sha256' && handleOf(sent)),
    ...(detail !== undefined && { detail }),
    ...(other.found && { other: other.found }),
  }
  if (bytes) keepImage(part, bytes)
  return part
}

const none: ReadonlySet<string> = new Set()
/** What a handle says besides its hash: the gateway writes them so itself. */
const handleNotes: ReadonlySet<string> = new Set(['size', 'mediaType', 'url'])

function handleOf({ size, mediaType, url }: Fields): Partial<ImagePart> {
  return {
    ...(Number.isSafeInteger(size) && (size as number) >= 0 && { size: size as number }),
    ...(typeof mediaType === 'string' && { mediaType }),
    ...(typeof url === 'string' && { url }),
  }
}

/** Token ids and log probabilities, which servers add to messages by the thousand. They are no content. */
const isNumbers = (value: unknown): boolean =>
  Array.isArray(value) && typeof value[0] === 'number' && typeof value[value.length - 1] === 'number'

/** A further field with more values, such as the pixels of an image as numbers, is not kept: each key of a sample reads it. */
const mostValues = 10_000

/** Whether a value holds more than so many values. Looks at no more than these. */
function holdsMoreThan(value: unknown, most: number): boolean {
  const open: unknown[] = [value]
  for (let seen = 0; open.length > 0; ) {
    const one = open.pop()
    if (typeof one !== 'object' || one === null) continue
    const inner = Array.isArray(one) ? one : Object.values(one)
    seen += inner.length
    if (seen > most) return true
    for (const entry of inner) open.push(entry)
  }
  return false
}

/** Collects fields that are not empty. */
class OtherFields {
  found: Record<string, Json> | null = null

  add(name: string, value: unknown, path: Place): void {
    // The schemas drop `__proto__` as well.
    if (isEmpty(value) || name === '__proto__' || isNumbers(value)) return
    this.found ??= {}
    this.found[name] = holdsMoreThan(value, mostValues)
      ? `left out: more than ${mostValues} values`
      : jsonOf(value, [...path, name])
  }
}

/** Fields that hold no content of their own, or that `readMessage` reads. */
const messageFields: ReadonlySet<string> = new Set([
  'role',
  'content',
  'tool_calls',
  'function_call',
  'tool_call_id',
  'name',
  'refusal',
  'reasoning_content',
  'reasoning',
  'thinking',
  'type',
  'id',
  'status',
  'index',
  'annotations',
  'logprobs',
])

const reasoningNames = ['reasoning_content', 'reasoning', 'thinking'] as const

/** Reads one chat message. `budget` is that of its conversation. Throws NoMessage with the place of what is wrong. */
export function readMessage(value: unknown, path: Place, budget = new ValueBudget()): Message {
  const sent = fieldsOf(value, path, 'a message')
  const role = textField(sent, 'role', path)
  if (role === undefined) throw expected('a text', undefined, [...path, 'role'])
  const content = fieldOf(sent, 'content')
  // What almost all messages are, in two steps.
  if (typeof content === 'string' && isBare(sent)) return { role, content }
  const { text, parts, reasoning: thoughts } = readContent(content, [...path, 'content'])
  const refusal = textField(sent, 'refusal', path)
  const refused: Part[] = refusal ? [{ type: 'refusal', text: refusal }] : []
  const own: readonly Part[] = parts ?? (text === '' ? [] : [{ type: 'text', text }])
  const toolCalls = callsOf(sent, path, budget)
  const toolCallId = textField(sent, 'tool_call_id', path)
  const name = textField(sent, 'name', path)
  const [reasoning, other] = othersOf(sent, thoughts, path)
  return {
    role,
    content: text,
    ...((parts || refused.length > 0) && { parts: [...own, ...refused] }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
    ...(reasoning !== '' && { reasoning }),
    ...(other && { other }),
  }
}

function isBare(sent: Fields): boolean {
  for (const name in sent) if (name !== 'role' && name !== 'content') return false
  return true
}

/** The reasoning, and further fields that are not empty. Servers that rename a field send it under both names. */
function othersOf(sent: Fields, thoughts: string, path: Place): readonly [string, Message['other'] | null] {
  const other = new OtherFields()
  let reasoning = thoughts
  for (const name of reasoningNames) {
    const value = fieldOf(sent, name)
    if (typeof value === 'string' && reasoning === '') reasoning = value
    else if (value !== reasoning) other.add(name, value, path)
  }
  for (const name of Object.keys(sent)) if (!messageFields.has(name)) other.add(name, sent[name], path)
  return [reasoning, other.found]
}

function callsOf(sent: Fields, path: Place, budget: ValueBudget): readonly ToolCall[] {
  const list = fieldOf(sent, 'tool_calls') ?? []
  if (!Array.isArray(list)) throw expected('a list of calls', list, [...path, 'tool_calls'])
  const calls = list.map((call, at) => readCall(call, [...path, 'tool_calls', at], budget))
  const older = fieldOf(sent, 'function_call')
  return older === undefined ? calls : [...calls, readCall(older, [...path, 'function_call'], budget)]
}

/**
 * Reads a call as OpenAI, TRL and the templates of Hugging Face write it. What the policy wrote is never refused: a call
 * without a name, or with arguments that are no object, is kept as `malformed`. Throws NoMessage for anything else.
 */
function readCall(value: unknown, path: Place, budget: ValueBudget): ToolCall {
  const sent = fieldsOf(value, path, 'a tool call')
  const custom = fieldOf(sent, 'custom')
  const called = fieldsOf(custom ?? fieldOf(sent, 'function') ?? sent, path, 'a tool call')
  const id = textField(sent, 'id', path)
  const name = fieldOf(called, 'name')
  const read =
    typeof name !== 'string' || name === ''
      ? { name: '', arguments: JSON.stringify(jsonOf(called, path)), malformed: true as const }
      : custom === undefined
        ? { name, ...argumentsOf(fieldOf(called, 'arguments'), path, budget) }
        : { name, arguments: textOf(fieldOf(called, 'input'), path) }
  return id === undefined ? read : { id, ...read }
}

/**
 * How many values the arguments of one conversation may still hold, as JSON texts. Parsing 16 MiB of brackets takes
 * seconds, so that what comes later stays a text.
 */
export class ValueBudget {
  left = 50_000
}

const opensObject = /^[\t\n\r ]*\{/

/** Arguments as an object, or the text that is no object that a program could rely on. */
export function argumentsOf(
  value: unknown,
  path: Place,
  budget: ValueBudget,
): Pick<ToolCall, 'arguments' | 'malformed'> {
  if (value === undefined) return { arguments: {} }
  if (typeof value !== 'string')
    return isRecord(value)
      ? { arguments: jsonOf(value, path) as Readonly<Record<string, Json>> }
      : { arguments: textOf(value, path), malformed: true }
  if (budget.left <= 0 || !opensObject.test(value)) return { arguments: value, malformed: true }
  try {
    const { value: parsed, literals } = parseJsonText(value, budget.left)
    budget.left -= Math.max(eighthsOf(parsed), 0) / valueEighths
    // NaN and integers beyond 2^53 would be lost.
    if (literals.length === 0 && isRecord(parsed) && !isDeeperThan(parsed, deepest))
      return { arguments: parsed as Readonly<Record<string, Json>> }
  } catch (error) {
    budget.left = error instanceof JsonLimitError ? 0 : budget.left - value.length / 8
  }
  return { arguments: value, malformed: true }
}

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown, path: Place): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(jsonOf(value, path))
