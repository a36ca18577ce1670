/**
 * Monitors watch the rewards of a training run: is there still something to learn, do rules and judges agree, has a judge
 * changed? Figures cover the last training steps of one reward in one run. Everything is bounded: the runs of a reward, the
 * steps of a run and the groups in progress.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { ListenerGuard } from '../../../core/listener-guard.ts'
import { bytesOf, type GroupMembership } from '../../../core/sample/sample.ts'
import { inSlices } from '../../../core/slices.ts'
import type { EngineEvents, RequestDone } from '../../../scoring/engine/events.ts'
import {
  addStats,
  countGroup,
  countRow,
  emptyStats,
  groupsOf,
  type Member,
  type PlanScaling,
  type StepStats,
  scalingOf,
} from './step-stats.ts'
import { type Alarm, TrendDetector, type Trends } from './trend-detector.ts'

/** Events of the monitors. */
export interface MonitorEvents {
  alarmed?(alarm: Alarm & { readonly reward: string; readonly run: string }): void
}

/** What the monitors need. */
interface MonitorParts {
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
    const bytes = isMeasured ? bytesOf(event.rows) + bytesOf(event.outcomes) + event.times.bytes : 0
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

/** Training steps that the figures cover. */
const window = 20
/** Training steps that may be in progress at once; older ones are closed. */
const maxOpenSteps = 2
/** A training step this far behind the newest means that the run resumed from a checkpoint. */
const restart = 16
/** Rows that count as a training step if requests name none. */
const rowsPerStep = 1024
const keptAlarms = 32
/** A power of two. */
const rowsPerSlice = 64

interface TrainingStepStats {
  readonly step: number
  readonly stats: StepStats
}

/** Monitors one run of one reward. */
class RunMonitor {
  readonly #open = new Map<number, StepStats>()
  #closed: TrainingStepStats[] = []
  #groups = new OpenGroups()
  #detector = new TrendDetector()
  #alarms: readonly Alarm[] = []
  #newest = -1
  #counted = 0
  #isNamed = false
  readonly #counts = new Map<string, number>()

  /** The sum of the last training steps, including those in progress. */
  get recent(): StepStats {
    const sum = emptyStats()
    for (const { stats } of this.steps) addStats(sum, stats)
    return sum
  }

  /** Counts a request, one slice at each `next`, so that a large one does not block the event loop. Returns the alarms it raised. */
  *add(event: RequestDone, scaling: PlanScaling): Generator<void, readonly Alarm[]> {
    const { rows, outcomes } = event
    const step = this.#stepOf(event)
    if (step < this.#newest - restart) this.#restart()
    const raised = step > this.#newest ? this.#advance(step, scaling) : []
    const stats = this.#open.get(step) ?? this.#oldest(step)
    const memberOf = (index: number): Member => {
      const row = rows[index]
      const outcome = outcomes[index]
      const response = row && 'response' in row ? row.response : ''
      const reward = outcome?.valid ? scaling.share(outcome.reward) : null
      return { print: response, length: response.length, reward }
    }
    for (const [index, outcome] of outcomes.entries()) {
      const row = rows[index]
      if (row) countRow(stats, row, outcome, scaling)
      if ((index & (rowsPerSlice - 1)) === rowsPerSlice - 1) yield
    }
    // A single row without a group has nothing to be compared with.
    const [first] = rows
    if (rows.length === 1 && !(first && 'group' in first && first.group)) return raised
    for (const places of yield* groupsOf(event, rowsPerSlice)) {
      yield
      const row = rows[places[0] ?? 0]
      const group = row && 'group' in row ? row.group : undefined
      const members: Member[] = []
      for (const place of places) {
        members.push(memberOf(place))
        if (members.length % rowsPerSlice === 0) yield
      }
      const isWhole = !group || (members.length > 1 && members.length >= (group.size ?? 0))
      const whole = isWhole ? [members] : this.#groups.add(group, members)
      for (const one of whole) yield* countGroup(stats, one, rowsPerSlice)
    }
    return raised
  }

  /** The last training steps, oldest first, with those in progress at the end. */
  get steps(): readonly TrainingStepStats[] {
    return [...this.#closed, ...[...this.#open].map(([step, stats]) => ({ step, stats }))]
  }

  /** Newest first. */
  get alarms(): readonly Alarm[] {
    return this.#alarms
  }

  /** How often an alarm was raised since the run started. */
  alarmCount(figure: Alarm['figure'], step: string | null): number {
    return this.#counts.get(keyOf(figure, step)) ?? 0
  }

  get trends(): Trends {
    return this.#detector.trends
  }

  get newestStep(): number {
    return this.#newest
  }

  /** A request without a step counts with the newest named step. If no request names one, every `rowsPerStep` rows are a step. */
  #stepOf({ trainingStep, rows }: RequestDone): number {
    if (trainingStep !== null) {
      this.#isNamed = true
      return trainingStep
    }
    if (this.#isNamed) return this.#newest
    const step = Math.floor(this.#counted / rowsPerStep)
    this.#counted += rows.length
    return step
  }

  /** Opens a step, and closes those that are too old. */
  #advance(step: number, scaling: PlanScaling): readonly Alarm[] {
    this.#newest = step
    this.#open.set(step, emptyStats())
    const raised: Alarm[] = []
    for (const [old, stats] of this.#open) {
      if (this.#open.size <= maxOpenSteps) break
      this.#open.delete(old)
      this.#closed = [...this.#closed, { step: old, stats }].slice(-window)
      raised.push(...this.#detector.push(old, stats, scaling))
    }
    for (const { figure, step: name } of raised) {
      const key = keyOf(figure, name)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
    this.#alarms = [...raised.toReversed(), ...this.#alarms].slice(0, keptAlarms)
    return raised
  }

  /** Late rows count with the oldest open step. */
  #oldest(step: number): StepStats {
    const [oldest] = this.#open.values()
    if (oldest) return oldest
    const stats = emptyStats()
    this.#open.set(step, stats)
    return stats
  }

  #restart(): void {
    this.#open.clear()
    this.#closed = []
    this.#groups = new OpenGroups()
    this.#detector = new TrendDetector()
    this.#newest = -1
  }
}

const keyOf = (figure: Alarm['figure'], step: string | null): string => `${figure} ${step ?? ''}`

/** Groups that are open at once; the oldest is counted as it is when another one opens. */
const maxOpenGroups = 256
const maxMembers = 256

/** Collects the members of groups that are split over several requests. */
class OpenGroups {
  readonly #groups = new Map<string, Member[]>()

  /** Adds members, and returns the groups that are complete or had to make room. */
  add({ id, size }: GroupMembership, members: readonly Member[]): readonly (readonly Member[])[] {
    const known = this.#groups.get(id) ?? []
    this.#groups.delete(id)
    // A request that brings this many members is counted as a group of its own.
    if (members.length >= maxMembers) return known.length > 0 ? [known, members] : [members]
    // Answers may be long and groups stay open: keep a hash of each.
    for (const member of members) known.push(short(member))
    if (known.length >= (size ?? Number.POSITIVE_INFINITY) || known.length >= maxMembers) return [known]
    this.#groups.set(id, known)
    if (this.#groups.size <= maxOpenGroups) return []
    const [oldest = ''] = this.#groups.keys()
    return this.#take(oldest)
  }

  #take(id: string): readonly (readonly Member[])[] {
    const members = this.#groups.get(id)
    this.#groups.delete(id)
    return members ? [members] : []
  }
}

const short = (member: Member): Member => ({ ...member, print: hash('sha256', member.print) })
