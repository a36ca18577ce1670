/** Rubrics as data sets write them: the criteria by which a row's answer is judged. */

import { nearestName } from '../../core/nearest-name.ts'
import type { Json, Sample } from '../../core/sample/sample.ts'
import { isBlank } from '../characters.ts'
import { type RarCategory, rarCategories } from './sums.ts'

/** One criterion of a row. */
export interface Criterion {
  /** What a judge is asked about. */
  readonly text: string
  /** The row's own name, or `c1`, `c2`, ... Names need not differ. */
  readonly name: string
  /** Not 0, except with `must`. Negative: a fault, whose absence is good. */
  readonly weight: number
  /** Whether it must be met: true, by more than half; a number, at least so well. */
  readonly must: boolean | number
  /** From worst to best; null: it holds or not, or has a scale. */
  readonly levels: readonly string[] | null
  /** The worst and the best whole number; null: no numbers. */
  readonly scale: readonly [worst: number, best: number] | null
  /** False: the criterion is met if its question is answered with no. */
  readonly expect: boolean
  readonly tags: readonly string[]
  /** How a criterion of Rubrics as Rewards is classed. */
  readonly category: RarCategory | null
}

/** Whose way of writing a rubric it is. `plain`: the gateway's own. */
const rubricForms = [
  'plain',
  'healthbench',
  'rar',
  'open_instruct',
  'multichallenge',
  'inverse_if',
  'job_bench',
  'verifiers',
  'rewardkit',
] as const
export type RubricForm = (typeof rubricForms)[number]

/** The rubric of a row. */
export interface Rubric {
  readonly form: RubricForm
  /** At least one. */
  readonly criteria: readonly Criterion[]
}

/** Why a value is no rubric: the place, what is wrong with it, and what to do. Quotes no text of the row. */
export interface RubricProblem {
  readonly problem: string
}

/** Limits that keep the cost of a row bounded, and its judges' questions readable. */
export const rubricLimits = {
  criteria: 512,
  characters: 262_144,
  levels: 32,
  tags: 16,
  name: 120,
  /** Of either sign: sums of larger ones could overflow, and a share of infinity is 0. */
  weight: 1e9,
} as const

const listNames = ['rubrics', 'rubric', 'criteria', 'criterion'] as const
const textNames = [
  'text',
  'criterion',
  'description',
  'question',
  'criteria',
  'rubric_item',
  'Ingredient',
] as const
const nameNames = ['name', 'title', 'id'] as const

/** An object of a row. */
export type Fields = Readonly<Record<string, Json>>

export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An own field that is neither absent nor null: columns of a table are null where a row has none. */
export const fieldOf = (fields: Fields, name: string): Json | undefined =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined

/** Whether a value has the outline of a rubric: a list of objects, or an object with one under a known name. */
export const holdsRubric = (value: Json | undefined): boolean => listIn(value) !== null

interface Found {
  readonly place: string
  readonly items: readonly Json[]
  readonly around: Fields
}

function listIn(value: Json | undefined): Found | null {
  if (Array.isArray(value))
    return value.some(isFields) || value.length === 0 ? { place: 'rubric', items: value, around: {} } : null
  if (!isFields(value)) return null
  for (const name of listNames) {
    const items = fieldOf(value, name)
    if (Array.isArray(items)) return { place: name, items, around: value }
    if (typeof items === 'string' && name !== 'criterion') {
      const read = parsedList(items)
      if (read) return { place: name, items: read, around: value }
    }
  }
  return null
}

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

