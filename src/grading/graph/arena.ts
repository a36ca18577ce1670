import { trimSpace } from '../characters.ts'
import { readFloat } from '../python.ts'
import { type Finding, publishedValue } from './finding.ts'
import type { GraphTask } from './tasks.ts'

/** The best value as the published code reads a label: an integer of either sign, or undefined. */
function publishedBestValue(label: unknown): number | undefined {
  if (label === undefined || label === null) return undefined
  if (typeof label === 'string' && trimSpace(label) === '') return undefined
  const value = typeof label === 'string' ? floatOf(label) : numberOf(label)
  if (value === null || !Number.isFinite(value))
    throw new Error('extra_info.exact_answer is not a finite number')
  return Math.trunc(value)
}

/**
 * The best value of a problem: a number from 0 on, or the same as plain decimal text. undefined for other
 * labels.
 */
function strictBestValue(label: unknown): number | undefined {
  const isText = typeof label === 'string' && /^\d+(?:\.\d+)?$/.test(label.trim())
  const value = isText ? Number(label) : label
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** Python's `strip` removes these separators, but `float()` does not and rejects the text. */
const separators = ['\x1c', '\x1d', '\x1e', '\x1f']

function floatOf(text: string): number | null {
  return separators.some((separator) => text.includes(separator)) ? null : readFloat(text)
}

function numberOf(label: unknown): number | null {
  return typeof label === 'number' || typeof label === 'boolean' ? Number(label) : null
}

/** How an answer pays: right or wrong, a share of the best value, or a share with a penalty. */
export type Payment = 'binary' | 'ratio' | 'complicated'

interface AnswerReward {
  readonly value: number
  readonly isRight: boolean
  /** `better_than_exact`: the label is suspect. `bad_problem`: the row cannot be graded. */
  readonly flags: readonly string[]
  /** The problem with the label. */
  readonly reason?: string
}

const full: Readonly<Record<Payment, number>> = { binary: 1, ratio: 1, complicated: 2 }

/**
 * Pays a solution by its closeness to the best value `label`. An unusable row pays 0, and a wrong answer at
 * most 0.
 */
export function strictReward(
  finding: Finding,
  label: unknown,
  { better, squared }: Pick<GraphTask, 'better' | 'squared'>,
  payment: Payment,
): AnswerReward {
  const exact = strictBestValue(label)
  const wrong = { isRight: false, flags: [] }
  const bad = { value: 0, isRight: false, flags: ['bad_problem'] }
  if (exact === undefined) return { ...bad, reason: 'exact_answer is not a number of at least 0' }
  if (finding.status === 'bad_problem') return bad
  if (finding.status !== 'solution') return { value: payment === 'complicated' ? -1 : 0, ...wrong }
  const { value } = finding
  const isBetter = better === 'smaller' ? value < exact : value > exact
  if (isBetter || value === exact) {
    return { value: full[payment], isRight: true, flags: isBetter ? ['better_than_exact'] : [] }
  }
  return { value: share(better === 'smaller' ? exact / value : value / exact, payment, squared), ...wrong }
}

/**
 * NPG-Muse's payment: the raw value if there is no label, comparison with status codes, and ratios beyond 1.
 */
export function publishedReward(
  finding: Finding,
  label: unknown,
  { better, squared }: Pick<GraphTask, 'better' | 'squared'>,
  payment: Payment,
): AnswerReward {
  const result = publishedValue(finding)
  if (result === null) return { value: 0, isRight: false, flags: [] }
  const exact = publishedBestValue(label)
  const value = exact === undefined ? result : paid(result, exact)
  return { value, isRight: value === full[payment], flags: [] }

  function paid(value: number, exact: number): number {
    if (value === exact) return full[payment]
    if (payment === 'binary') return 0
    if (value <= 0) return payment === 'complicated' ? -1 : 0
    if (better === 'larger' && exact === 0) throw new Error('extra_info.exact_answer is 0: no ratio to it')
    return share(better === 'smaller' ? exact / value : value / exact, payment, squared)
  }
}

function share(ratio: number, payment: Payment, squared = false): number {
  if (payment === 'binary') return 0
  return 0.5 * (squared && payment === 'complicated' ? ratio ** 2 : ratio)
}

/** Names of the parts. `value` is -1 without an answer and -2 for a wrong one. */
export const arenaParts: readonly string[] = ['value', 'accurate', 'feasible', 'hallucination']

/** How an evaluation counts one answer. */
interface ArenaMarks {
  readonly isAccurate: boolean
  readonly parts: Readonly<Record<string, number>>
  readonly flags: readonly string[]
}

/**
 * Counts an answer as GraphArena's report does. On tasks with approximate labels, a better answer also counts
 * as right.
 */
export function arenaMarks(task: GraphTask, finding: Finding, label: unknown): ArenaMarks {
  const value = publishedValue(finding)
  if (value === null) throw new Error(`the problem cannot be graded: ${reasonOf(finding)}`)
  const isAccurate = typeof label === 'number' && value >= 0 && isRight(task, value, label)
  return { isAccurate, parts: partsOf(value, isAccurate), flags: [] }
}

/**
 * Like `arenaMarks`, but checks the label: an equal or better solution is right, and a better one is flagged.
 */
export function strictArenaMarks(task: GraphTask, finding: Finding, label: unknown): ArenaMarks {
  const { isRight: isAccurate, flags } = strictReward(finding, label, task, 'binary')
  return { isAccurate, parts: partsOf(publishedValue(finding), isAccurate), flags }
}

function partsOf(value: number | null, isAccurate: boolean): Record<string, number> {
  return {
    ...(value === null ? {} : { value }),
    accurate: Number(isAccurate),
    feasible: Number(value !== null && value > 0),
    hallucination: Number(value === -2),
  }
}

function isRight({ better, approximate }: GraphTask, value: number, exact: number): boolean {
  if (!approximate) return value === exact
  return better === 'smaller' ? value <= exact : value >= exact
}

const reasonOf = (finding: Finding): string => ('reason' in finding ? finding.reason : finding.status)
