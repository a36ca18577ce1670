import { z } from 'zod'
import { decisionFault } from '../../../contract/decision.ts'
import type {
  AskName,
  Asks,
  ChatPrompt,
  Choice,
  Decision,
  DecisionQuestion,
  Prompt,
  PromptImage,
  Range,
  ServiceBatch,
  ServiceRequest,
} from '../../../contract/index.ts'
import { isRole, questionFault } from '../../../contract/question.ts'
import { checkedSteps } from '../../../contract/steps.ts'
import type { FailureKind, Json, Score } from '../../../core/sample/sample.ts'
import { readPointer } from '../../../grading/json/pointer.ts'
import type { CallRow } from '../function-host.ts'

/** The rules for a hook's verdicts. */
export interface VerdictLimits {
  /** The name of the author's method, for messages. */
  readonly hook: string
  readonly range: Range
  readonly parts: readonly string[]
  /** The kind of failure of a number outside the range. */
  readonly outOfRange: FailureKind
}

const scoreKeys = ['value', 'parts', 'details', 'flags', 'steps']
const isOddKey = (key: string): boolean => !scoreKeys.includes(key)
const flagCount = 32
const flagLength = 200

/** A checked copy of a verdict; throws ContractViolation. Nothing is clamped. `sample`: the row's, null for a comparison. */
export function checkVerdict(
  verdict: unknown,
  limits: VerdictLimits,
  sample: CallRow['sample'] | null,
): Score | null {
  if (verdict === null) return null
  if (typeof verdict === 'number') return { value: inRange(verdict, limits) }
  refusePromise(verdict, limits.hook)
  if (typeof verdict !== 'object' || !isPlain(verdict)) {
    throw new ContractViolation(`${limits.hook} returned ${nameOf(verdict)}, not a number, a score or null`)
  }
  const { value, parts, details, flags, steps } = verdict as Partial<Record<keyof Score, unknown>>
  if (Object.keys(verdict).some(isOddKey))
    throw new ContractViolation(`a score has ${scoreKeys.join(', ')}; ${limits.hook} gave it another key`)
  if (typeof value !== 'number')
    throw new ContractViolation(`${limits.hook} returned a score whose value is ${nameOf(value)}`)
  const bounded = details === undefined ? undefined : boundedDetails(details)
  const said = flags === undefined ? [] : checkFlags(flags)
  if (bounded?.cut) said.push('details_cut')
  const checked: { -readonly [K in keyof Score]: Score[K] } = { value: inRange(value, limits) }
  if (parts !== undefined) checked.parts = checkParts(parts, limits)
  if (bounded) checked.details = bounded.details
  if (said.length > 0) checked.flags = said
  if (steps !== undefined) addSteps(checked, steps, limits, sample)
  return checked
}

function addSteps(
  score: { -readonly [K in keyof Score]: Score[K] },
  given: unknown,
  { hook }: VerdictLimits,
  sample: CallRow['sample'] | null,
): void {
  const steps = sample ? checkedSteps(given, sample) : 'steps, but it compares two answers'
  if (typeof steps === 'string') throw new ContractViolation(`${hook} returned ${steps}`)
  if (steps.length > 0) score.steps = steps
}

/** One checked verdict for each row, in order. */
export function checkVerdicts(
  verdicts: unknown,
  rows: readonly CallRow[],
  limits: VerdictLimits,
): (Score | null)[] {
  const count = rows.length
  refusePromise(verdicts, limits.hook)
  if (!Array.isArray(verdicts))
    throw new ContractViolation(`${limits.hook} returned ${nameOf(verdicts)}, not one verdict a row`)
  if (verdicts.length !== count) {
    throw new ContractViolation(`${limits.hook} returned ${verdicts.length} verdicts for ${count} rows`)
  }
  return Array.from(verdicts, (verdict, at) => checkVerdict(verdict, limits, rows[at]?.sample ?? null))
}

