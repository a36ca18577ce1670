/** Rubrics as data sets write them: the criteria by which a row's answer is judged. */

import { memoizeByObject } from '../../core/memoize.ts'
import type { Json, Sample } from '../../core/sample/sample.ts'
import { categoryOf, readCriterion } from './read-criterion.ts'
import {
  type Criterion,
  type Fields,
  fieldOf,
  isFields,
  type RubricForm,
  type RubricProblem,
  rubricLimits,
} from './rubric-row.ts'

/** The rubric of a row. */
export interface Rubric {
  readonly form: RubricForm
  /** At least one. */
  readonly criteria: readonly Criterion[]
  /** The names of fields of its criteria that nothing reads. */
  readonly unread: readonly string[]
}

const listNames = ['rubrics', 'rubric', 'criteria', 'criterion'] as const

type RubricRow = Pick<Sample, 'groundTruth' | 'extraInfo'>

interface Found {
  readonly place: string
  readonly items: readonly Json[]
  readonly around: Fields
}

/** Whether a value has the outline of a rubric: a list of objects, or an object with one under a known name. */
export const holdsRubric = (value: Json | undefined): boolean => listIn(value) !== null

/** The list of a value, or why it is not certain which one is meant. null: none. */
function listIn(value: Json | undefined): Found | RubricProblem | null {
  if (Array.isArray(value))
    return value.some(isFields) || value.length === 0 ? { place: 'rubric', items: value, around: {} } : null
  if (!isFields(value)) return null
  const found = listNames.flatMap((name): readonly Found[] => {
    const field = fieldOf(value, name)
    const items = typeof field === 'string' && name !== 'criterion' ? parsedList(field) : field
    return Array.isArray(items) ? [{ place: name, items, around: value }] : []
  })
  const [first, second] = found.filter(isFull)
  if (first && second && !isSame(first, second))
    return { problem: `the row has two rubrics, ${first.place} and ${second.place}; leave one of them out` }
  return first ?? found.find(({ items }) => items.length > 0) ?? found[0] ?? null
}

/** Lists of words may be anything's. */
const isFull = ({ items }: Found): boolean => items.some(isFields)

const isSame = (one: Found, other: Found): boolean =>
  JSON.stringify(one.items) === JSON.stringify(other.items)

/** A column may hold the list as its JSON text. */
function parsedList(text: string): readonly Json[] | null {
  const read = parsed(text)
  return Array.isArray(read) ? (read as readonly Json[]) : null
}

/** The list or object that a text spells; null: neither, or too long to be a rubric. */
function parsed(text: string): Json | null {
  if (text.length > 4 * rubricLimits.characters || !/^\s*[[{]/.test(text)) return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

/** The items of a rubric before they are read, at least one and not too many. */
export interface RubricItems {
  /** The name of their list, for messages. */
  readonly place: string
  readonly items: readonly Json[]
}

function itemsIn(found: Found | RubricProblem | null): Found | RubricProblem {
  if (!found)
    return {
      problem: `the row has no rubric: send as ground_truth a list such as [{"text": "...", "weight": 1}], or an object with it under ${listNames.slice(0, 3).join(', ')}, or put it under one of these names into extra_info`,
    }
  if ('problem' in found) return found
  const { place, items } = found
  if (items.length === 0)
    return { problem: `${place}: is empty, so there is nothing to judge; leave the row out` }
  if (items.length > rubricLimits.criteria)
    return {
      problem: `${place}: has ${items.length} criteria, and at most ${rubricLimits.criteria} are judged; merge some`,
    }
  return found
}

/**
 * Reads a rubric: a list of criteria, or an object that holds one as `rubrics`, `rubric`, `criteria` or `criterion`. Linear
 * in its length.
 */
export const readRubric = (value: Json): Rubric | RubricProblem => read(listIn(value))

/** Of the fields that nothing reads, so many are named, and so much of each. */
const mostUnread = 8
const longestName = 60

function read(list: Found | RubricProblem | null): Rubric | RubricProblem {
  const found = itemsIn(list)
  if ('problem' in found) return found
  const { place, items } = found
  const form = formOf(found)
  const criteria: Criterion[] = []
  const unread = new Set<string>()
  let characters = 0
  for (const [at, item] of items.entries()) {
    const one = readCriterion(item, at, form)
    if ('problem' in one) return { problem: `${place}[${at}]${one.problem}` }
    const { criterion } = one
    characters += criterion.text.length
    for (const level of criterion.levels ?? []) characters += level.length
    criteria.push(criterion)
    for (const name of one.unread) if (unread.size < mostUnread) unread.add(name.slice(0, longestName))
  }
  if (characters > rubricLimits.characters)
    return {
      problem: `${place}: its criteria have more than ${rubricLimits.characters} characters; shorten them`,
    }
  return { form, criteria, unread: [...unread].sort() }
}

/** Told by the fields of the first criterion (of rewardkit, of any), and of what is around the list. */
function formOf({ place, items, around }: Found): RubricForm {
  const all = items.filter(isFields)
  const first = all[0] ?? {}
  const has = (name: string): boolean => fieldOf(first, name) !== undefined
  const hasAny = (name: string): boolean => all.some((item) => fieldOf(item, name) !== undefined)
  if (hasAny('type') || hasAny('negate') || hasAny('optional')) return 'rewardkit'
  if (has('choices')) return 'verifiers'
  if (has('criterion') && has('points')) return 'healthbench'
  if (has('rubric') && Array.isArray(fieldOf(first, 'criterion'))) return 'job_bench'
  if (has('pass_criteria')) return 'multichallenge'
  if (has('id') && has('criteria')) return 'inverse_if'
  if (has('rubric_item') || has('Ingredient') || fieldOf(around, 'rubrics_types') !== undefined)
    return 'open_instruct'
  if (!has('description')) return 'plain'
  if ((fieldOf(around, 'query') ?? fieldOf(around, 'Question')) !== undefined) return 'open_instruct'
  if (has('category') || categoryOf(first) !== null) return 'rar'
  // Both have a title and a description, in lists of different names.
  return has('title') ? (place === 'rubrics' ? 'open_instruct' : 'rar') : 'plain'
}

/** Where a row keeps its rubric; null: nowhere. An empty list hides no other one. */
function rubricIn({ groundTruth, extraInfo }: RubricRow): Found | RubricProblem | null {
  const spelt = typeof groundTruth === 'string' ? parsed(groundTruth) : null
  const truth = listIn(spelt ?? groundTruth)
  const info = Array.isArray(extraInfo) ? null : listIn(extraInfo)
  if (!truth || !info) return truth ?? info
  if ('problem' in truth || 'problem' in info) return 'problem' in truth ? truth : info
  if (isFull(truth) && isFull(info) && !isSame(truth, info))
    return {
      problem: `the row has two rubrics, in ground_truth and in extra_info.${info.place}; leave one of them out`,
    }
  return truth.items.length > 0 ? truth : info
}

/** The rubric of a row: its ground truth, the ground truth's JSON text, or a field of `extra_info`. Read once for each sample. */
export const rubricOf = memoizeByObject((sample: RubricRow): Rubric | RubricProblem => read(rubricIn(sample)))

/** The items of a row's rubric, for readers of their own. */
export const rubricItems = (sample: RubricRow): RubricItems | RubricProblem => itemsIn(rubricIn(sample))
