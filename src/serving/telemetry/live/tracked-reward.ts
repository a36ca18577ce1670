import type { FailureKind, Outcome } from '../../../core/sample/sample.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'
import { Series } from './series.ts'

type Plan = RequestDone['plan']

/** A step of a reward: how its terms ended, and its scores over time. */
export interface TrackedTerm {
  readonly name: string
  readonly ended: Record<'scored' | 'text' | 'off' | 'failed', number>
  readonly scores: Series
}

/** One reward since the gateway began to serve this version of it: a few additions for each row. */
export class TrackedReward {
  readonly version: string
  readonly terms: readonly TrackedTerm[]
  readonly rewards: Series
  readonly invalid = new Map<FailureKind, number>()
  rows = 0

  constructor(plan: Plan, range: readonly [number, number] | null) {
    this.version = plan.version
    this.rewards = new Series(range)
    this.terms = plan.steps.map((step) => ({
      name: step.name,
      ended: { scored: 0, text: 0, off: 0, failed: 0 },
      scores: new Series(step.function.range),
    }))
  }

  count(outcome: Outcome, now: number): void {
    this.rows += 1
    if (outcome.valid) this.rewards.add(now, outcome.reward)
    else this.invalid.set(outcome.failure.kind, (this.invalid.get(outcome.failure.kind) ?? 0) + 1)
    const { terms } = outcome
    for (let at = 0; at < terms.length; at += 1) {
      const term = terms[at]
      const tracked = this.terms[at]
      if (!term || !tracked) continue
      tracked.ended[term.status] += 1
      if (term.status === 'scored') tracked.scores.add(now, term.score.value)
    }
  }
}