function inRange(value: number, { hook, range: [low, high], outOfRange }: VerdictLimits): number {
  if (!Number.isFinite(value)) throw new ContractViolation(`${hook} returned ${value}`, outOfRange)
  if (value < low || value > high) {
    throw new ContractViolation(`${hook} returned ${value}, outside its range ${low} to ${high}`, outOfRange)
  }
  return value + 0
}

function checkParts(parts: unknown, { hook, parts: declared }: VerdictLimits): Record<string, number> {
  if (typeof parts !== 'object' || parts === null || !isPlain(parts)) {
    throw new ContractViolation(`${hook} returned parts that are ${nameOf(parts)}`)
  }
  const checked: [string, number][] = []
  for (const [name, value] of Object.entries(parts)) {
    if (!declared.includes(name)) throw new ContractViolation(undeclared(hook, name, declared))
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new ContractViolation(`${hook} reported the part ${name} as ${nameOf(value)}`)
    }
    checked.push([name, value])
  }
  return Object.fromEntries(checked)
}

/** Quotes the part only if it is a plain name. */
function undeclared(hook: string, name: string, declared: readonly string[]): string {
  const plain = /^[A-Za-z_][\w.-]{0,59}$/.test(name)
  const known = declared.length === 0 ? 'none' : declared.join(', ')
  return `${hook} reported ${plain ? `the part '${name}'` : 'a part'}, which its function does not declare: write its name into \`parts: [...]\` beside \`range\`, or into details (declared: ${known})`
}

function checkFlags(flags: unknown): string[] {
  if (!Array.isArray(flags) || flags.length > flagCount)
    throw new ContractViolation(`flags are at most ${flagCount} words`)
  for (const flag of flags) {
    if (typeof flag !== 'string' || flag.length > flagLength) {
      throw new ContractViolation(`a flag is text of at most ${flagLength} characters`)
    }
  }
  return [...flags]
}

type Text = Prompt | ChatPrompt | string
type Question = Asks[AskName]['input']

export const lengthLimit = 16 * 1024 * 1024

/** A checked copy of what rm_preprocess returned, in the shape of its ask; throws ContractViolation. */
export function checkQuestion(ask: AskName, value: unknown, rows: readonly CallRow[] = []): Question {
  const question = copied(ask, value)
  const fault = questionFault(ask, question, rows)
  if (fault) throw new ContractViolation(fault.detail, fault.isOfRow ? 'bad_sample' : null)
  return question
}

function copied(ask: AskName, value: unknown): Question {
  refusePromise(value, 'rm_preprocess')
  const left = { length: lengthLimit }
  if (ask === 'embed') return texts(value, 'texts to embed', left)
  if (ask === 'choose') {
    const { question, labels } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Choice>
    const names = texts(labels, 'labels', left)
    if (names.length < 2 || new Set(names).size < names.length)
      throw wrong('labels that are not two or more, all different')
    return { question: promptText(question, left), labels: names }
  }
  if (ask === 'service') return serviceBody(value, left)
  if (ask === 'decide') return decision(value, left)
  return promptText(value, left)
}

const decisionShape = z.object({
  question: z.string(),
  as: z.union([
    z.strictObject({ yesno: z.strictObject({ yes: z.string().optional(), no: z.string().optional() }) }),
    z.strictObject({
      choice: z.array(z.strictObject({ name: z.string(), description: z.string().optional() })),
    }),
    z.strictObject({ levels: z.array(z.string()) }),
  ]),
  rowTexts: z.boolean().optional(),
})

function decision(value: unknown, left: { length: number }): Decision {
  const { about } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Decision>
  if (about?.kind !== 'prompt') throw wrong('no `about` that is a prompt`...` for a decision')
  return { about: promptText(about, left) as Prompt, ...checkDecision(value) }
}

/** A checked copy of a question for a decision model, without what it is about. */
export function checkDecision(value: unknown): DecisionQuestion {
  const { data } = decisionShape.safeParse(value)
  if (!data) throw wrong('no question with {yesno}, {choice} or {levels} for a decision')
  const fault = decisionFault(data as DecisionQuestion)
  if (fault !== null) throw wrong(`a decision that cannot be asked: ${fault}`)
  return data as DecisionQuestion
}

