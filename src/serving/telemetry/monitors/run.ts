import { hash } from 'node:crypto'
import type { GroupMembership } from '../../../core/sample/sample.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'
import { countGroup, countRow, groupsOf, type Member, type PlanScaling } from './count.ts'
import { addStats, emptyStats, type StepStats } from './step-stats.ts'
import { type Alarm, TrendDetector, type Trends } from './trend-detector.ts'

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
export class RunMonitor {
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
      if ((index & (rowsPerSlice - 1)) === 0) yield
    }
    // A single row without a group has nothing to be compared with.
    const [first] = rows
    if (rows.length === 1 && !(first && 'group' in first && first.group)) return raised
    for (const places of yield* groupsOf(event, rowsPerSlice)) {
      yield
      const row = rows[places[0] ?? 0]
      const group = row && 'group' in row ? row.group : undefined
      const members = places.map(memberOf)
      const isWhole = !group || (members.length > 1 && members.length >= (group.size ?? 0))
      const whole = isWhole ? [members] : this.#groups.add(group, members)
      for (const one of whole) countGroup(stats, one)
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
