/** Published rubric judges: how each reads a row's criteria and the replies about them, and adds up. */

import { memoizeByObject } from '../../core/memoize.ts'
import type { Json, Sample } from '../../core/sample/sample.ts'
import { isBlank, trimSpace, whiteSpace } from '../characters.ts'
import { isObject } from '../json/identity.ts'
import { readJson } from '../json/json.ts'
import { labelVerdict } from '../verdicts.ts'
import {
  openInstructScore,
  type RewardkitForm,
  rewardkitValues,
  verifiersVerdicts,
} from './published-replies.ts'
import { categoryOf } from './read-criterion.ts'
import { rubricItems } from './rows.ts'
import { type Fields, fieldOf, isFields, type RubricProblem, rubricLimits } from './rubric-row.ts'
import {
  healthBenchScore,
  openInstructShare,
  type RewardkitSum,
  rarShare,
  rarWeights,
  rewardkitScore,
} from './sums.ts'

/** Whose judge it is. */
export const publishedJudges = ['healthbench', 'rar', 'verifiers', 'rewardkit', 'open_instruct'] as const
export type PublishedJudge = (typeof publishedJudges)[number]

/** A criterion as published code has it. */
export interface PublishedCriterion {
  readonly text: string
  readonly name: string
  readonly weight: number
  /** verifiers: the verdicts, from worst to best. rewardkit: the texts of its levels. */
  readonly choices: readonly string[]
  /** Of rewardkit, as the next two. */
  readonly form: RewardkitForm
  readonly negate: boolean
  readonly optional: boolean
}

/** How rewardkit adds up. The other judges have one sum each. */
export interface PublishedSum {
  readonly aggregation: RewardkitSum
  readonly threshold: number
}

type ReadItem = (item: Fields, at: number) => PublishedCriterion | RubricProblem | null

const textIn = (item: Fields, ...names: readonly string[]): string | null => {
  const text = names.map((name) => fieldOf(item, name)).find((value) => value !== undefined)
  return typeof text === 'string' && !isBlank(text) ? text : null
}

const nameIn = (item: Fields, at: number): string => {
  const name = textIn(item, 'name', 'title')
  return name !== null && name.length <= rubricLimits.name ? name : `c${at + 1}`
}

const plain = { choices: [], form: { type: 'binary' }, negate: false, optional: false } as const

/** A criterion with its weight, which is 1 where the field is absent, or the problem that it has none. */
function weighted(
  item: Fields,
  field: string,
  fit: (weight: number) => boolean,
  wanted: string,
  rest: Omit<PublishedCriterion, 'weight'>,
): PublishedCriterion | RubricProblem {
  const weight = fieldOf(item, field) ?? 1
  return typeof weight === 'number' && Number.isFinite(weight) && fit(weight)
    ? { ...rest, weight }
    : { problem: `: its ${field} is no ${wanted}` }
}

const isAny = (): boolean => true
const lacksText = (...names: readonly string[]): RubricProblem => ({
  problem:
    names.length === 1
      ? `: its field "${names[0]}" is missing or no text`
      : `: its fields ${names.map((name) => `"${name}"`).join(' and ')} must both be texts`,
})

