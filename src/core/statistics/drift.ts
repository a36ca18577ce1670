/** Settings of the detector, in steps or in standard deviations of a step. */
const baseline = 50
const gap = 10
const least = 25
const allowance = 1
const limit = 12
const mostAStep = 5
const mostResemblance = 0.7

/** The direction in which the mean moved. */
export type Drift = 'up' | 'down'

/**
 * Detects when a series of step means departs from its own history. Runs a two-sided CUSUM (Page 1954) of the
 * distance of each mean from the value expected from older steps, in standard deviations. One outlier does
 * not raise an alarm. The history restarts after an alarm.
 */
export class DriftDetector {
  #history: number[] = []
  #up = 0
  #down = 0

  /**
   * Adds a step's mean and returns the alarm that it raises. `floor` is the smallest standard deviation to
   * assume.
   */
  push(value: number, floor: number): Drift | null {
    const distance = this.#distance(value, floor)
    this.#history.push(value)
    if (this.#history.length > baseline + gap) this.#history.shift()
    if (distance === null) return null
    const bounded = Math.max(-mostAStep, Math.min(mostAStep, distance))
    this.#up = Math.max(0, this.#up + bounded - allowance)
    this.#down = Math.max(0, this.#down - bounded - allowance)
    const alarm = this.#up > limit ? 'up' : this.#down > limit ? 'down' : null
    if (alarm) this.reset()
    return alarm
  }

  reset(): void {
    this.#history = []
    this.#up = 0
    this.#down = 0
  }

  /**
   * The distance from the expected range, in standard deviations. Anything between the last level and the
   * continued trend is expected, because learning slows down. null: too few steps.
   */
  #distance(value: number, floor: number): number | null {
    const n = this.#history.length - gap
    if (n < least) return null
    const { line, level, deviation } = expectation(this.#history.slice(0, n), this.#history.length)
    const [low, high] = line < level ? [line, level] : [level, line]
    const outside = value < low ? value - low : value > high ? value - high : 0
    return outside / Math.max(deviation, floor)
  }
}

/**
 * The least-squares line extended to `at`, the mean of the last ten values, and the standard deviation of a
 * step around them.
 */
function expectation(values: readonly number[], at: number) {
  const n = values.length
  const center = (n - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  const spread = (n * (n * n - 1)) / 12
  const slope = values.reduce((sum, value, index) => sum + (index - center) * value, 0) / spread
  const rest = values.map((value, index) => value - mean - slope * (index - center))
  let [squares, products] = [0, 0]
  for (const [index, value] of rest.entries()) {
    squares += value * value
    products += value * (rest[index - 1] ?? 0)
  }
  // Correlated steps stay away longer, so the variance of their sum grows by this factor.
  const resemblance = squares === 0 ? 0 : Math.min(Math.max(products / squares + 1 / n, 0), mostResemblance)
  const inflated = Math.sqrt((1 + resemblance) / (1 - resemblance))
  return {
    line: mean + slope * (at - center),
    level: values.slice(-10).reduce((sum, value) => sum + value, 0) / Math.min(10, n),
    deviation: Math.sqrt((squares / (n - 2)) * (1 + 1 / n)) * inflated,
  }
}
