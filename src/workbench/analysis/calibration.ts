import {
  type Confusion,
  type ConfusionFigures,
  confusionAt,
  confusionFigures,
} from '../../core/statistics/accuracy.ts'

/** A judge's scores against people's labels at one threshold. */
export interface Calibrated extends ConfusionFigures {
  readonly threshold: number
  readonly confusion: Confusion
}

/** How scores agree with labels, at the threshold that was asked for and at others. */
export interface Calibration {
  readonly rows: number
  /** Rows with a label and without a score. */
  readonly unscored: number
  readonly at: Calibrated
  /** By rising threshold, one for each score that occurs, 50 at most. */
  readonly sweep: readonly Calibrated[]
  /** The threshold of the sweep with the highest kappa; the lowest such one. */
  readonly best: Calibrated
}

const mostThresholds = 50

/** `score` null: the judge gave none. Throws RangeError where no row has a score. */
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
