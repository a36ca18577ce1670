/**
 * What the inspector shows of the scoring: distributions over time and a bounded choice of recent rows. Counting costs a
 * few additions a row; questions and answers are kept only while somebody watches. Nothing here grows with the traffic.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { eachInSlices } from '../../../core/slices.ts'
import type { EngineEvents, RequestDone } from '../../../scoring/engine/events.ts'
import { Draws } from '../record/draws.ts'
import type { TextPolicy } from '../record/text-policy.ts'
import { RecentRows } from './recent-rows.ts'
import { TrackedReward } from './series.ts'
import { detailOf, type RowDetail, type RowSummary, summaryOf } from './shown-row.ts'

/** What the page's figures are made with. */
export interface LiveParts {
  readonly clock: Clock
  /** Wall time of the clock's 0, milliseconds since the epoch; as it is now, if absent. */
  readonly epoch?: number
  /** What the rewards of a plan lie in; null: not known. */
  rangeOf(plan: RequestDone['plan']): readonly [number, number] | null
  /** Whether there is a page at all; where it is absent, there is. */
  isOn?(): boolean
  /** What may be shown of texts, asked each time that something is shown. */
  policy(): TextPolicy
}

/** What the inspector shows, kept in memory within bounds. */
export interface LiveView extends Required<Pick<EngineEvents, 'drawn' | 'done'>> {
  /** Milliseconds since the epoch. */
  now(): number
  readonly policy: TextPolicy
  /** Rewards that were asked for, by name. */
  readonly rewards: ReadonlyMap<string, TrackedReward>
  /** Until the returned function is called, questions and answers of judges are kept. */
  watch(): () => void
  /** The serial of the newest row. */
  readonly newest: number
  /** Rows after a serial, the newest first, `most` of them. */
  summaries(since: number, most: number): readonly RowSummary[]
  /** null: it is not kept any more. */
  detail(id: string): RowDetail | null
}

/** Draws of one sample that are kept, and the bytes of all that are. */
const maxDraws = 64
const maxDrawBytes = 64 * 1024 * 1024

/** Listens to the engine; does nothing while `isOn` is false. */
export function openLiveView(parts: LiveParts): LiveView {
  const { clock, epoch = Date.now() - clock.now(), rangeOf, policy, isOn = () => true } = parts
  const rewards = new Map<string, TrackedReward>()
  const draws = new Draws(maxDrawBytes, maxDraws)
  const forget = (row: RequestDone['rows'][number]): void => {
    if (!('failure' in row)) draws.forget(row)
  }
  const rows = new RecentRows(forget)
  let watchers = 0
  const trackedOf = (plan: RequestDone['plan']): TrackedReward => {
    let tracked = rewards.get(plan.name)
    if (tracked?.version !== plan.version) {
      tracked = new TrackedReward(plan, rangeOf(plan))
      rewards.set(plan.name, tracked)
    }
    return tracked
  }
  const now = () => epoch + clock.now()
  return {
    now,
    rewards,
    get policy() {
      return policy()
    },
    drawn(event) {
      if (watchers > 0) draws.add(event)
    },
    done(event) {
      if (!isOn()) return
      const tracked = trackedOf(event.plan)
      const at = now()
      const invalid: number[] = []
      const take = (): void => {
        const kept = rows.take(event, event.requestId ?? randomUUID(), at, invalid, Math.random())
        for (let index = 0; index < event.rows.length; index++) {
          const row = event.rows[index]
          if (row && !kept.includes(index)) forget(row)
        }
      }
      const count = (index: number): void => {
        const outcome = event.outcomes[index]
        if (!outcome) return
        tracked.count(outcome, at)
        if (!outcome.valid && invalid.length < 4) invalid.push(index)
      }
      return eachInSlices(event.outcomes.length, count, take)
    },
    watch() {
      watchers += 1
      let isOver = false
      return () => {
        watchers -= isOver ? 0 : 1
        isOver = true
      }
    },
    get newest() {
      return rows.newest
    },
    summaries(since, most) {
      const shown = policy()
      const newest = rows.since(since).slice(-most).reverse()
      return newest.map((row) => summaryOf(row, shown))
    },
    detail(id) {
      const row = rows.get(id)
      if (!row) return null
      const sample = row.event.rows[0]
      return detailOf(row, sample && 'response' in sample ? draws.of(sample) : [], policy())
    },
  }
}
