import { hash } from 'node:crypto'
import type { GroupMembership } from '../../../core/sample/sample.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'
import { countGroup, countRow, groupsOf, type Member, type PlanScaling } from './count.ts'
import { addStats, emptyStats, type StepStats } from './step-stats.ts'
import { type Alarm, TrendDetector, type Trends } from './trend-detector.ts'

/** Training steps that the figures speak of. */
const window = 20
/** Training steps that may be under way at once; an older one is over. */
const maxOpenSteps = 2
/** A training step so far behind the newest means that the run began again from a checkpoint. */
const restart = 16
/** What counts as a training step where requests name none. */
const rowsPerStep = 1024
const keptAlarms = 32
/** Rows that are counted in one go; a power of two. */
const rowsPerSlice = 64

/** What was counted in one training step. */
interface TrainingStepStats {
  readonly step: number
  readonly stats: StepStats
}

/** One reward in one run, as it is watched. */
export class RunMonitor {
  readonly #open = new Map<number, StepStats>()
  #closed: TrainingStepStats[] = []
  #groups = new OpenGroups()
  #watch = new TrendDetector()
  #alarms: readonly Alarm[] = []
  #newest = -1
  #counted = 0
  #isNamed = false
  readonly #counts = new Map<string, number>()

  /** The last training steps together, those under way among them. */
  get recent(): StepStats {
    const sum = emptyStats()
    for (const { stats } of this.steps) addStats(sum, stats)
    return sum
  }

  /** Counts a request in pieces, one at each `next`, so that a large one need not hold the loop up; the alarms that it raised. */
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
    // A row that comes alone, and names no group, has nobody to be compared with.
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

  /** The last training steps one by one, those under way at the end. */
  get steps(): readonly TrainingStepStats[] {
    return [...this.#closed, ...[...this.#open].map(([step, stats]) => ({ step, stats }))]
  }

  /** The newest first. */
  get alarms(): readonly Alarm[] {
    return this.#alarms
  }

  /** How often an alarm was raised since the run began. */
  alarmCount(figure: Alarm['figure'], step: string | null): number {
    return this.#counts.get(keyOf(figure, step)) ?? 0
  }

  get trends(): Trends {
    return this.#watch.trends
  }

  get newestStep(): number {
    return this.#newest
  }

  /** Requests that name no step count with the newest named one, or make steps of so many rows each. */
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

  /** Opens a step, and ends those that are too old. */
  #advance(step: number, scaling: PlanScaling): readonly Alarm[] {
    this.#newest = step
    this.#open.set(step, emptyStats())
    const raised: Alarm[] = []
    for (const [old, stats] of this.#open) {
      if (this.#open.size <= maxOpenSteps) break
      this.#open.delete(old)
      this.#closed = [...this.#closed, { step: old, stats }].slice(-window)
      raised.push(...this.#watch.push(old, stats, scaling))
    }
    for (const { figure, step: name } of raised) {
      const key = keyOf(figure, name)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
    this.#alarms = [...raised.toReversed(), ...this.#alarms].slice(0, keptAlarms)
    return raised
  }

  /** What comes late is counted with the oldest step that is still open. */
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
    this.#watch = new TrendDetector()
    this.#newest = -1
  }
}

const keyOf = (figure: Alarm['figure'], step: string | null): string => `${figure} ${step ?? ''}`

/** Groups whose members come in several requests are kept until they are whole, or until so many newer ones are open. */
const maxOpenGroups = 256
const maxMembers = 256

/** Gathers the members of groups that requests send apart. */
class OpenGroups {
  readonly #groups = new Map<string, Member[]>()

  /** Adds members; a group that is whole, or had to make room, comes back. */
  add({ id, size }: GroupMembership, members: readonly Member[]): readonly (readonly Member[])[] {
    const known = this.#groups.get(id) ?? []
    this.#groups.delete(id)
    // As many as are ever kept are a group of their own.
    if (members.length >= maxMembers) return known.length > 0 ? [known, members] : [members]
    // Answers may be long and groups may stay open: a hash stands for each.
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
