/** What a row's rubric is made of. */

import { hash } from 'node:crypto'
import type { Json } from '../../core/sample/sample.ts'
import type { RarCategory } from './sums.ts'

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

/** An object of a row. */
export type Fields = Readonly<Record<string, Json>>

export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An own field that is neither absent nor null: columns of a table are null where a row has none. */
export const fieldOf = (fields: Fields, name: string): Json | undefined =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined

/** What others may know of a criterion. Its text and its name are the row's words, which reach neither failures nor metrics. */
interface Tagged {
  readonly tags?: readonly string[]
}

/** The first of the config's tags that a criterion has. */
const tagOf = ({ tags = [] }: Tagged, known: readonly string[]): string | undefined =>
  known.find((one) => tags.includes(one))

/** How a failure names a criterion: by its place from 1, and by its tag. */
export function criterionLabel(criterion: Tagged, at: number, known: readonly string[]): string {
  const tag = tagOf(criterion, known)
  return `criterion ${at + 1}${tag === undefined ? '' : ` (${tag})`}`
}

/** Some two of 10,000 texts share so many hexadecimal digits with a probability of 2e-7. */
const keyDigits = 12

/** How metrics name a criterion, the same in all rows that have it: by its tag, else by the beginning of its text's SHA-256. */
export const criterionKey = (
  criterion: Tagged & { readonly text: string },
  known: readonly string[],
): string => tagOf(criterion, known) ?? `sha256:${hash('sha256', criterion.text).slice(0, keyDigits)}`
