/** The score of a row from what was found of its criteria. */

import type { Score } from '../../core/sample/sample.ts'
import type { Criterion } from './rubric-row.ts'
import { rarWeights, type Weighed, weightedShare } from './sums.ts'

/** What became of one criterion. `score`: 0 to 1, how far it is met, whichever reply says so. */
export type CriterionFound =
  | {
      readonly status: 'scored'
      readonly score: number
      readonly draws: number
      readonly reason?: string | undefined
      readonly panel?: Readonly<Record<string, number>> | undefined
      /** Whether a second judge decided it. */
      readonly escalated?: boolean
    }
  | { readonly status: 'missing' | 'unasked' }

/** How criteria become a score. */
export interface RubricSum {
  readonly sum: 'weighted' | 'healthbench' | 'rar' | 'must_all'
  readonly normalise: 'positive' | 'absolute'
  readonly clip: boolean
  /** Where scores that are not clipped end. */
  readonly lowest: number
  readonly mustScore: number
  readonly missing: 'invalid' | 'renormalise'
  /** The share of the positive weight that must be answered to leave the rest out. */
  readonly minShare: number
  /** Tags whose share is reported as a part. */
  readonly tags: readonly string[]
}

/** How good it is that a criterion is met so far: a fault that is met is bad. */
const goodness = ({ weight }: Criterion, score: number): number => (weight < 0 ? 1 - score : score)

const isMet = (criterion: Criterion, score: number): boolean => {
  const good = goodness(criterion, score)
  return typeof criterion.must === 'number' ? good >= criterion.must : good > 0.5
}

/**
 * The score; null: a verdict is missing that the score needs; undefined: the criteria that were not asked are needed. No
 * missing verdict counts as a number.
 */
export function rubricScore(
  criteria: readonly Criterion[],
  found: readonly CriterionFound[],
  settings: RubricSum,
): Score | null | undefined {
  const isMust = ({ must }: Criterion): boolean => must !== false || settings.sum === 'must_all'
  const failed = criteria.some((criterion, at) => {
    const one = found[at]
    return isMust(criterion) && one?.status === 'scored' && !isMet(criterion, one.score)
  })
  if (failed) {
    const value = settings.sum === 'must_all' ? 0 : settings.mustScore
    return { value, details: detailsOf(criteria, found), flags: ['must_failed'] }
  }
  const lacks = (status: CriterionFound['status'], such: (criterion: Criterion) => boolean): boolean =>
    criteria.some((criterion, at) => (found[at]?.status ?? 'missing') === status && such(criterion))
  // Without a must or a fault, others do not tell what the row would have got.
  if (lacks('missing', (one) => isMust(one) || one.weight < 0)) return null
  const isMissing = lacks('missing', () => true)
  if (isMissing && settings.missing === 'invalid') return null
  if (lacks('unasked', () => true)) return undefined
  if (isMissing && answeredShare(criteria, found) < settings.minShare) return null
  const value = settings.sum === 'must_all' ? 1 : summed(criteria, found, settings)
  if (value === null) return null
  const parts = partsOf(criteria, found, settings)
  return {
    value,
    ...(parts && { parts }),
    details: detailsOf(criteria, found),
    ...(isMissing && { flags: ['renormalised'] }),
  }
}

function answeredShare(criteria: readonly Criterion[], found: readonly CriterionFound[]): number {
  let [all, answered] = [0, 0]
  for (const [at, { weight }] of criteria.entries()) {
    all += Math.max(weight, 0)
    if (found[at]?.status === 'scored') answered += Math.max(weight, 0)
  }
  return all === 0 ? 0 : answered / all
}

function weighed(
  criteria: readonly Criterion[],
  found: readonly CriterionFound[],
  { sum }: Pick<RubricSum, 'sum'>,
  such: (criterion: Criterion) => boolean = () => true,
): readonly Weighed[] {
  const isClassed = sum === 'rar' && criteria.every(({ category }) => category !== null)
  return criteria.flatMap((criterion, at): readonly Weighed[] => {
    const one = found[at]
    if (one?.status !== 'scored' || !such(criterion)) return []
    const { category, weight } = criterion
    const own = isClassed && category ? Math.sign(weight) * rarWeights[category] : weight
    return [{ weight: own, score: one.score }]
  })
}

function summed(
  criteria: readonly Criterion[],
  found: readonly CriterionFound[],
  settings: RubricSum,
): number | null {
  const share = weightedShare(weighed(criteria, found, settings), settings.normalise)
  // All weights are 0: only the musts count, and they hold.
  if (share === null) return criteria.some(({ must }) => must !== false) ? 1 : null
  return Math.min(1, Math.max(settings.clip ? 0 : settings.lowest, share))
}

function partsOf(
  criteria: readonly Criterion[],
  found: readonly CriterionFound[],
  settings: RubricSum,
): Readonly<Record<string, number>> | null {
  const parts = settings.tags.flatMap((tag): readonly (readonly [string, number])[] => {
    const items = weighed(criteria, found, settings, ({ tags }) => tags.includes(tag))
    const share = weightedShare(items, settings.normalise)
    return share === null ? [] : [[tag, Math.min(1, Math.max(settings.clip ? 0 : settings.lowest, share))]]
  })
  return parts.length === 0 ? null : Object.fromEntries(parts)
}

/** Characters of all reasons together, and of one. */
const reasonBudget = 24_000
const longestReason = 400

function detailsOf(
  criteria: readonly Criterion[],
  found: readonly CriterionFound[],
): NonNullable<Score['details']> {
  const most = Math.min(longestReason, Math.floor(reasonBudget / criteria.length))
  return {
    criteria: criteria.map(({ name, weight }, at) => {
      const one = found[at] ?? { status: 'missing' }
      if (one.status !== 'scored') return { name, weight, s: null, why: one.status }
      const { score, draws, reason, panel, escalated = false } = one
      return {
        name,
        weight,
        s: score,
        draws,
        ...(reason !== undefined && { reason: reason.slice(0, most) }),
        ...(panel && { panel }),
        ...(escalated && { escalated }),
      }
    }),
  }
}