const readItem: Readonly<Record<PublishedJudge, ReadItem>> = {
  healthbench(item, at) {
    const text = textIn(item, 'criterion')
    if (text === null) return lacksText('criterion')
    if (fieldOf(item, 'points') === undefined) return { problem: ': has no points' }
    return weighted(item, 'points', isAny, 'number', { ...plain, text, name: nameIn(item, at) })
  },
  rar(item, at) {
    const text = textIn(item, 'description')
    if (text === null) return lacksText('description')
    const category = categoryOf(item)
    if (!category)
      return { problem: ': its description begins with none of Essential, Important, Optional, Pitfall' }
    if (Number(fieldOf(item, 'weight') ?? 1) < 0)
      return {
        problem:
          ": its weight is negative, but the paper's pitfalls are worded so that one that holds is good",
      }
    return { ...plain, text, name: nameIn(item, at), weight: rarWeights[category] }
  },
  verifiers(item) {
    const [text, name] = [textIn(item, 'text'), textIn(item, 'name')]
    if (text === null || name === null) return lacksText('text', 'name')
    if (name.length > rubricLimits.name)
      return { problem: `: its "name" has more than ${rubricLimits.name} characters` }
    const choices = fieldOf(item, 'choices') ?? ['no', 'yes']
    if (!isChoices(choices))
      return { problem: `: its choices are not 2 to ${rubricLimits.levels} different texts` }
    const rest = { ...plain, text, name, choices }
    return weighted(item, 'weight', (weight) => weight >= 0, 'number from 0', rest)
  },
  rewardkit(item, at) {
    const text = textIn(item, 'description')
    if (text === null) return lacksText('description')
    const form = rewardkitForm(item)
    if ('problem' in form) return form
    const levels = fieldOf(item, 'levels')
    return weighted(item, 'weight', isAny, 'number', {
      text,
      name: nameIn(item, at),
      form,
      choices: form.type === 'rubric' && isChoices(levels) ? levels : [],
      negate: fieldOf(item, 'negate') === true,
      optional: fieldOf(item, 'optional') === true,
    })
  },
  open_instruct(item, at) {
    const text = textIn(item, 'description', 'rubric_item', 'Ingredient')
    // One without a text is left out there too.
    if (text === null) return null
    return weighted(item, 'weight', isAny, 'number', { ...plain, text, name: nameIn(item, at) })
  },
}

const isChoices = (value: Json | undefined): value is readonly string[] =>
  Array.isArray(value) &&
  value.length >= 2 &&
  value.length <= rubricLimits.levels &&
  value.every((one) => typeof one === 'string' && !isBlank(one)) &&
  new Set(value).size === value.length

function rewardkitForm(item: Fields): RewardkitForm | RubricProblem {
  const type = fieldOf(item, 'type') ?? 'binary'
  const numberIn = (name: string, or: number): number => {
    const value = fieldOf(item, name) ?? or
    return typeof value === 'number' && Number.isFinite(value) ? value : Number.NaN
  }
  if (type === 'binary') return { type }
  if (type === 'likert') {
    const points = numberIn('points', 5)
    return points >= 2 ? { type, points } : { problem: ': its points are not 2 or more' }
  }
  if (type === 'numeric') {
    const [min, max] = [numberIn('min', 0), numberIn('max', 1)]
    return min < max ? { type, min, max } : { problem: ': its min is not below its max' }
  }
  const levels = fieldOf(item, 'levels')
  if (type === 'rubric')
    return isChoices(levels)
      ? { type, levels: levels.length }
      : { problem: `: its levels are not 2 to ${rubricLimits.levels} different texts` }
  return { problem: ': its type is none of binary, likert, numeric, rubric' }
}

const isNamed: ReadonlySet<PublishedJudge> = new Set(['verifiers', 'rewardkit'])

type Criteria = readonly PublishedCriterion[] | RubricProblem
type RubricRow = Pick<Sample, 'groundTruth' | 'extraInfo'>

/** Read once for each sample, since each reply asks for them. */
const criteriaBy = Object.fromEntries(
  publishedJudges.map((judge) => [
    judge,
    memoizeByObject((sample: RubricRow) => readCriteria(sample, judge)),
  ]),
) as Readonly<Record<PublishedJudge, (sample: RubricRow) => Criteria>>

/** The criteria of a row as this judge's code reads them, at least one; or why it has none that the code adds up. */
export function publishedCriteria(sample: RubricRow, judge: PublishedJudge, sum: PublishedSum): Criteria {
  const criteria = criteriaBy[judge](sample)
  if ('problem' in criteria) return criteria
  const none = criteria.map(() => 0)
  return publishedScore(criteria, none, judge, sum) === null
    ? { problem: `the rubric: code: ${judge} gives no score for these weights` }
    : criteria
}

