/**
 * How published rubric judges read a judge's reply. null where the original throws. Replies may repeat what a policy
 * wrote: the cost is linear in the text, times a constant number of attempts.
 */

import { trimSpace, whiteSpace } from '../characters.ts'
import { isList, isObject } from '../json/identity.ts'
import { type JsonValue, readJson, readJsonAt } from '../json/json.ts'
import { readFloat } from '../python.ts'

/** The original would have thrown. */
class UnreadReply extends Error {}

function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadReply) return null
    throw error
  }
}

const deepest = 64

/** Where an object of JSON may begin, or one whose braces are doubled. */
const opening = /\{[ \t\n\r]*["{}]/y

/**
 * The places of a reply at which an object may begin, in order, up to `end`. At most 256, and fewer in a long reply, as
 * each of them may cost its length.
 */
function* openings(text: string, end = text.length): Generator<number, void> {
  let left = Math.min(256, Math.ceil(1_048_576 / Math.max(text.length, 1)))
  let from = text.indexOf('{')
  for (; from >= 0 && from < end && left > 0; from = text.indexOf('{', from + 1)) {
    opening.lastIndex = from
    if (!opening.test(text)) continue
    left -= 1
    yield from
  }
}

/** A criterion as verifiers has it. `choices`: from worst to best. */
export interface ChoiceCriterion {
  readonly name: string
  readonly choices: readonly string[]
}

/** The scores by name in a reply to verifiers' RubricJudge: each criterion exactly once, with one of its choices. */
export const verifiersVerdicts = (
  text: string,
  criteria: readonly ChoiceCriterion[],
): ReadonlyMap<string, number> | null => orNull(() => verdictsIn(text, criteria))

function verdictsIn(text: string, criteria: readonly ChoiceCriterion[]): ReadonlyMap<string, number> {
  const verdicts = firstVerdicts(text)
  if (verdicts === null || !isList(verdicts)) throw new UnreadReply('no object with a list of verdicts')
  const byName = new Map(criteria.map((criterion) => [criterion.name, criterion]))
  const scores = new Map<string, number>()
  for (const verdict of verdicts) {
    const [name, reason, said] = ['name', 'reason', 'verdict'].map((key) =>
      isObject(verdict) ? verdict.get(key) : undefined,
    )
    if (typeof name !== 'string' || typeof reason !== 'string' || typeof said !== 'string')
      throw new UnreadReply('a verdict needs the texts name, reason and verdict')
    if (scores.has(name)) throw new UnreadReply('a criterion has two verdicts')
    const { choices = [] } = byName.get(name) ?? {}
    const place = choices.indexOf(said)
    if (place < 0) throw new UnreadReply('a verdict names no criterion, or none of its choices')
    scores.set(name, place / (choices.length - 1))
  }
  if (scores.size !== byName.size) throw new UnreadReply('a criterion has no verdict')
  return scores
}

/** The `verdicts` of the first object that has them; null: there is none. */
function firstVerdicts(text: string): JsonValue | null {
  for (const from of openings(text)) {
    const value = readJsonAt(text, from, deepest)?.value
    const found = value !== undefined && isObject(value) ? value.get('verdicts') : undefined
    if (found !== undefined) return found
  }
  return null
}

/** How rewardkit maps a judge's number or word to 0 to 1. */
export type RewardkitForm =
  | { readonly type: 'binary' }
  | { readonly type: 'likert'; readonly points: number }
  | { readonly type: 'numeric'; readonly min: number; readonly max: number }
  | { readonly type: 'rubric'; readonly levels: number }

/** A criterion as rewardkit has it. */
export interface RewardkitCriterion {
  readonly name: string
  readonly form: RewardkitForm
  readonly negate: boolean
}

/** The values of a reply to rewardkit's judge, in the order of the criteria. */
export const rewardkitValues = (
  text: string,
  criteria: readonly RewardkitCriterion[],
): readonly number[] | null => orNull(() => valuesIn(text, criteria))

function valuesIn(text: string, criteria: readonly RewardkitCriterion[]): readonly number[] {
  const data = fencedObject(text) ?? outerObject(text)
  const [only] = criteria
  const sole = data.get('score')
  const isFlat = criteria.length === 1 && sole !== undefined && !isObject(sole)
  return criteria.map(({ name, form, negate }) => {
    const entry = isFlat && name === only?.name ? data : data.get(name)
    const said = entry !== undefined && isObject(entry) ? entry.get('score') : undefined
    if (said === undefined) throw new UnreadReply('a criterion has no score')
    const value = rewardkitValue(said, form)
    return negate ? 1 - value : value
  })
}

const objectIn = (text: string): ReadonlyMap<string, JsonValue> => {
  const value = readJson(text, deepest)?.value
  if (value === undefined || !isObject(value)) throw new UnreadReply('no JSON')
  return value
}

const fenceEnd = new RegExp(`\\}[${whiteSpace}]*\`\`\``, 'g')
const fenceStart = new RegExp(`\`\`\`(?:json)?[${whiteSpace}]*\\{`, 'g')

/** The object in the first fence, as non-greedy matching finds it; null: no fence holds one. */
function fencedObject(text: string): ReadonlyMap<string, JsonValue> | null {
  fenceStart.lastIndex = 0
  const start = fenceStart.exec(text)
  if (!start) return null
  const from = fenceStart.lastIndex - 1
  fenceEnd.lastIndex = from
  const end = fenceEnd.exec(text)
  return end ? objectIn(text.slice(from, end.index + 1)) : null
}

function outerObject(text: string): ReadonlyMap<string, JsonValue> {
  const from = text.indexOf('{')
  const end = text.lastIndexOf('}')
  if (from < 0 || end < from) throw new UnreadReply('no JSON')
  return objectIn(text.slice(from, end + 1))
}

function rewardkitValue(said: JsonValue, form: RewardkitForm): number {
  if (form.type === 'binary') {
    if (typeof said === 'string') return Number(['yes', 'true', '1'].includes(trimSpace(said).toLowerCase()))
    return Number(typeof said === 'bigint' || floatIn(said) !== 0)
  }
  const value = floatIn(said)
  if (form.type === 'likert') return clipped((value - 1) / (form.points - 1))
  if (form.type === 'numeric') return clipped((value - form.min) / (form.max - form.min))
  return clipped(value / (form.levels - 1))
}

/** As Python's float() reads it, finite. */
function floatIn(said: JsonValue): number {
  const value = typeof said === 'string' ? readFloat(said) : typeof said === 'object' ? null : Number(said)
  if (value === null || !Number.isFinite(value)) throw new UnreadReply('a score is no finite number')
  return value
}

const clipped = (value: number): number => Math.max(0, Math.min(1, value))

/**
 * The score in a reply to Open-Instruct's RubricVerifier, halved: 0 to 1 as its prompt asks, but nothing clips it. An
 * unreadable reply is 0, as there.
 */
export function openInstructScore(text: string): number {
  const end = text.lastIndexOf('}') + 1
  for (const from of openings(text, end)) {
    const whole = text.slice(from, end)
    const value = (readJson(whole, deepest) ?? readJson(singleBraces(whole), deepest))?.value
    if (value !== undefined) return isObject(value) ? halved(value.get('score')) : 0
  }
  return 0
}

const singleBraces = (text: string): string => text.replaceAll('{{', '{').replaceAll('}}', '}')

function halved(said: JsonValue | undefined): number {
  if (said === undefined || said === null || typeof said === 'object') return 0
  const value = typeof said === 'string' ? readFloat(said) : Number(said)
  return value === null ? 0 : value / 2
}
