import { isSpace, trimSpace } from './characters.ts'
import { isObject } from './json/identity.ts'
import { type JsonReading, type JsonValue, readJson } from './json/json.ts'
import { readFloat } from './python.ts'
import { afterLast } from './tags.ts'

interface BareKey {
  /** Start and end of the key, and the offset of its colon. */
  readonly start: number
  readonly end: number
  readonly colon: number
}

/**
 * The published repair of a judge's JSON: straightens curly quotes, quotes bare keys and, with `backslashes`,
 * deletes backslashes. It also shortens white space before keys. Linear, unlike the published patterns, which
 * backtrack.
 */
export function quoteKeys(text: string, backslashes: boolean): string {
  let straight = text.replace(/[“”]/g, '"')
  if (backslashes) straight = straight.replaceAll('\\', '')
  const quoted = quoteEach(straight)
  const first = quoted.startsWith('{') ? bareKey(quoted, 1) : null
  return first ? `{${spelled(quoted, first)}${quoted.slice(first.colon + 1)}` : quoted
}

function quoteEach(text: string): string {
  let result = ''
  let done = 0
  for (const { index } of text.matchAll(/[{,]/g)) {
    const key = index < done ? null : bareKey(text, index + 1)
    if (!key) continue
    result += text.slice(done, key.start) + spelled(text, key)
    done = key.colon + 1
  }
  return result + text.slice(done)
}

const spelled = (text: string, { start, end }: BareKey): string =>
  `"${trimSpace(text.slice(start, end)).replaceAll('"', '')}":`

/**
 * The match of `\s*([^"':,{}][^:,{]*?)\s*:` at `at`. If the first non-space character cannot start a key, the
 * space before it does, as with backtracking.
 */
function bareKey(text: string, at: number): BareKey | null {
  let start = at
  while (isSpace(text.charAt(start))) start++
  const first = text.charAt(start)
  const spaced = start > at
  if (first === '' || ('"\':,{}'.includes(first) && !spaced)) return null
  const unfit = '"\':,{}'.includes(first)
  let colon = start
  while (colon < text.length && !':,{'.includes(text.charAt(colon))) colon++
  if (text[colon] !== ':') return null
  if (unfit) start--
  let end = colon
  while (end > start + 1 && isSpace(text.charAt(end - 1))) end--
  return { start, end, colon }
}

const innermost = /\{[^{}]*\}/g

/** The innermost `{...}` of a text, in order. */
const innermostObjects = (text: string): string[] => text.match(innermost) ?? []

/** Text, or more JSON. A code fence with its language does not count. */
const says = /[\p{L}\p{N}{}]/u

/**
 * The only object in a judge's reply, at its end, parsed leniently if it is not strict JSON. null: none,
 * several, or text after it that could take it back.
 */
export function soleObject(text: string): JsonReading | null {
  const [piece, ...others] = innermostObjects(text)
  if (piece === undefined || others.length > 0) return null
  const at = text.indexOf(piece)
  const rest = text.slice(at + piece.length)
  if (says.test(rest) || /[{}]/.test(text.slice(0, at))) return null
  return readJson(piece) ?? readJson(mended(piece))
}

/** Straightens all quotes, deletes backslashes and a final comma, and quotes keys. */
function mended(piece: string): string {
  const inside = piece
    .slice(1, -1)
    .replaceAll('\\', '')
    .replace(/[“”„‟＂]/g, '"')
    .replace(/[‘’＇]/g, "'")
    .replaceAll('：', ':')
    .replaceAll('，', ',')
    .trim()
  const whole = `{${inside.endsWith(',') ? inside.slice(0, -1) : inside}}`
  return whole
    .replace(/([{,]\s*)'([^'"{},:]*)'/g, '$1"$2"')
    .replace(/([{,]\s*)([^\s"'{},:][^"'{},:]*):/g, (_, before, key) => `${before}"${key.trim()}":`)
}

/**
 * A verdict's marks by dimension. Every key must be allowed and unique, and each value exactly 0 or 1. null
 * otherwise.
 */
export function readMarks(
  reading: JsonReading | null,
  allowed: readonly string[],
): ReadonlyMap<string, number> | null {
  if (!reading || reading.repeatedKeys || !isObject(reading.value) || reading.value.size === 0) return null
  const marks = new Map<string, number>()
  for (const [key, value] of reading.value) {
    if (!allowed.includes(key) || !isMark(value)) return null
    marks.set(key, value)
  }
  return marks
}

const isMark = (value: JsonValue): value is 0 | 1 => value === 0 || value === 1

/**
 * The keys and values that the published judges' parser finds after the first `</think>`, or 'none' or
 * 'broken'.
 */
export function publishedVerdict(
  text: string,
  backslashes: boolean,
): ReadonlyMap<string, JsonValue> | 'none' | 'broken' {
  const end = text.indexOf('</think>')
  const last = innermostObjects(end < 0 ? text : text.slice(end + '</think>'.length)).at(-1)
  if (last === undefined) return 'none'
  const piece = trimSpace(last)
  const value = (readJson(piece) ?? readJson(quoteKeys(piece, backslashes)))?.value
  return value !== undefined && isObject(value) ? value : 'broken'
}

/** The mean of the values if each is 0 or 1 as a number, a boolean or a numeric text; otherwise 0. */
export function publishedMean(verdict: ReadonlyMap<string, JsonValue>): number {
  const marks = Array.from(verdict.values(), markOf)
  if (marks.length === 0 || marks.some((mark) => mark !== 0 && mark !== 1)) return 0
  return marks.filter((mark) => mark === 1).length / marks.length
}

function markOf(value: JsonValue): number | null {
  if (typeof value === 'string') return readFloat(value)
  return typeof value === 'object' ? null : Number(value)
}

/** A delivery-support agent's reply, by field name. */
type RiderReply = ReadonlyMap<string, JsonValue>

/** Fields that hold a list of numbers, or such a list as text. */
export const numberFields = ['RelevantConstraintRuleNumber', 'RelevantKnowledgeNumber'] as const
/** Fields that name a solution. */
export const solutionFields = ['ResponseSolution', 'DialogueAgreeSolution'] as const
/** The fields that every reply must have. Most also have `Thought`. */
export const requiredFields = [...numberFields, 'Response', ...solutionFields] as const

const turn = 'Assistant: \n'

/** From the first `{` to the last `}`, which is added if missing. null: no `{`. */
export function braceTrim(text: string): string | null {
  const end = text.lastIndexOf('}')
  const head = end < 0 ? `${text}}` : text.slice(0, end + 1)
  const start = head.indexOf('{')
  return start < 0 ? null : head.slice(start)
}

/** The whole text as one strict JSON object without repeated keys. null otherwise. */
export function strictReply(text: string): RiderReply | null {
  const reading = readJson(trimSpace(text))
  if (!reading || reading.repeatedKeys || reading.constants) return null
  return isObject(reading.value) ? reading.value : null
}

/**
 * The reply as the original reads it: a JSON object after the last turn marker, with all fields. null
 * otherwise.
 */
export function lastTurnReply(text: string): RiderReply | null {
  const value = readJson(trimSpace(afterLast(text, turn)))?.value
  if (value === undefined || !isObject(value)) return null
  return requiredFields.every((field) => value.has(field)) ? value : null
}

/**
 * The reply's fields as the judges' hooks read them: strictly, or from the first `{` to the last `}`. null:
 * no object.
 */
export function replyOf(text: string, mode: 'strict' | 'published'): RiderReply | null {
  if (mode === 'strict') return strictReply(text)
  const value = readJson(trimSpace(braceTrim(text) ?? ''))?.value
  return value !== undefined && isObject(value) ? value : null
}

const none = '无'
const separator = '；'
const openEnd = '……'
/** Solutions that carry an amount or an object after their name. */
const payment = '执行补款'
const followUps = ['跟进返餐', '跟进系统补款']

/** What a delivery-support agent can do, as one JSON text `{"name", "describe"}` per solution. */
export const riderSolutions: readonly string[] = [
  ['外呼商家-骑手是否返餐', '联系商家，确认骑手是否已把餐品送回'],
  ['外呼商家-骑手申诉原因是否属实', '联系商家，确认骑手的申诉理由是否成立'],
  ['外呼商家-是否营业', '联系商家，确认当时是否营业'],
  ['外呼用户-是否收到餐品', '联系用户，确认餐品是否送达'],
  ['外呼用户-是否需要配送', '联系用户，确认是否仍需配送'],
  ['外呼用户-是否拒收', '联系用户，确认是否拒绝收餐'],
  ['外呼下单人-是否需要配送', '联系下单人，确认是否仍需配送'],
  ['申诉通过', '申诉条件满足，予以通过'],
  ['申诉驳回', '申诉条件不满足，不予通过'],
  ['执行补款', '向骑手补款，名称后写金额，如“执行补款-5元”'],
  ['跟进二次申诉结果', '等待第二次申诉的结论'],
  ['跟进返餐', '仅差返餐一步，跟进到餐品送回'],
  ['跟进系统补款', '条件已满足，跟进到系统完成补款'],
  ['稍后外呼……', '暂不联系，稍后再打给商家、用户或下单人'],
].map(([name, describe]) => JSON.stringify({ name, describe }))

/** The catalogue's line of each solution in a `；`-separated list, each followed by a line feed. */
export function solutionMeanings(
  solution: string,
  catalog: readonly string[],
  mode: 'strict' | 'published',
): string {
  const find = mode === 'published' ? publishedLookup : strictLookup(catalog)
  return solution
    .split(separator)
    .map((part) => `${find(part, catalog)}\n`)
    .join('')
}

/**
 * The original takes the first line that contains the solution's text anywhere, so '' gives the first line.
 */
export function publishedLookup(solution: unknown, catalog: readonly string[]): string {
  if (solution === none || typeof solution !== 'string') return none
  const word = [payment, ...followUps].find((start) => solution.startsWith(start)) ?? solution
  return catalog.find((line) => line.includes(word)) ?? none
}

/** The line whose name equals the solution. A name that ends in `……` matches by prefix. */
export function strictLookup(catalog: readonly string[]): (solution: unknown) => string {
  const named = catalog.map((line) => [nameOf(line), line] as const)
  return (solution) => {
    if (typeof solution !== 'string') return none
    const paid = solution === payment || solution.startsWith(`${payment}-`) ? payment : null
    const wanted = paid ?? followUps.find((start) => solution.startsWith(start)) ?? solution
    const found = named.find(
      ([name]) =>
        name === wanted || (name?.endsWith(openEnd) && wanted.startsWith(name.slice(0, -openEnd.length))),
    )
    return found?.[1] ?? none
  }
}

function nameOf(line: string): string | null {
  const entry = readJson(line)?.value
  const name = entry !== undefined && isObject(entry) ? entry.get('name') : null
  return typeof name === 'string' ? name : null
}