function readCriteria(sample: RubricRow, judge: PublishedJudge): Criteria {
  const found = rubricItems(sample)
  if ('problem' in found) return found
  const { place, items } = found
  const criteria: PublishedCriterion[] = []
  let characters = 0
  for (const [at, item] of items.entries()) {
    const read = isFields(item) ? readItem[judge](item, at) : { problem: ': is no object' }
    if (read === null) continue
    if ('problem' in read) return { problem: `${place}[${at}]${read.problem}; code: ${judge} needs it` }
    characters += read.text.length + read.choices.reduce((all, { length }) => all + length, 0)
    criteria.push(read)
  }
  if (characters > rubricLimits.characters)
    return {
      problem: `${place}: its criteria have more than ${rubricLimits.characters} characters; shorten them`,
    }
  if (criteria.length === 0) return { problem: `${place}: no criterion has a text` }
  if (isNamed.has(judge) && new Set(criteria.map(({ name }) => name)).size < criteria.length)
    return {
      problem: `${place}: two criteria have the same name, by which code: ${judge} tells them apart`,
    }
  return criteria
}

/** The row's score from those of its criteria; null: the published code throws. */
export function publishedScore(
  criteria: readonly PublishedCriterion[],
  scores: readonly number[],
  judge: PublishedJudge,
  { aggregation, threshold }: PublishedSum,
): number | null {
  const items = criteria.map(({ weight, optional }, at) => ({
    weight,
    optional,
    score: scores[at] ?? Number.NaN,
  }))
  switch (judge) {
    case 'healthbench':
      return healthBenchScore(items)
    case 'open_instruct':
      return openInstructShare(items)
    case 'rewardkit':
      return rewardkitScore(items, aggregation, threshold)
    default:
      return rarShare(items)
  }
}

/** The lowest and the highest score that the sum may give. */
export function publishedRange(
  judge: PublishedJudge,
  { aggregation }: PublishedSum,
): readonly [number, number] {
  const { NEGATIVE_INFINITY: low, POSITIVE_INFINITY: high } = Number
  // HealthBench clips only the mean of a run, Open-Instruct nothing.
  if (judge === 'healthbench') return [low, 1]
  return judge === 'open_instruct' || (judge === 'rewardkit' && aggregation === 'weighted-sum')
    ? [low, high]
    : [0, 1]
}

/** The scores of the criteria in a reply to a question about them; null: not readable. */
export function publishedReply(
  text: string,
  asked: readonly PublishedCriterion[],
  judge: PublishedJudge,
): readonly number[] | null {
  switch (judge) {
    case 'healthbench': {
      const met = criteriaMet(text)
      return met === null ? null : [Number(met)]
    }
    case 'rar': {
      const said = labelVerdict(text.toLowerCase(), ['no', 'yes'])
      return said === null ? null : [Number(said === 'yes')]
    }
    case 'verifiers': {
      const scores = verifiersVerdicts(text, asked)
      return scores && asked.map(({ name }) => scores.get(name) ?? Number.NaN)
    }
    case 'rewardkit':
      return rewardkitValues(text, asked)
    case 'open_instruct':
      return [openInstructScore(text)]
  }
}

const fence = '```'
const jsonFence = new RegExp(`^\`\`\`json[${whiteSpace}]*`)

/** The truth value of `criteria_met` in the JSON object of which a reply to HealthBench consists, fenced or not; null: none. */
function criteriaMet(text: string): boolean | null {
  const body = trimSpace(text).replace(jsonFence, '')
  const value = readJson(body.endsWith(fence) ? body.slice(0, -fence.length) : body, 64)?.value
  const met = value !== undefined && isObject(value) ? value.get('criteria_met') : undefined
  return typeof met === 'boolean' ? met : null
}
