/**
 * What a run's rewards look like while it runs: is there anything to learn from, do rule and judges agree, has a judge
 * changed. Figures speak of the last training steps of one reward in one run. Everything is bounded: the runs of a reward,
 * the steps of a run, the groups under way.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ListenerGuard } from '../../../core/listener-guard.ts'
import { bytesOf } from '../../../core/sample/bytes.ts'
import { inSlices } from '../../../core/slices.ts'
import type { EngineEvents, RequestDone } from '../../../scoring/engine/events.ts'
import { type PlanScaling, scalingOf } from './count.ts'
import { RunMonitor } from './run.ts'
import type { Alarm } from './trend-detector.ts'

/** What the monitors tell when it happens. */
export interface MonitorEvents {
  alarmed?(alarm: Alarm & { readonly reward: string; readonly run: string }): void
}

/** What figures are reckoned with, and who hears alarms. */
export interface MonitorParts {
  readonly clock: Clock
  /** What fails in the counting, which nobody waits for, ends there. */
  readonly guard: ListenerGuard
  readonly events?: MonitorEvents
  /** What the rewards of a plan lie in; null: not known. */
  rangeOf(plan: RequestDone['plan']): readonly [number, number] | null
}

/** One run of a reward, as it stands. */
export interface WatchedRun {
  readonly reward: string
  readonly run: string
  readonly monitor: RunMonitor
}

/** Figures of training runs, kept within bounds. */
export interface Monitors extends Required<Pick<EngineEvents, 'done'>> {
  /** Every run that is watched, of one reward or of all. */
  runs(reward?: string): readonly WatchedRun[]
  /** Counts what waits. */
  settle(): void
}

/** Runs of one reward with figures of their own; a further one takes the place of one that has been silent, or counts as `other`. */
const maxRuns = 16
const silentMs = 600_000
const otherRuns = 'other'
/** Rows of requests that wait to be counted; what comes beyond is not looked at. */
const maxWaiting = 131_072
/** Of their memory, but for the first few requests. */
const maxBytes = 128 * 1024 * 1024
const unweighed = 32

/** Counts what is done a little later, so that scoring goes first. */
export function openMonitors({ clock, guard, events = {}, rangeOf }: MonitorParts): Monitors {
  const rewards = new Map<string, Map<string, { monitor: RunMonitor; last: number }>>()
  const scalings = new WeakMap<RequestDone['plan'], PlanScaling>()
  const waiting: { readonly event: RequestDone; readonly bytes: number }[] = []
  let rows = 0
  let bytes = 0
  let isDue = false

  const scaling = (plan: RequestDone['plan']): PlanScaling => {
    let known = scalings.get(plan)
    if (!known) {
      known = scalingOf(plan, rangeOf(plan))
      scalings.set(plan, known)
    }
    return known
  }

  /** The runs of a reward in the order of their last request. */
  const monitorOf = (reward: string, run: string) => {
    const runs = rewards.get(reward) ?? new Map<string, { monitor: RunMonitor; last: number }>()
    rewards.set(reward, runs)
    let name = run
    if (!runs.has(name) && runs.size >= maxRuns) {
      const [oldest] = [...runs].filter(([known]) => known !== otherRuns)
      if (oldest && clock.now() - oldest[1].last >= silentMs) runs.delete(oldest[0])
      else name = otherRuns
    }
    const known = runs.get(name) ?? { monitor: new RunMonitor(), last: 0 }
    known.last = clock.now()
    runs.delete(name)
    runs.set(name, known)
    return { name, monitor: known.monitor }
  }

  /** Counts a request, a piece at each `next`. */
  function* count(event: RequestDone): Generator<void> {
    const { plan, run } = event
    const { name, monitor } = monitorOf(plan.name, run)
    for (const alarm of yield* monitor.add(event, scaling(plan)))
      events.alarmed?.({ ...alarm, reward: plan.name, run: name })
  }

  /** What is being counted; a large request takes several turns. */
  let counting: Generator<void> | null = null

  const takePiece = (): void => {
    let one = counting
    if (one === null) {
      const first = waiting.shift()
      if (!first) return
      const { event } = first
      rows -= event.rows.length
      bytes -= first.bytes
      one = count(event)
    }
    // What fails is not gone on with.
    counting = null
    if (!one.next().done) counting = one
  }
  const isLeft = (): boolean => counting !== null || waiting.length > 0

  const piece = (): boolean => {
    guard.run('monitors', takePiece)
    return isLeft()
  }
  const work = (): void => void inSlices(piece, goOn)
  const goOn = (): void => {
    isDue = isLeft()
    if (isDue) setImmediate(work)
  }

  return {
    done(event) {
      // Requests are mostly counted in the next turn; only those behind many others are weighed.
      const size = waiting.length >= unweighed ? bytesOf(event.rows) + bytesOf(event.outcomes) : 0
      if (waiting.length > 0 && (rows >= maxWaiting || bytes + size > maxBytes)) return
      rows += event.rows.length
      bytes += size
      waiting.push({ event, bytes: size })
      if (!isDue) setImmediate(work)
      isDue = true
    },
    runs: (reward) =>
      [...rewards]
        .filter(([name]) => reward === undefined || name === reward)
        .flatMap(([name, runs]) => [...runs].map(([run, { monitor }]) => ({ reward: name, run, monitor }))),
    settle() {
      while (isLeft()) takePiece()
    },
  }
}