function itemsIn(value: Json): Found | RubricProblem {
  const found = listIn(value)
  if (!found)
    return {
      problem: `the row has no rubric: send as ground_truth a list such as [{"text": "...", "weight": 1}], or an object with it under ${listNames.slice(0, 3).join(', ')}, or put it under one of these names into extra_info`,
    }
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
export function readRubric(value: Json): Rubric | RubricProblem {
  const found = itemsIn(value)
  if ('problem' in found) return found
  const { place, items, around } = found
  const form = formOf(items, around)
  const criteria: Criterion[] = []
  let characters = 0
  for (const [at, item] of items.entries()) {
    const read = readCriterion(item, at, form)
    if ('problem' in read) return { problem: `${place}[${at}]${read.problem}` }
    characters += read.text.length
    for (const level of read.levels ?? []) characters += level.length
    criteria.push(read)
  }
  if (characters > rubricLimits.characters)
    return {
      problem: `${place}: its criteria have more than ${rubricLimits.characters} characters; shorten them`,
    }
  return { form, criteria }
}

/** Told by the fields of the first criterion, and of what is around the list. */
function formOf(items: readonly Json[], around: Fields): RubricForm {
  const first = items.find(isFields) ?? {}
  const has = (name: string): boolean => fieldOf(first, name) !== undefined
  if (has('type') || has('negate') || has('optional')) return 'rewardkit'
  if (has('choices')) return 'verifiers'
  if (has('criterion') && has('points')) return 'healthbench'
  if (has('rubric') && Array.isArray(fieldOf(first, 'criterion'))) return 'job_bench'
  if (has('pass_criteria')) return 'multichallenge'
  if (has('id') && has('criteria')) return 'inverse_if'
  if (has('rubric_item') || has('Ingredient') || fieldOf(around, 'rubrics_types') !== undefined)
    return 'open_instruct'
  if (has('description') && (fieldOf(around, 'query') ?? fieldOf(around, 'Question')) !== undefined)
    return 'open_instruct'
  if (has('description') && (has('category') || categoryOf(first) !== null || has('title'))) return 'rar'
  return 'plain'
}

function readCriterion(item: Json, at: number, form: RubricForm): Criterion | RubricProblem {
  const own = typeof item === 'string' ? { text: item } : item
  if (!isFields(own)) return { problem: ': is no object; write {"text": "...", "weight": 1}' }
  const text = textOf(own)
  if (text === null)
    return { problem: `: has no text; write what is judged into one of ${textNames.slice(0, 5).join(', ')}` }
  const scaling = form === 'rewardkit' ? rewardkitScaling(own) : ownScaling(own)
  if ('problem' in scaling) return scaling
  const must = mustOf(own)
  if (typeof must === 'object') return must
  const weight = weightOf(own, form, must !== false)
  if (typeof weight === 'object') return weight
  const expect = expectOf(own)
  if (typeof expect === 'object') return expect
  return {
    text,
    name: nameOf(own) ?? `c${at + 1}`,
    weight,
    must,
    ...scaling,
    expect,
    tags: tagsOf(own),
    category: categoryOf(own),
  }
}

function textOf(item: Fields): string | null {
  const parts = fieldOf(item, 'criterion') ?? fieldOf(item, 'criteria')
  const title = fieldOf(item, 'rubric')
  if (Array.isArray(parts)) {
    const texts = parts.filter((part) => typeof part === 'string' && !isBlank(part))
    if (texts.length === 0 || texts.length < parts.length) return null
    const list = texts.map((part) => `- ${String(part)}`).join('\n')
    return `${typeof title === 'string' && !isBlank(title) ? `${title}\n` : ''}It holds only if all of these hold:\n${list}`
  }
  for (const name of textNames) {
    const value = fieldOf(item, name)
    if (typeof value === 'string' && !isBlank(value)) return value
  }
  return null
}

function nameOf(item: Fields): string | null {
  for (const name of nameNames) {
    const value = fieldOf(item, name)
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text === 'string' && !isBlank(text)) return text.slice(0, rubricLimits.name)
  }
  return null
}

function weightOf(item: Fields, form: RubricForm, isMust: boolean): number | RubricProblem {
  const points = form === 'rewardkit' ? undefined : fieldOf(item, 'points')
  const given = fieldOf(item, 'weight') ?? points
  if (given === undefined) {
    const misspelt = Object.keys(item).find((name) => nearestName(name, ['weight', 'points']) !== null)
    return misspelt === undefined || misspelt === 'points'
      ? 1
      : {
          problem:
            ': a field is nearly called weight or points; correct its name, or the criterion counts once',
        }
  }
  if (typeof given !== 'number' || !Number.isFinite(given))
    return { problem: ': its weight is no number; write one such as 1, or -1 for a fault' }
  if (Math.abs(given) > rubricLimits.weight)
    return { problem: `: its weight is larger than ${rubricLimits.weight}; divide all weights by one number` }
  if (given === 0 && !isMust)
    return {
      problem:
        ': its weight is 0, so it counts for nothing; leave it out, give it a weight, or write must: true',
    }
  return given
}

function mustOf(item: Fields): boolean | number | RubricProblem {
  const must = fieldOf(item, 'must')
  if (must === undefined || must === false) return false
  if (must === true) return true
  if (typeof must === 'number' && must > 0 && must <= 1) return must
  return { problem: ': must is true, false, or how well it must be met, above 0 and up to 1' }
}

type Scaling = Pick<Criterion, 'levels' | 'scale'>

const binary: Scaling = { levels: null, scale: null }

function ownScaling(item: Fields): Scaling | RubricProblem {
  const levels = fieldOf(item, 'levels') ?? fieldOf(item, 'choices')
  const scale = fieldOf(item, 'scale')
  if (levels !== undefined && scale !== undefined)
    return { problem: ': has levels and a scale; leave one of them out' }
  if (levels !== undefined) return levelsOf(levels)
  if (scale === undefined) return binary
  const [worst, best] = Array.isArray(scale) ? (scale as readonly Json[]) : []
  return Array.isArray(scale) && scale.length === 2 ? scaleOf(worst, best) : scaleOf(null, null)
}

