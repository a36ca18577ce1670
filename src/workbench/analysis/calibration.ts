import {
  type Confusion,
  type ConfusionFigures,
  confusionAt,
  confusionFigures,
} from '../../core/statistics/accuracy.ts'

/** The agreement of a judge's scores with human labels at one threshold. */
export interface Calibrated extends ConfusionFigures {
  readonly threshold: number
  readonly confusion: Confusion
}

/** The agreement at the requested threshold and at others. */
export interface Calibration {
  readonly rows: number
  /** Rows with a label but without a score. */
  readonly unscored: number
  readonly at: Calibrated
  /** By rising threshold: one for each distinct score, at most 50. */
  readonly sweep: readonly Calibrated[]
  /** The threshold with the highest kappa, and the lowest one if several are equal. */
  readonly best: Calibrated
}

const mostThresholds = 50

/** A null `score` means that the judge gave none. Throws RangeError if no row has a score. */
export function calibrate(
  rows: readonly { readonly score: number | null; readonly label: boolean }[],
  threshold: number,
): Calibration {
  const pairs = rows.flatMap(({ score, label }) => (score === null ? [] : [{ score, label }]))
  if (pairs.length === 0) throw new RangeError('no labelled row has a score')
  const at = (one: number): Calibrated => {
    const confusion = confusionAt(pairs, one)
    return { threshold: one, confusion, ...confusionFigures(confusion) }
  }
  const scores = [...new Set(pairs.map(({ score }) => score))].sort((a, b) => a - b)
  const step = Math.max(1, scores.length / mostThresholds)
  const chosen = Array.from(
    { length: Math.min(scores.length, mostThresholds) },
    (_, i) => scores[Math.floor(i * step)] ?? 0,
  )
  const sweep = chosen.map(at)
  const best = sweep.reduce((found, one) => (one.kappa > found.kappa ? one : found))
  return { rows: rows.length, unscored: rows.length - pairs.length, at: at(threshold), sweep, best }
}
