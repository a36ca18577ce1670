/** One criterion of a rubric as data sets write it. What it pays must not hang on a field that nobody reads. */

import { nearestName } from '../../core/nearest-name.ts'
import type { Json } from '../../core/sample/sample.ts'
import { isBlank } from '../characters.ts'
import {
  type Criterion,
  type Fields,
  fieldOf,
  isFields,
  type RubricForm,
  type RubricProblem,
  rubricLimits,
} from './rubric-row.ts'
import { type RarCategory, rarCategories } from './sums.ts'

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

/** A criterion, and the names of its fields that nothing reads. */
interface ReadCriterion {
  readonly criterion: Criterion
  readonly unread: readonly string[]
}

export function readCriterion(item: Json, at: number, form: RubricForm): ReadCriterion | RubricProblem {
  const own = typeof item === 'string' ? { text: item } : item
  if (!isFields(own)) return { problem: ': is no object; write {"text": "...", "weight": 1}' }
  const text = textOf(own)
  if (text === null)
    return { problem: `: has no text; write what is judged into one of ${textNames.slice(0, 5).join(', ')}` }
  const unread = Object.keys(own)
    .filter(
      (name) => fieldOf(own, name) !== undefined && !text.from.includes(name) && !isRead(name, own, form),
    )
    .slice(0, mostUnread)
  const misspelt = nearMiss(own, unread)
  if (misspelt !== null) return misspelt
  const scaling = form === 'rewardkit' ? rewardkitScaling(own) : ownScaling(own)
  if ('problem' in scaling) return scaling
  const must = mustOf(own)
  if (typeof must === 'object') return must
  const weight = weightOf(own, form, must !== false)
  if (typeof weight === 'object') return weight
  const expect = expectOf(own)
  if (typeof expect === 'object') return expect
  const criterion = {
    text: text.value,
    name: nameOf(own) ?? `c${at + 1}`,
    weight,
    must,
    ...scaling,
    expect,
    tags: tagsOf(own),
    category: categoryOf(own),
  }
  return { criterion, unread }
}

/** The fields that are read, whichever form the rubric has. */
const readFields: ReadonlySet<string> = new Set([
  ...nameNames,
  ...['weight', 'points', 'must', 'levels', 'choices', 'scale', 'expect', 'pass_criteria', 'negate'],
  ...['tags', 'tag', 'category'],
])
/** `annotations` are for people. */
const rewardkitFields: ReadonlySet<string> = new Set(['type', 'min', 'max', 'annotations'])

/** Of a criterion with more, the first ones are looked at. */
const mostUnread = 64

/** `optional` is for published code, which leaves such a criterion out of some sums. */
const isRead = (name: string, item: Fields, form: RubricForm): boolean =>
  readFields.has(name) ||
  (form === 'rewardkit' && (rewardkitFields.has(name) || (name === 'optional' && item.optional === false)))

const isYesNo = (value: Json): boolean =>
  typeof value === 'boolean' || (typeof value === 'string' && /^\s*(?:yes|no)\s*$/i.test(value))
const isList = (value: Json): boolean => Array.isArray(value)
const isNumber = (value: Json): boolean =>
  typeof value === 'number' || (typeof value === 'string' && !isBlank(value) && !Number.isNaN(Number(value)))

/** Fields that change what a criterion pays, and the values that look like theirs. */
const paying: Readonly<Record<string, (value: Json) => boolean>> = {
  weight: isNumber,
  points: isNumber,
  must: (value) => typeof value === 'boolean' || typeof value === 'number',
  levels: isList,
  choices: isList,
  scale: isList,
  expect: isYesNo,
  pass_criteria: isYesNo,
  negate: (value) => typeof value === 'boolean',
}

