/**
 * Monitors watch the rewards of a training run: is there still something to learn, do rules and judges agree, has a judge
 * changed? Figures cover the last training steps of one reward in one run. Everything is bounded: the runs of a reward, the
 * steps of a run and the groups in progress.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ListenerGuard } from '../../../core/listener-guard.ts'
import { bytesOf } from '../../../core/sample/sample.ts'
import { inSlices } from '../../../core/slices.ts'
import type { EngineEvents, RequestDone } from '../../../scoring/engine/events.ts'
import { type PlanScaling, scalingOf } from './count.ts'
import { RunMonitor } from './run.ts'
import type { Alarm } from './trend-detector.ts'

/** Events of the monitors. */
export interface MonitorEvents {
  alarmed?(alarm: Alarm & { readonly reward: string; readonly run: string }): void
}

/** What the monitors need. */
export interface MonitorParts {
  readonly clock: Clock
  /** Receives errors of counting, which runs detached from any request. */
  readonly guard: ListenerGuard
  readonly events?: MonitorEvents
  /** The range of a plan's rewards; null if unknown. */
  rangeOf(plan: RequestDone['plan']): readonly [number, number] | null
}

/** The monitor of one run of one reward. */
export interface WatchedRun {
  readonly reward: string
  readonly run: string
  readonly monitor: RunMonitor
}

/** Runs of one reward with their own figures. A further run replaces one that has been silent, or counts as `other`. */
const maxRuns = 16
const silentMs = 600_000
const otherRuns = 'other'
/** Rows and bytes of requests that wait to be counted. Requests beyond that are not counted. */
const maxWaitingRows = 131_072
const maxWaitingBytes = 128 * 1024 * 1024
/** The bytes of a request are only measured if so many requests are waiting already. */
const unmeasured = 32

/** Counts finished requests shortly after they are done, so that scoring goes first. */
export class Monitors implements Required<Pick<EngineEvents, 'done'>> {
  readonly #parts: MonitorParts
  /** The runs of each reward, the least recently used first. */
  readonly #rewards = new Map<string, Map<string, { monitor: RunMonitor; last: number }>>()
  readonly #scalingByPlan = new WeakMap<RequestDone['plan'], PlanScaling>()
  readonly #waiting: { readonly event: RequestDone; readonly bytes: number }[] = []
  #rows = 0
  #bytes = 0
  #isScheduled = false
  /** The request being counted; a large one takes several turns of the event loop. */
  #counting: Generator<void> | null = null

  constructor(parts: MonitorParts) {
    this.#parts = parts
  }

  done(event: RequestDone): void {
    const isMeasured = this.#waiting.length >= unmeasured
    const bytes = isMeasured ? bytesOf(event.rows) + bytesOf(event.outcomes) : 0
    const isFull = this.#rows >= maxWaitingRows || this.#bytes + bytes > maxWaitingBytes
    if (this.#waiting.length > 0 && isFull) return
    this.#rows += event.rows.length
    this.#bytes += bytes
    this.#waiting.push({ event, bytes })
    if (!this.#isScheduled) setImmediate(this.#work)
    this.#isScheduled = true
  }

  /** The runs of one reward, or of all. */
  runs(reward?: string): readonly WatchedRun[] {
    return [...this.#rewards]
      .filter(([name]) => reward === undefined || name === reward)
      .flatMap(([name, runs]) => [...runs].map(([run, { monitor }]) => ({ reward: name, run, monitor })))
  }

  /** Counts everything that waits, at once. */
  settle(): void {
    while (this.#hasWork) this.#countPiece()
  }

  get #hasWork(): boolean {
    return this.#counting !== null || this.#waiting.length > 0
  }

  readonly #work = (): void => void inSlices(this.#guardedPiece, this.#workOn)

  readonly #guardedPiece = (): boolean => {
    this.#parts.guard.run('monitors', this.#countPiece)
    return this.#hasWork
  }

  readonly #workOn = (): void => {
    this.#isScheduled = this.#hasWork
    if (this.#isScheduled) setImmediate(this.#work)
  }

  readonly #countPiece = (): void => {
    const counting = this.#counting ?? this.#next()
    // Cleared first: a request that throws is given up.
    this.#counting = null
    if (counting && !counting.next().done) this.#counting = counting
  }

  #next(): Generator<void> | null {
    const first = this.#waiting.shift()
    if (!first) return null
    this.#rows -= first.event.rows.length
    this.#bytes -= first.bytes
    return this.#count(first.event)
  }

  *#count(event: RequestDone): Generator<void> {
    const { plan, run } = event
    const { name, monitor } = this.#monitorOf(plan.name, run)
    for (const alarm of yield* monitor.add(event, this.#scalingOf(plan)))
      this.#parts.events?.alarmed?.({ ...alarm, reward: plan.name, run: name })
  }

  #monitorOf(reward: string, run: string): { readonly name: string; readonly monitor: RunMonitor } {
    const now = this.#parts.clock.now()
    const runs = this.#rewards.get(reward) ?? new Map<string, { monitor: RunMonitor; last: number }>()
    this.#rewards.set(reward, runs)
    let name = run
    if (!runs.has(name) && runs.size >= maxRuns) {
      const [oldest] = [...runs].filter(([known]) => known !== otherRuns)
      if (oldest && now - oldest[1].last >= silentMs) runs.delete(oldest[0])
      else name = otherRuns
    }
    const known = runs.get(name) ?? { monitor: new RunMonitor(), last: 0 }
    known.last = now
    runs.delete(name)
    runs.set(name, known)
    return { name, monitor: known.monitor }
  }

  #scalingOf(plan: RequestDone['plan']): PlanScaling {
    let scaling = this.#scalingByPlan.get(plan)
    if (!scaling) {
      scaling = scalingOf(plan, this.#parts.rangeOf(plan))
      this.#scalingByPlan.set(plan, scaling)
    }
    return scaling
  }
}
