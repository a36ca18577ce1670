import { type Drift, DriftDetector } from '../../../core/statistics/drift.ts'
import { correlationOf, pearson, spreadOf } from '../../../core/statistics/summary.ts'
import { type Mean, meanOf, type PlanScaling, type StepStats } from './step-stats.ts'

/** A warning about a run. */
export interface Alarm {
  readonly figure: 'drift' | 'reward_without_accuracy'
  /** The step of the rm-config whose mean left its past range; null for the reward itself. */
  readonly step: string | null
  readonly direction: Drift
  readonly training_step: number
}

/** Trends of reward and accuracy over the last training steps. */
export interface Trends {
  readonly steps: number
  /** Pearson's r with the training step; null if there are too few steps or the values are constant. */
  readonly reward: number | null
  readonly accuracy: number | null
  /** Pearson's r of reward and accuracy, over means of five training steps. */
  readonly together: number | null
  /** The reward rises and the rule's accuracy does not. */
  readonly isSuspect: boolean
}

const window = 50
const least = 30
const block = 5
const rising = 0.5
const flat = 0.2

/** Detects drift, and rewards that rise without accuracy, from one closed training step after the other. */
export class TrendDetector {
  readonly #detectors = new Map<string | null, DriftDetector>()
  readonly #rewards: number[] = []
  readonly #accuracies: (number | null)[] = []
  #trends: Trends = { steps: 0, reward: null, accuracy: null, together: null, isSuspect: false }

  get trends(): Trends {
    return this.#trends
  }

  /** Adds a closed training step. Returns the alarms it raises. */
  push(step: number, stats: StepStats, scaling: PlanScaling): readonly Alarm[] {
    const alarms: Alarm[] = []
    const drift = (name: string | null, { n, sum }: Mean, width: number) => {
      if (n === 0) return
      let detector = this.#detectors.get(name)
      if (!detector) {
        detector = new DriftDetector()
        this.#detectors.set(name, detector)
      }
      // The mean of a step with few rows moves by at least half a row's share.
      const direction = detector.push(sum / n, Math.max(0.005, 0.5 / n) * width)
      if (direction) alarms.push({ figure: 'drift', step: name, direction, training_step: step })
    }
    drift(null, stats.reward, 1)
    for (const [name, mean] of stats.terms) drift(name, mean, scaling.widths.get(name) ?? 1)
    const wasSuspect = this.#trends.isSuspect
    this.#follow(stats, scaling)
    if (this.#trends.isSuspect && !wasSuspect)
      alarms.push({ figure: 'reward_without_accuracy', step: null, direction: 'up', training_step: step })
    return alarms
  }

  #follow(stats: StepStats, { rule, ruleName }: PlanScaling): void {
    const reward = meanOf(stats.reward)
    const own = ruleName === null ? undefined : stats.terms.get(ruleName)
    const score = own ? meanOf(own) : null
    if (reward === null) return
    this.#rewards.push(reward)
    this.#accuracies.push(score === null ? null : (rule?.share(score) ?? null))
    if (this.#rewards.length > window) {
      this.#rewards.shift()
      this.#accuracies.shift()
    }
    this.#trends = trendsOf(this.#rewards, this.#accuracies)
  }
}

function trendsOf(rewards: readonly number[], given: readonly (number | null)[]): Trends {
  const steps = rewards.length
  const accuracies = given.filter((value) => value !== null)
  const isWhole = accuracies.length === steps && steps >= least
  const order = rewards.map((_value, at) => at)
  const reward = steps < least ? null : pearson(order, rewards)
  const accuracy = isWhole ? pearson(order, accuracies) : null
  const spread = spreadOf(blocks(rewards), blocks(accuracies))
  return {
    steps,
    reward,
    accuracy,
    together: isWhole ? correlationOf(spread) : null,
    isSuspect: isWhole && (reward ?? 0) > rising && (accuracy ?? 0) < flat,
  }
}

/** Means of five steps each; leftover steps at the beginning are skipped. */
function blocks(values: readonly number[]): number[] {
  const means: number[] = []
  for (let at = values.length % block; at < values.length; at += block) {
    means.push(values.slice(at, at + block).reduce((sum, value) => sum + value, 0) / block)
  }
  return means
}
