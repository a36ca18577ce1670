/** How a judge is asked about criteria, behind the task and the answer: a template, the row's texts in it, and the form of the reply. */

import type { Json } from '../../core/sample/sample.ts'
import { batchSchema, grades, reasonSchema, repliesTo } from './replies.ts'
import type { Criterion } from './rubric-row.ts'

interface RubricQuestion {
  readonly template: string
  /** Texts of the row by placeholder. */
  readonly values: Readonly<Record<string, string>>
  readonly reply:
    | { readonly choice: readonly string[] }
    | { readonly schema: { readonly [key: string]: Json } }
}

/** The question about some criteria: about the first, for one verdict on each, or for one grade of all. */
export function rubricQuestion(
  criteria: readonly Criterion[],
  ask: 'each' | 'batch' | 'all' | 'overall',
  withReasons: boolean,
): RubricQuestion {
  const [only] = criteria
  if (ask === 'overall') return overall(criteria)
  return ask === 'each' && only ? single(only, withReasons) : several(criteria, withReasons)
}

const scaleWords = (criterion: Criterion): string => {
  const replies = repliesTo(criterion)
  const [worst, best] = [replies[0], replies.at(-1)]
  if (criterion.levels) return `the number of the level that fits best, ${worst} to ${best}`
  return criterion.scale ? `a whole number from ${worst} (not at all) to ${best} (fully)` : 'yes or no'
}

/** A criterion with its levels, as values of a template whose placeholders end with `key`. */
function shown(
  criterion: Criterion,
  key: number,
): { readonly text: string; readonly values: Readonly<Record<string, string>> } {
  const values: Record<string, string> = { [`text_${key}`]: criterion.text }
  const levels = (criterion.levels ?? []).map((level, at) => {
    values[`level_${key}_${at}`] = level
    return `\nLevel ${at}:\n{level_${key}_${at}}`
  })
  return { text: `{text_${key}}${levels.join('')}`, values }
}

/** A block for each criterion, with its own words before it. */
function blocks(
  criteria: readonly Criterion[],
  heading: (criterion: Criterion, number: number) => string,
): { readonly text: string; readonly values: Readonly<Record<string, string>> } {
  const all: Record<string, string> = {}
  const texts = criteria.map((criterion, at) => {
    const { text, values } = shown(criterion, at + 1)
    Object.assign(all, values)
    return `${heading(criterion, at + 1)}:\n${text}\n\n`
  })
  return { text: texts.join(''), values: all }
}

function single(only: Criterion, withReasons: boolean): RubricQuestion {
  const { text, values } = shown(only, 1)
  const form = withReasons
    ? `Reply with one JSON object {"reason": one sentence, "verdict": ${scaleWords(only)}, as a text}.`
    : `Reply with ${scaleWords(only)} only.`
  return {
    template: `Criterion:\n${text}\n\nDoes the answer meet the criterion? If it is a question: what is its answer?\n${form}`,
    values,
    reply: withReasons ? { schema: reasonSchema(only) } : { choice: repliesTo(only) },
  }
}

function several(criteria: readonly Criterion[], withReasons: boolean): RubricQuestion {
  const { text, values } = blocks(
    criteria,
    (criterion, number) => `Criterion c${number} (${scaleWords(criterion)})`,
  )
  const form = withReasons
    ? 'an object {"reason": one sentence, "verdict": the verdict as a text}'
    : 'the verdict as a text'
  return {
    template: `${text}Judge each criterion by itself: does the answer meet it, or if it is a question, what is its answer? Reply with one JSON object with exactly the keys c1 to c${criteria.length}, and for each of them ${form}.`,
    values,
    reply: { schema: batchSchema(criteria, withReasons) },
  }
}

function overall(criteria: readonly Criterion[]): RubricQuestion {
  const { text, values } = blocks(criteria, (criterion, number) => {
    const { weight, expect, levels, scale } = criterion
    const how = levels ? ', met by levels from worst to best' : scale ? `, ${scaleWords(criterion)}` : ''
    return `Criterion ${number} (weight ${weight}${expect ? '' : ', good if not met'}${how})`
  })
  return {
    template: `${text}How well does the answer do on all criteria together? A heavier one counts for more, one with a negative weight names a fault. Reply with a whole number from 0 (worst) to 10 (best) only.`,
    values,
    reply: { choice: grades },
  }
}
