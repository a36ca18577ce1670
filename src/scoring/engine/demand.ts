import type { Outcome } from '../../core/sample/sample.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'

type Steps = Plan['steps']

/** The share of the newest row in what a row is expected to ask. */
const newest = 0.05

/** The questions of one model that rows in work will have asked. */
interface Counter {
  expected: number
}

/** What rows of a plan's steps ask of one model. */
interface Share {
  readonly model: string
  readonly counter: Counter
  /** The steps that ask it, by their place. */
  readonly places: readonly number[]
  /** Questions a row, as rows asked of late. */
  perRow: number
}

/**
 * The questions that the rows in work will have asked when they are done, by model. A row is let in long before its
 * questions are asked: rules come first, gates close, one judge reads what another said.
 */
export class Demand {
  readonly #counters = new Map<string, Counter>()
  readonly #shares = new WeakMap<Steps, readonly Share[]>()

  /** Questions of rows in work, asked or not. */
  of(model: string): number {
    return Math.max(0, this.#counters.get(model)?.expected ?? 0)
  }

  /** Questions that a row of these steps asks of a model, on average. */
  perRow(steps: Steps, model: string): number {
    return this.#sharesOf(steps).find((share) => share.model === model)?.perRow ?? 0
  }

  /** Counts rows as in work; the returned function takes one back, and learns from what it came to. null: they ask nothing. */
  admit(steps: Steps, rows: number): ((outcome: Outcome) => void) | null {
    const shares = this.#sharesOf(steps)
    if (shares.length === 0) return null
    const counted = shares.map(({ perRow }) => perRow)
    for (const [index, { counter }] of shares.entries()) counter.expected += (counted[index] ?? 0) * rows
    return ({ terms }) => {
      for (let index = 0; index < shares.length; index += 1) {
        const share = shares[index] as Share
        share.counter.expected -= counted[index] ?? 0
        let asked = 0
        for (const place of share.places) asked += askedBy(steps[place] as PlanStep, terms[place])
        share.perRow += newest * (asked - share.perRow)
      }
    }
  }

  #sharesOf(steps: Steps): readonly Share[] {
    const known = this.#shares.get(steps)
    if (known) return known
    const models = new Set(steps.flatMap((step) => step.models))
    const made = [...models].map((model): Share => {
      const counter = this.#counters.get(model) ?? { expected: 0 }
      this.#counters.set(model, counter)
      const places = steps.flatMap((step, place) => (step.models.includes(model) ? [place] : []))
      const perRow = places.reduce((sum, place) => sum + (steps[place]?.votes.n ?? 0), 0)
      return { model, counter, places, perRow }
    })
    this.#shares.set(steps, made)
    return made
  }
}

/** The questions that a term cost each of its step's models. */
function askedBy({ models, votes }: PlanStep, term: Outcome['terms'][number] | undefined): number {
  if (!term || term.status === 'off') return 0
  if (term.status !== 'scored') return votes.n
  const { flags } = term.score
  return flags?.includes('no_call') || flags?.includes('refused') ? 0 : term.draws / models.length
}
