/** What a judge may reply to criteria, and how its replies are read: strictly, so that a doubtful one is no verdict. */

import type { Json } from '../../core/sample/sample.ts'
import { isBlank, trimSpace } from '../characters.ts'
import { isObject } from '../json/identity.ts'
import { type JsonValue, readJson } from '../json/json.ts'
import { afterThink } from '../tags.ts'
import { labelVerdict } from '../verdicts.ts'
import type { Criterion } from './rubric-row.ts'

const yesNo = ['no', 'yes'] as const

/** The replies that a criterion allows, from worst to best: no and yes, or the numbers of its levels or scale. */
export function repliesTo({ levels, scale }: Criterion): readonly string[] {
  if (levels) return levels.map((_level, at) => String(at))
  if (!scale) return yesNo
  const [worst, best] = scale
  return Array.from({ length: best - worst + 1 }, (_, at) => String(worst + at))
}

/** How far a criterion is met, 0 to 1, for one of its replies. */
function scoreOf(criterion: Criterion, reply: string): number {
  const replies = repliesTo(criterion)
  const share = replies.indexOf(reply) / (replies.length - 1)
  return criterion.expect ? share : 1 - share
}

/** A verdict on a criterion, with the judge's reason if it gave one. */
export interface CriterionVerdict {
  readonly score: number
  readonly reason?: string
}

/** What a judge says of one criterion: one of its replies and nothing else. null: no verdict. */
export function plainVerdict(text: string, criterion: Criterion): CriterionVerdict | null {
  const said = labelVerdict(text.toLowerCase(), repliesTo(criterion))
  return said === null ? null : { score: scoreOf(criterion, said) }
}

/** The JSON Schema of a verdict with its reason. */
export const reasonSchema = (criterion: Criterion): { readonly [key: string]: Json } => ({
  type: 'object',
  properties: { reason: { type: 'string' }, verdict: { type: 'string', enum: repliesTo(criterion) } },
  required: ['reason', 'verdict'],
  additionalProperties: false,
})

/** The JSON Schema of verdicts on several criteria, under the keys c1, c2, ... (or another letter) of their order. */
export const batchSchema = (
  criteria: readonly Criterion[],
  withReasons: boolean,
  letter = 'c',
): { readonly [key: string]: Json } => ({
  type: 'object',
  properties: Object.fromEntries(
    criteria.map((criterion, at) => [
      `${letter}${at + 1}`,
      withReasons ? reasonSchema(criterion) : { type: 'string', enum: repliesTo(criterion) },
    ]),
  ),
  required: criteria.map((_criterion, at) => `${letter}${at + 1}`),
  additionalProperties: false,
})

/** What a judge says of one criterion as `{"reason", "verdict"}`. null: no verdict. */
export function reasonedVerdict(text: string, criterion: Criterion): CriterionVerdict | null {
  const value = objectIn(text)
  return value === null ? null : reasonedIn(value, criterion)
}

/**
 * What a judge says of several criteria: an object with exactly their keys. null: a key is missing, unknown or doubled, or
 * one of the verdicts is none.
 */
export function batchVerdicts(
  text: string,
  criteria: readonly Criterion[],
  withReasons: boolean,
  letter = 'c',
): readonly CriterionVerdict[] | null {
  const value = objectIn(text)
  if (value === null || !isObject(value) || value.size !== criteria.length) return null
  const verdicts: CriterionVerdict[] = []
  for (const [at, criterion] of criteria.entries()) {
    const said = value.get(`${letter}${at + 1}`)
    if (said === undefined) return null
    const verdict = withReasons ? reasonedIn(said, criterion) : verdictIn(said, criterion)
    if (verdict === null) return null
    verdicts.push(verdict)
  }
  return verdicts
}

function reasonedIn(value: JsonValue, criterion: Criterion): CriterionVerdict | null {
  if (!isObject(value) || value.size !== 2) return null
  const [reason, said] = [value.get('reason'), value.get('verdict')]
  if (typeof reason !== 'string' || said === undefined) return null
  const verdict = verdictIn(said, criterion)
  return verdict && (isBlank(reason) ? verdict : { ...verdict, reason })
}

function verdictIn(said: JsonValue, criterion: Criterion): CriterionVerdict | null {
  const word =
    typeof said === 'number' ? String(said) : typeof said === 'string' ? trimSpace(said).toLowerCase() : null
  if (word === null || !repliesTo(criterion).includes(word)) return null
  return { score: scoreOf(criterion, word) }
}

const deepest = 8

/** The JSON of which a reply consists after its thinking, fenced or not. null: more or less than that. */
function objectIn(text: string): JsonValue | null {
  const region = afterThink(text)
  if (region === null) return null
  const read = readJson(unfenced(trimSpace(region)), deepest)
  return read && !read.repeatedKeys && !read.constants ? read.value : null
}

const mark = '```'

/** What stands in a fence that is the whole text, or the text. */
function unfenced(text: string): string {
  const line = text.indexOf('\n')
  const opening = text.slice(0, Math.max(line, 0)).trimEnd()
  const isFenced = (opening === mark || opening === `${mark}json`) && text.endsWith(mark)
  return isFenced && line < text.length - mark.length ? text.slice(line, -mark.length) : text
}

/** The best grade of an answer that is judged as a whole. */
const bestGrade = 10

/** The grades of an answer that is judged by all criteria at once, from worst to best. */
export const grades: readonly string[] = Array.from({ length: bestGrade + 1 }, (_, grade) => String(grade))

/** The grade, 0 to 1. null: none. */
export function gradeIn(text: string): number | null {
  const said = labelVerdict(text, grades)
  return said === null ? null : Number(said) / bestGrade
}
