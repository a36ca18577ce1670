/**
 * What the inspector page shows of scoring: reward distributions over time and a sample of recent rows. Counting costs a
 * few additions per row. Questions and answers are kept only while a page is open. Memory is bounded, whatever the traffic.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { eachInSlices } from '../../../core/slices.ts'
import type { EngineEvents, RequestDone, VoteEvent } from '../../../scoring/engine/events.ts'
import { JudgeAnswers } from '../record/judge-answers.ts'
import type { TextPolicy } from '../record/text-policy.ts'
import { RecentRows } from './recent-rows.ts'
import { TrackedReward } from './series.ts'
import { detailOf, type RowDetail, type RowSummary, summaryOf } from './shown-row.ts'

/** Options of a live view. */
export interface LiveOptions {
  readonly clock: Clock
  /** Wall time of the clock's 0, in milliseconds since the epoch. Default: taken from the system's time now. */
  readonly epoch?: number
  /** The range of a plan's rewards; null if unknown. */
  rangeOf(plan: RequestDone['plan']): readonly [number, number] | null
  /** Whether the page is enabled. Default: it is. */
  isOn?(): boolean
  /** How much text may be shown. Called each time that something is shown, so a reload takes effect at once. */
  policy(): TextPolicy
}

const maxAnswersPerSample = 64
const maxAnswerBytes = 64 * 1024 * 1024
/** Rows without a reward that one request adds to its recent rows. */
const maxInvalid = 4

/** Listens to the engine and keeps what the page shows. */
export class LiveView implements Required<Pick<EngineEvents, 'voted' | 'done'>> {
  /** Rewards that have scored something, by name. */
  readonly rewards = new Map<string, TrackedReward>()
  readonly #options: LiveOptions
  readonly #epoch: number
  readonly #answers = new JudgeAnswers(maxAnswerBytes, maxAnswersPerSample)
  readonly #rows = new RecentRows((row) => this.#forget(row))
  #watchers = 0

  constructor(options: LiveOptions) {
    this.#options = options
    this.#epoch = options.epoch ?? Date.now() - options.clock.now()
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#epoch + this.#options.clock.now()
  }

  get policy(): TextPolicy {
    return this.#options.policy()
  }

  voted(event: VoteEvent): void {
    if (this.#watchers > 0) this.#answers.add(event)
  }

  done(event: RequestDone): Promise<void> | null {
    if (this.#options.isOn?.() === false) return null
    const tracked = this.#trackedOf(event.plan)
    const now = this.now()
    const invalid: number[] = []
    const count = (index: number): void => {
      const outcome = event.outcomes[index]
      if (!outcome) return
      tracked.count(outcome, now)
      if (!outcome.valid && invalid.length < maxInvalid) invalid.push(index)
    }
    const keepSome = (): void => {
      const kept = this.#rows.take(event, event.requestId ?? randomUUID(), now, invalid, Math.random())
      for (let index = 0; index < event.rows.length; index++) {
        const row = event.rows[index]
        if (row && !kept.includes(index)) this.#forget(row)
      }
    }
    return eachInSlices(event.outcomes.length, count, keepSome)
  }

  /** Keeps questions and answers of judges until the returned function is called. */
  watch(): () => void {
    this.#watchers += 1
    let isOver = false
    return () => {
      this.#watchers -= isOver ? 0 : 1
      isOver = true
    }
  }

  /** The serial of the newest row. */
  get newest(): number {
    return this.#rows.newest
  }

  /** Up to `limit` rows after a serial, the newest first. */
  summaries(since: number, limit: number): readonly RowSummary[] {
    const { policy } = this
    const newest = this.#rows.since(since).slice(-limit).reverse()
    return newest.map((row) => summaryOf(row, policy))
  }

  /** null if the row is no longer kept. */
  detail(id: string): RowDetail | null {
    const row = this.#rows.get(id)
    if (!row) return null
    const sample = row.event.rows[0]
    const answers = sample && 'response' in sample ? this.#answers.of(sample) : []
    return detailOf(row, answers, this.policy)
  }

  /** A new version of a reward starts with empty series. */
  #trackedOf(plan: RequestDone['plan']): TrackedReward {
    let tracked = this.rewards.get(plan.name)
    if (tracked?.version !== plan.version) {
      tracked = new TrackedReward(plan, this.#options.rangeOf(plan))
      this.rewards.set(plan.name, tracked)
    }
    return tracked
  }

  #forget(row: RequestDone['rows'][number]): void {
    if (!('failure' in row)) this.#answers.forget(row)
  }
}
