import { publishedBestValue, strictBestValue } from './best-value.ts'
import { type Finding, publishedValue } from './finding.ts'
import type { GraphTask } from './tasks.ts'

/** How an answer pays: right or not, a share of the best value, or a share with a penalty. */
export type Payment = 'binary' | 'ratio' | 'complicated'

/** What an answer earns. */
export interface AnswerReward {
  readonly value: number
  readonly isRight: boolean
  /** `better_than_exact`: the label is suspect; `bad_problem`: the row cannot be graded. */
  readonly flags: readonly string[]
  /** What is wrong with the label. */
  readonly reason?: string
}

const full: Readonly<Record<Payment, number>> = { binary: 1, ratio: 1, complicated: 2 }

/** Pays a solution for how near it comes to the best value, `label`; an unusable row pays 0, no solution at most 0. */
export function strictReward(
  finding: Finding,
  label: unknown,
  { better, squared }: Pick<GraphTask, 'better' | 'squared'>,
  payment: Payment,
): AnswerReward {
  const exact = strictBestValue(label)
  const wrong = { isRight: false, flags: [] }
  const bad = { value: 0, isRight: false, flags: ['bad_problem'] }
  if (exact === undefined) return { ...bad, reason: 'exact_answer is no number from 0 on' }
  if (finding.status === 'bad_problem') return bad
  if (finding.status !== 'solution') return { value: payment === 'complicated' ? -1 : 0, ...wrong }
  const { value } = finding
  const isBetter = better === 'smaller' ? value < exact : value > exact
  if (isBetter || value === exact) {
    return { value: full[payment], isRight: true, flags: isBetter ? ['better_than_exact'] : [] }
  }
  return { value: share(better === 'smaller' ? exact / value : value / exact, payment, squared), ...wrong }
}

/** NPG-Muse's payment: the raw value without a label, statuses compared with it, ratios beyond 1. */
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