function levelsOf(levels: Json): Scaling | RubricProblem {
  const most = rubricLimits.levels
  if (
    !Array.isArray(levels) ||
    levels.length < 2 ||
    levels.length > most ||
    !levels.every((level) => typeof level === 'string' && !isBlank(level))
  )
    return { problem: `: its levels are not 2 to ${most} texts, from worst to best` }
  const texts = levels as readonly string[]
  if (new Set(texts).size < texts.length) return { problem: ': two of its levels are the same' }
  const [low = '', high = ''] = texts.map((level) => level.trim().toLowerCase())
  return texts.length === 2 && low === 'no' && high === 'yes' ? binary : { levels: texts, scale: null }
}

function scaleOf(worst: Json | undefined, best: Json | undefined): Scaling | RubricProblem {
  if (
    typeof worst === 'number' &&
    typeof best === 'number' &&
    Number.isSafeInteger(worst) &&
    Number.isSafeInteger(best) &&
    worst < best &&
    best - worst <= 100
  )
    return { levels: null, scale: [worst, best] }
  return { problem: ': its scale is not [worst, best], whole numbers at most 100 apart' }
}

/** rewardkit's `points` are those of its scale. */
function rewardkitScaling(item: Fields): Scaling | RubricProblem {
  const type = fieldOf(item, 'type') ?? 'binary'
  if (type === 'binary') return binary
  if (type === 'likert') return scaleOf(1, fieldOf(item, 'points') ?? 5)
  if (type === 'numeric') return scaleOf(fieldOf(item, 'min') ?? 0, fieldOf(item, 'max') ?? 1)
  if (type === 'rubric') return levelsOf(fieldOf(item, 'levels') ?? null)
  return { problem: ': its type is none of binary, likert, numeric, rubric' }
}

/** `expect: no`, `pass_criteria: NO` and `negate: true` say that a no is good. */
function expectOf(item: Fields): boolean | RubricProblem {
  const said = fieldOf(item, 'expect') ?? fieldOf(item, 'pass_criteria')
  if (said === undefined) return fieldOf(item, 'negate') !== true
  const word = typeof said === 'string' ? said.trim().toLowerCase() : said
  if (word === 'yes' || word === true) return true
  if (word === 'no' || word === false) return false
  return { problem: ': expect (or pass_criteria) is neither yes nor no' }
}

function tagsOf(item: Fields): readonly string[] {
  const tags = fieldOf(item, 'tags') ?? fieldOf(item, 'tag')
  const list = typeof tags === 'string' ? [tags] : Array.isArray(tags) ? tags : []
  return list.filter((tag) => typeof tag === 'string').slice(0, rubricLimits.tags) as readonly string[]
}

const beginning = /^\s{0,8}(Essential|Important|Optional|Pitfall)(?: Criteria)?\s{0,4}:/i

/** Its `category`, or the word with which its description begins. */
export function categoryOf(item: Fields): RarCategory | null {
  const said = fieldOf(item, 'category')
  const text = fieldOf(item, 'description')
  const word =
    typeof said === 'string' ? said : typeof text === 'string' ? beginning.exec(text)?.[1] : undefined
  return rarCategories.find((one) => one.toLowerCase() === word?.trim().toLowerCase()) ?? null
}

const rubrics = new WeakMap<object, Rubric | RubricProblem>()

/**
 * The rubric of a row: its ground truth, the ground truth's JSON text, or a field of `extra_info`. Read once for each
 * sample.
 */
export function rubricOf(sample: Pick<Sample, 'groundTruth' | 'extraInfo'>): Rubric | RubricProblem {
  const known = rubrics.get(sample)
  if (known) return known
  const rubric = readRubric(rubricIn(sample))
  rubrics.set(sample, rubric)
  return rubric
}

/** Where a row keeps its rubric; null: nowhere. */
function rubricIn({ groundTruth, extraInfo }: Pick<Sample, 'groundTruth' | 'extraInfo'>): Json | null {
  if (holdsRubric(groundTruth)) return groundTruth
  const read = typeof groundTruth === 'string' ? parsed(groundTruth) : null
  if (read !== null && holdsRubric(read)) return read
  return holdsRubric(extraInfo) && !Array.isArray(extraInfo) ? extraInfo : null
}

/** The items of a row's rubric, for readers of their own. */
export const rubricItems = (sample: Pick<Sample, 'groundTruth' | 'extraInfo'>): RubricItems | RubricProblem =>
  itemsIn(rubricIn(sample))