function serviceBody(value: unknown, left: { length: number }): ServiceRequest {
  const { kind, json, batch } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<ServiceRequest>
  if (kind !== 'service' || typeof json !== 'string')
    throw wrong(`${nameOf(value)}, not what serviceRequest(body) makes`)
  return { kind, json: counted(json, left), ...(batch !== undefined && { batch: sharing(batch) }) }
}

function sharing(given: Partial<ServiceBatch> | null): ServiceBatch {
  const { items, reply, key, max } = given ?? {}
  const isPlace = (text: unknown): text is string =>
    typeof text === 'string' && text.length <= 1000 && readPointer(text) !== null
  if (!isPlace(items) || items === '' || !isPlace(reply))
    throw wrong('a request whose batch has no JSON Pointers for items and reply')
  if (key !== undefined && (typeof key !== 'string' || key === '' || key.length > 1000))
    throw wrong('a request whose batch has a key that is no name')
  if (!Number.isSafeInteger(max) || (max as number) < 2 || (max as number) > 256)
    throw wrong('a request whose batch does not say how many entries it may have, 2 to 256')
  return { items, reply, ...(key !== undefined && { key }), max: max as number }
}

export function promptText(value: unknown, left: { length: number }): Text {
  if (typeof value === 'string') return counted(value, left)
  if (typeof value !== 'object' || value === null) throw wrong(nameOf(value))
  const given = value as Partial<Prompt> | Partial<ChatPrompt>
  if (given.kind === 'prompt') {
    const literals = texts(given.literals, 'literals', left)
    const values = texts(given.values, 'values', left, 0)
    if (literals.length !== values.length + 1) throw wrong('a prompt whose literals and values do not match')
    const { mayBeEmpty, steps, images, flags, fence } = given
    if ((mayBeEmpty ?? steps ?? images ?? flags ?? fence) === undefined)
      return { kind: 'prompt', literals, values }
    return {
      kind: 'prompt',
      literals,
      values,
      ...(mayBeEmpty !== undefined && { mayBeEmpty: places(mayBeEmpty) }),
      ...(steps !== undefined && { steps: places([steps])[0] ?? 0 }),
      ...(images !== undefined && { images: imagesAt(images, values) }),
      ...(flags !== undefined && { flags: checkFlags(flags) }),
      ...(fence === false && { fence }),
    }
  }
  if (given.kind === 'chat' && Array.isArray(given.messages) && given.messages.length > 0) {
    return {
      kind: 'chat',
      messages: given.messages.map((message: Partial<ChatPrompt['messages'][number]> | null) => {
        const content = promptText(message?.content, left)
        if (typeof message?.role !== 'string' || (typeof content === 'object' && content.kind === 'chat')) {
          throw wrong('a chat whose messages are not of role and content')
        }
        if (!isRole(message.role)) throw wrong('a chat with a role that is no word')
        return { role: message.role, content }
      }),
    }
  }
  throw wrong('an object that is neither a prompt nor a chat')
}

function texts(value: unknown, what: string, left: { length: number }, least = 1): string[] {
  if (!Array.isArray(value) || value.length < least) throw wrong(`${what} that are not an array of strings`)
  const odd = value.find((item) => typeof item !== 'string')
  if (odd !== undefined || value.includes(undefined))
    throw wrong(`${what} that are not an array of strings: one is ${nameOf(odd)}`)
  return value.map((text: string) => counted(text, left))
}

function places(value: unknown): number[] {
  if (!Array.isArray(value) || !value.every(Number.isSafeInteger)) throw wrong('a prompt with a wrong place')
  return [...value]
}

const hash = /^[0-9a-f]{64}$/