/** A field that seems to be meant as one that pays. One of another name and value is the data set's own affair. */
function nearMiss(item: Fields, unread: readonly string[]): RubricProblem | null {
  for (const name of unread) {
    const absent = Object.keys(paying).filter((known) => fieldOf(item, known) === undefined)
    const near = nearestName(name, absent)
    if (near !== null && paying[near]?.(item[name] as Json))
      return {
        problem: `: a field is nearly called ${near}; correct its name, or the criterion counts as if it were not there`,
      }
  }
  return null
}

/** What is judged, and the fields that say it. */
function textOf(item: Fields): { readonly value: string; readonly from: readonly string[] } | null {
  const list = (['criterion', 'criteria'] as const).find((name) => fieldOf(item, name) !== undefined)
  const parts = list && fieldOf(item, list)
  const title = fieldOf(item, 'rubric')
  if (list && Array.isArray(parts)) {
    const texts = parts.filter((part) => typeof part === 'string' && !isBlank(part))
    if (texts.length === 0 || texts.length < parts.length) return null
    const lines = texts.map((part) => `- ${String(part)}`).join('\n')
    const value = `${typeof title === 'string' && !isBlank(title) ? `${title}\n` : ''}It holds only if all of these hold:\n${lines}`
    return { value, from: [list, 'rubric'] }
  }
  for (const name of textNames) {
    const value = fieldOf(item, name)
    if (typeof value === 'string' && !isBlank(value)) return { value, from: [name] }
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
  const points = fieldOf(item, 'points')
  const own = fieldOf(item, 'weight')
  if (form === 'rewardkit') {
    if (points !== undefined && own === undefined && fieldOf(item, 'type') !== 'likert')
      return { problem: ': its points would be those of a likert scale, which it is not; write weight' }
  } else if (own !== undefined && points !== undefined && own !== points)
    return { problem: ': has a weight and points that differ; leave one of them out' }
  const given = own ?? (form === 'rewardkit' ? undefined : points) ?? 1
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
  const choices = fieldOf(item, 'choices')
  const levels = fieldOf(item, 'levels') ?? choices
  if (choices !== undefined && JSON.stringify(levels) !== JSON.stringify(choices))
    return { problem: ': has levels and choices that differ; leave one of them out' }
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

/** rewardkit's `points` are those of its scale. Without a type, a criterion is one of our own. */
function rewardkitScaling(item: Fields): Scaling | RubricProblem {
  const type = fieldOf(item, 'type')
  if (type === undefined) return ownScaling(item)
  const others = ['levels', 'scale', 'choices'].filter((name) => name !== 'levels' || type !== 'rubric')
  if (others.some((name) => fieldOf(item, name) !== undefined))
    return { problem: ': has levels, choices or a scale that its type has not; leave one of them out' }
  if (type === 'binary') return binary
  if (type === 'likert') return scaleOf(1, fieldOf(item, 'points') ?? 5)
  if (type === 'numeric') return scaleOf(fieldOf(item, 'min') ?? 0, fieldOf(item, 'max') ?? 1)
  if (type === 'rubric') return levelsOf(fieldOf(item, 'levels') ?? null)
  return { problem: ': its type is none of binary, likert, numeric, rubric' }
}

/** `expect: no`, `pass_criteria: NO` and `negate: true` say that a no is good. */
function expectOf(item: Fields): boolean | RubricProblem {
  const said = [fieldOf(item, 'expect'), fieldOf(item, 'pass_criteria')].filter((one) => one !== undefined)
  const words = said.map((one) => (typeof one === 'string' ? one.trim().toLowerCase() : one))
  const meant = words.map((one) =>
    one === 'yes' || one === true ? true : one === 'no' || one === false ? false : null,
  )
  if (meant.includes(null)) return { problem: ': expect (or pass_criteria) is neither yes nor no' }
  const negate = fieldOf(item, 'negate')
  if (negate !== undefined && typeof negate !== 'boolean')
    return { problem: ': negate is neither true nor false' }
  const all = new Set([...meant, ...(negate === undefined ? [] : [!negate])])
  if (all.size > 1)
    return { problem: ': expect, pass_criteria and negate do not agree; leave all but one of them out' }
  return !all.has(false)
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
