/**
 * Takes accepted rollouts to their finals. Only the rollouts that are being scored are in memory; the others wait on disk. A
 * rollout whose servers are away is tried again until its deadline.
 */
import { heapShare } from '../../core/heap-share.ts'
import type { Failure } from '../../core/sample/sample.ts'
import type { StallCause } from '../../core/stalls/request-times.ts'
import { Deadlines } from './deadlines.ts'
import { groupKeyOf } from './group-ends.ts'
import { GroupWaits, type WaitingGroup } from './group-waits.ts'
import { Pauses } from './pauses.ts'
import { Plans } from './plans.ts'
import { ReadyUnits, type Unit } from './ready.ts'
import type { Pending } from './run-state.ts'
import type { GroupFate, RunStore } from './run-store.ts'
import { type ScoringParts, type Tried, Try, UnitScoring } from './unit-scoring.ts'
import { cancelled, incomplete, tooLarge, tooLate, tooLateFor, withoutOthers } from './unscored.ts'

/** What the scheduler needs. */
export interface SchedulerParts extends ScoringParts {
  /** Rollouts that are scored at a time. */
  readonly maxRunning: () => number
}

/** What the scheduler has done, for metrics. */
export interface SchedulerCounts {
  /** Judges' answers that were kept from an earlier try or start, and asked for no more. */
  readonly reusedAnswers: number
  /** Tries that found servers away. */
  readonly retries: number
}

const mebi = 1024 * 1024
/** Bytes of rollouts that are scored at a time; one may always be. */
const mostRunningBytes = Math.min(256 * mebi, heapShare(1 / 8))
/** Bytes of the answers of a group: they are scored together. */
const mostGroupBytes = Math.min(256 * mebi, heapShare(1 / 16))
/** Units that start in one turn of the event loop. */
const startsPerTurn = 16

/** What a rollout without a final waits for. docs/queue.md lists the causes. */
export interface WaitsFor {
  readonly cause: StallCause | 'queue' | 'paused' | 'disk'
  /** The model, the sandbox, the group, or the kind of failure; '' for other causes. */
  readonly name: string
}

