/** Counts of yes/no judgements against labels. */
export interface Confusion {
  readonly truePositive: number
  readonly falsePositive: number
  readonly trueNegative: number
  readonly falseNegative: number
}

/** Each is 0 to 1, except kappa, which is -1 to 1. */
export interface ConfusionFigures {
  readonly accuracy: number
  readonly precision: number
  readonly recall: number
  readonly f1: number
  /** Cohen's kappa: agreement beyond chance. 0 if chance explains all agreement. */
  readonly kappa: number
}

/** A score of at least `threshold` counts as yes. */
export function confusionAt(
  pairs: readonly { readonly score: number; readonly label: boolean }[],
  threshold: number,
): Confusion {
  const count = (yes: boolean, label: boolean) =>
    pairs.filter((pair) => pair.score >= threshold === yes && pair.label === label).length
  return {
    truePositive: count(true, true),
    falsePositive: count(true, false),
    trueNegative: count(false, false),
    falseNegative: count(false, true),
  }
}

/** A share of nothing is 0. */
export function confusionFigures(confusion: Confusion): ConfusionFigures {
  const { truePositive: tp, falsePositive: fp, trueNegative: tn, falseNegative: fn } = confusion
  const n = tp + fp + tn + fn
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0)
  const accuracy = share(tp + tn, n)
  const chance = share((tp + fp) * (tp + fn) + (tn + fn) * (tn + fp), n * n)
  return {
    accuracy,
    precision: share(tp, tp + fp),
    recall: share(tp, tp + fn),
    f1: share(2 * tp, 2 * tp + fp + fn),
    kappa: chance < 1 ? (accuracy - chance) / (1 - chance) : 0,
  }
}

/**
 * Unbiased pass@k of one problem (Chen et al. 2021): 1 - C(n-c, k) / C(n, k) for n answers, c of them right;
 * 1 if n-c < k.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1
  let miss = 1
  for (let drawn = 0; drawn < k; drawn++) miss *= (n - c - drawn) / (n - drawn)
  return 1 - miss
}

export const passesAmongFirst = (isRight: readonly boolean[], k: number): boolean =>
  isRight.slice(0, k).includes(true)

/**
 * The index of the first answer with the most frequent text among the first k. Ties go to the text that
 * appeared first. -1 if there are no answers.
 */
export function majorityAnswer(answers: readonly string[], k: number): number {
  const counts = new Map<string, number>()
  for (const answer of answers.slice(0, k)) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  let [best, most] = ['', 0]
  for (const [answer, count] of counts) if (count > most) [best, most] = [answer, count]
  return answers.indexOf(best)
}