function imagesAt(given: unknown, values: readonly string[]): PromptImage[] {
  if (!Array.isArray(given)) throw wrong('a prompt whose images are no list')
  let last = -1
  return given.map((one: Partial<PromptImage> | null) => {
    const { at, sha256 } = one ?? {}
    const isPlace = Number.isSafeInteger(at) && (at as number) > last && values[at as number] === ''
    if (!isPlace || typeof sha256 !== 'string' || !hash.test(sha256))
      throw wrong('a prompt with a wrong image')
    last = at as number
    return { at: last, sha256 }
  })
}

function counted(text: string, left: { length: number }): string {
  left.length -= text.length
  if (left.length < 0)
    throw new ContractViolation(`rm_preprocess asked a question of over ${lengthLimit} characters`)
  return text
}

export const wrong = (what: string): ContractViolation =>
  new ContractViolation(`rm_preprocess returned ${what}`)

const stringLength = 4096
const budget = 65_536
const depthLimit = 16

/** A bounded copy. `cut`: something too long or too deep was left out, since a response can be both. */
export function boundedDetails(details: unknown): { details: Record<string, Json>; cut: boolean } {
  if (typeof details !== 'object' || details === null || !isPlain(details)) {
    throw new ContractViolation(`details are ${nameOf(details)}, not an object`)
  }
  const left = { size: budget, cut: false }
  return { details: copy(details, 'details', null, 0, left) as Record<string, Json>, cut: left.cut }
}

interface Left {
  size: number
  cut: boolean
}

/** Copies the value at `key` of `path`; null: the value at `path` itself. */
function copy(value: unknown, path: string, key: string | null, depth: number, left: Left): Json {
  left.size -= 1
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return cutTo(String(value), left)
  if (typeof value === 'string') return cutTo(value, left)
  const place = key === null ? path : `${path}.${key.slice(0, 60)}`
  if (typeof value !== 'object' || !(Array.isArray(value) || isPlain(value))) {
    throw new ContractViolation(`${place} is ${nameOf(value)}, not JSON`)
  }
  if (depth === depthLimit) {
    left.cut = true
    return null
  }
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      if (isFull(left)) break
      items.push(item === undefined ? null : copy(item, `${place}[]`, null, depth + 1, left))
    }
    return items
  }
  const copied: Record<string, Json> = {}
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    const item = (value as Record<string, unknown>)[name]
    if (item === undefined) continue
    left.size -= name.length
    if (isFull(left)) break
    put(copied, name, copy(item, place, depth === 0 ? name : null, depth + 1, left))
  }
  return copied
}

/** Assigning to `__proto__` would set the prototype. */
function put(target: Record<string, Json>, key: string, value: Json): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

function isFull(left: Left): boolean {
  if (left.size > 0) return false
  left.cut = true
  return true
}

function cutTo(text: string, left: Left): string {
  const length = Math.min(stringLength, Math.max(left.size, 0))
  left.size -= Math.min(text.length, length)
  if (text.length <= length) return text
  left.cut = true
  const short = text.slice(0, length)
  const last = short.charCodeAt(length - 1)
  return last >= 0xd800 && last < 0xdc00 ? short.slice(0, -1) : short
}

/** An author's code returned something that the contract forbids. The message is public and never quotes the sample. */
export class ContractViolation extends Error {
  readonly kind: FailureKind | null

  /** `kind` null: the default of the call, rule_error or function_error. */
  constructor(message: string, kind: FailureKind | null = null) {
    super(message)
    this.kind = kind
  }
}

/** Names a value's type in a message, without its content. */
export function nameOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value)
  if (typeof value !== 'object') return typeof value
  return 'then' in value && typeof value.then === 'function' ? 'a promise' : 'an object'
}

/** Throws ContractViolation for a promise, and swallows its later rejection. */
export function refusePromise(value: unknown, hook: string): void {
  if (nameOf(value) !== 'a promise') return
  Promise.resolve(value).catch(() => {})
  throw new ContractViolation(`${hook} returned a promise: reward functions are synchronous`)
}

/** Whether a value is a plain object, as literals and JSON make. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}