export class Scheduler {
  readonly #parts: SchedulerParts
  readonly #plans: Plans
  readonly #ready = new ReadyUnits()
  readonly #groups = new GroupWaits()
  readonly #deadlines: Deadlines
  readonly #tries = new Map<Pending, Try>()
  readonly #running = new Set<Promise<void>>()
  /** Those that get their finals without being scored. */
  readonly #ending = new Set<Pending>()
  readonly #scoring: UnitScoring
  #rows = 0
  #bytes = 0
  readonly #pauses: Pauses
  #isPumping = false
  #isStopped = false

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    this.#plans = new Plans(parts.gateway)
    this.#scoring = new UnitScoring(parts, this.#plans)
    this.#deadlines = new Deadlines(parts.clock, parts.wallClock, this.#endOne)
    const again = (unit: Unit): void => {
      this.#ready.add(unit)
      this.#pump()
    }
    this.#pauses = new Pauses({
      clock: parts.clock,
      again,
      hasReward: (reward) => this.#plans.has(reward),
      found: (unit) => {
        if (unit.isGroup) again(unit)
        else for (const one of unit.members) this.#enqueue(unit.store, one)
      },
    })
  }

  get counts(): SchedulerCounts {
    return { reusedAnswers: this.#scoring.reusedAnswers, retries: this.#pauses.count }
  }

  /** Rollouts that are being scored. */
  get running(): number {
    return this.#rows
  }

  /** `running`, `waiting` for its group, or `queued`. */
  stateOf(pending: Pending): 'running' | 'waiting' | 'queued' {
    if (this.#tries.has(pending)) return 'running'
    return this.#groups.has(pending) ? 'waiting' : 'queued'
  }

  waitOf(pending: Pending): WaitsFor {
    if (pending.isOver) return { cause: 'disk', name: '' }
    const running = this.#tries.get(pending)
    if (running) {
      const { cause, model } = running.waitOf(pending) ?? { cause: 'gateway', model: '' }
      return { cause, name: model }
    }
    if (this.#groups.has(pending)) return { cause: 'group', name: pending.head.group ?? '' }
    const reason = this.#pauses.reasonOf(pending)
    return reason ? { cause: 'paused', name: reason } : { cause: 'queue', name: '' }
  }

  /** A rollout that is on disk. `body`: what the trainer sent, if it is at hand. */
  add(store: RunStore, pending: Pending, body?: Buffer): void {
    if (body) this.#scoring.held.add(pending, body)
    this.#enqueue(store, pending)
  }

  /** The rollout has a final, or a newer attempt took its place: `isReplaced`. Its questions are cancelled. */
  drop(store: RunStore, pending: Pending, isReplaced: boolean): void {
    this.#release(pending)
    this.#groups.delete(store, pending)
    if (!isReplaced) this.#settle(this.#groups.groupOf(store, pending))
    const running = this.#tries.get(pending)
    // The other members of a group go on without a reader for this one, but not without its newest answer.
    if (running && (isReplaced || running.unit.members.every(({ isOver }) => isOver))) running.abort()
  }

  /** Shows rollouts that were cancelled before they were scored to the record and the monitors. */
  showCancelled(store: RunStore, finished: readonly Pending[]): Promise<void> {
    const work = this.#scoring.show(store, finished, cancelled).then(() => {
      this.#running.delete(work)
    })
    this.#running.add(work)
    return work
  }

  /** What a final says of the rollout's group if it comes without the others. */
  fateWithoutOthers({ head }: Pending): GroupFate {
    return this.#plans.compares(head.reward) ? 'apart' : null
  }

  /** Starts nothing more. */
  stop(): void {
    this.#isStopped = true
    this.#deadlines.stop()
    this.#pauses.stop()
  }

  /** Resolves once nothing is being scored. Call after the gateway is closed. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  #enqueue(store: RunStore, pending: Pending): void {
    // Also where it comes back from a job that was aborted: the deadline may have passed while the engine was to end it.
    this.#deadlines.set(store, pending, pending.head.deadline)
    const { at, deadline, reward } = pending.head
    if (!this.#plans.has(reward)) {
      this.#pauses.awaitReward({ store, members: [pending], isGroup: false, tries: 0 })
      return
    }
    if (pending.damage !== null || groupKeyOf(pending.head) === null || !this.#plans.compares(reward)) {
      this.#ready.add({ store, members: [pending], isGroup: false, tries: 0 })
      this.#pump()
      return
    }
    // A group that may be smaller leaves half of the time for scoring it.
    if (this.#plans.leastOf(reward) !== null) this.#deadlines.set(store, pending, at + (deadline - at) / 2)
    this.#settle(this.#groups.add(store, pending))
  }

  /** Scores a group that is complete, and ends one that cannot be. */
  #settle(group: WaitingGroup | undefined): void {
    if (!group) return
    const { store, members, size } = group
    const [first] = members as unknown as [Pending]
    const count = members.size
    const ended = store.state.groups.endedOf(groupKeyOf(first.head) ?? '').length
    const most = Math.min(mostGroupBytes, this.#parts.gateway.settings.limits.max_bodies_bytes)
    if (this.#groups.isTooLarge(group, most))
      void this.#end(store, this.#groups.take(group), tooLarge(first, count, most))
    else if (count >= size) this.#scoreGroup(group)
    else if (count + ended < size) return
    else if (this.#isEnough(first, count)) this.#scoreGroup(group)
    else void this.#end(store, this.#groups.take(group), withoutOthers(first, count, ended))
  }

  #scoreGroup(group: WaitingGroup): void {
    this.#ready.add({ store: group.store, members: this.#groups.take(group), isGroup: true, tries: 0 })
    this.#pump()
  }

  /** Whether the reward scores a group with so many answers. */
  #isEnough({ head }: Pending, count: number): boolean {
    return count >= (this.#plans.leastOf(head.reward) ?? Number.POSITIVE_INFINITY)
  }

  readonly #pump = (): void => {
    if (this.#isPumping || this.#isStopped) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      for (let starts = 0; starts < startsPerTurn; starts += 1) if (!this.#startNext()) return
      this.#pump()
    })
  }

  /** Returns whether something started. */
  #startNext(): boolean {
    if (this.#isStopped || this.#rows >= this.#parts.maxRunning()) return false
    if (this.#rows > 0 && this.#bytes >= mostRunningBytes) return false
    const unit = this.#ready.take()
    if (!unit) return false
    const members = unit.members.filter((pending) => !pending.isOver && !this.#ending.has(pending))
    // A member was replaced or cancelled while its group was in the queue.
    if (members.length < unit.members.length) for (const one of members) this.#enqueue(unit.store, one)
    else this.#start(unit)
    return true
  }

  #start(unit: Unit): void {
    const job = new Try(unit)
    for (const pending of unit.members) this.#tries.set(pending, job)
    this.#rows += unit.members.length
    this.#bytes += job.bytes
    const work = this.#scoring.score(job).then((tried) => {
      this.#running.delete(work)
      this.#rows -= unit.members.length
      this.#bytes -= job.bytes
      for (const pending of unit.members) {
        this.#tries.delete(pending)
        if (pending.isOver) this.#release(pending)
      }
      this.#goOn(unit, tried)
      // One that ended without the others may leave a group that cannot be complete.
      if (tried === 'over') this.#settle(this.#groups.groupOf(unit.store, unit.members[0] as Pending))
      this.#pump()
    })
    this.#running.add(work)
  }

  #goOn(unit: Unit, tried: Tried): void {
    if (tried === 'over') return
    if (tried === 'unknown') this.#pauses.awaitReward(unit)
    else if (tried !== 'aborted') {
      if (!this.#isStopped) this.#pauses.add({ ...unit, earlier: tried.spells }, tried.away)
    } else for (const pending of unit.members) if (!pending.isOver) this.#enqueue(unit.store, pending)
  }

  /** The time of a rollout is over, or half of it if its group may be smaller. */
  readonly #endOne = (store: RunStore, pending: Pending): void => {
    const { deadline } = pending.head
    const isOver = deadline <= this.#parts.wallClock()
    if (!isOver) this.#deadlines.set(store, pending, deadline)
    // The engine ends what is being scored.
    if (this.#tries.has(pending) || this.#ending.has(pending)) return
    const group = this.#groups.has(pending) ? this.#groups.groupOf(store, pending) : undefined
    if (!group) {
      const isUnknown = this.#pauses.reasonOf(pending) === 'reward_unknown'
      if (isOver) void this.#end(store, [pending], isUnknown ? tooLateFor(pending.head.reward) : tooLate)
      return
    }
    const count = group.members.size
    if (this.#isEnough(pending, count)) this.#scoreGroup(group)
    else if (isOver) void this.#end(store, this.#groups.take(group), incomplete(pending, count))
  }

  async #end(store: RunStore, members: readonly Pending[], failure: Failure): Promise<void> {
    for (const pending of members) this.#ending.add(pending)
    try {
      await this.#scoring.end({ store, members, isGroup: false, tries: 0 }, failure)
    } finally {
      for (const pending of members) {
        this.#ending.delete(pending)
        this.#release(pending)
      }
    }
  }

  #release(pending: Pending): void {
    if (pending.isOver) this.#deadlines.delete(pending)
    this.#scoring.held.delete(pending)
  }
}
