/**
 * Takes accepted rollouts to their finals. Only the rollouts that are being scored are in memory; the others wait on disk. A
 * rollout whose servers are away is tried again until its deadline.
 */
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Failure, FailureKind, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import type { RequestTimes, StallCause } from '../../core/stalls/request-times.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { nativeResultText, nativeTermsText } from '../../trainers/native-result.ts'
import { Deadlines } from './deadlines.ts'
import { rowOf } from './envelope.ts'
import { GroupWaits } from './group-waits.ts'
import { keptAnswers } from './kept-answers.ts'
import { Pauses } from './pauses.ts'
import { Plans } from './plans.ts'
import { ReadyUnits, type Unit } from './ready.ts'
import type { FinalState } from './records.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'
import { damaged, incomplete, tooLate, unscored } from './unscored.ts'

/** What the scheduler needs. */
export interface SchedulerParts {
  readonly gateway: Pick<Gateway, 'score' | 'reward' | 'settings' | 'guard'>
  readonly clock: Clock
  /** Unix time in milliseconds. */
  readonly wallClock: () => number
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

/** Bytes of rollouts that are scored at a time; one may always be. */
const mostRunningBytes = 256 * 1024 * 1024
/** Bytes of accepted rollouts that are kept in memory beside the disk. */
const mostHeldBytes = 64 * 1024 * 1024
/** Units that start in one turn of the event loop. */
const startsPerTurn = 16

/** A unit that is being scored. */
interface Job {
  readonly unit: Unit
  readonly bytes: number
  isAborted: boolean
  /** Cancels its questions; set once the first was asked. */
  left: () => void
  /** What its members wait for; null before scoring has begun. */
  times: RequestTimes | null
  /** Each member's row in `times`. */
  readonly rows: ReadonlyMap<Pending, number>
}

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
  readonly #jobs = new Map<Pending, Job>()
  readonly #running = new Set<Promise<void>>()
  /** Those that get their finals without being scored. */
  readonly #ending = new Set<Pending>()
  readonly #held = new Map<Pending, Buffer>()
  #heldBytes = 0
  #rows = 0
  #bytes = 0
  readonly #pauses: Pauses
  #isPumping = false
  #isStopped = false
  #reusedAnswers = 0

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    this.#plans = new Plans(parts.gateway)
    this.#deadlines = new Deadlines(parts.clock, parts.wallClock, this.#endOne)
    this.#pauses = new Pauses(parts.clock, (unit) => {
      this.#ready.add(unit)
      this.#pump()
    })
  }

  get counts(): SchedulerCounts {
    return { reusedAnswers: this.#reusedAnswers, retries: this.#pauses.count }
  }

  /** Rollouts that are being scored. */
  get running(): number {
    return this.#rows
  }

  /** `running`, `waiting` for its group, or `queued`. */
  stateOf(pending: Pending): 'running' | 'waiting' | 'queued' {
    if (this.#jobs.has(pending)) return 'running'
    return this.#groups.has(pending) ? 'waiting' : 'queued'
  }

  waitOf(pending: Pending): WaitsFor {
    if (pending.isOver) return { cause: 'disk', name: '' }
    const job = this.#jobs.get(pending)
    if (job) {
      const { cause = 'gateway', model = '' } = job.times?.current(job.rows.get(pending) ?? 0) ?? {}
      return { cause, name: model }
    }
    if (this.#groups.has(pending)) return { cause: 'group', name: pending.head.group ?? '' }
    const reason = this.#pauses.reasonOf(pending)
    return reason ? { cause: 'paused', name: reason } : { cause: 'queue', name: '' }
  }

  /** A rollout that is on disk. `body`: what the trainer sent, if it is at hand. */
  add(store: RunStore, pending: Pending, body?: Buffer): void {
    if (body && this.#heldBytes + body.length <= mostHeldBytes) {
      // A copy: a batch of lines must not stay in memory for one of them.
      this.#held.set(pending, Buffer.from(body))
      this.#heldBytes += body.length
    }
    this.#enqueue(store, pending)
  }

  /** The rollout has a final, or a newer attempt took its place: `isReplaced`. Its questions are cancelled. */
  drop(pending: Pending, isReplaced: boolean): void {
    this.#release(pending)
    this.#groups.delete(pending)
    const job = this.#jobs.get(pending)
    // The other members of a group go on without a reader for this one, but not without its newest answer.
    if (job && (isReplaced || job.unit.members.every(({ isOver }) => isOver))) abort(job)
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
    const { group, size, reward } = pending.head
    if (
      pending.damage !== null ||
      group === undefined ||
      size === undefined ||
      !this.#plans.compares(reward)
    ) {
      this.#ready.add({ store, members: [pending], tries: 0 })
      this.#pump()
      return
    }
    const members = this.#groups.add(store, pending, size)
    if (members) {
      this.#ready.add({ store, members, tries: 0 })
      this.#pump()
      return
    }
    const { at, deadline } = pending.head
    // A group that may be smaller leaves half of the time for scoring it.
    if (this.#plans.leastOf(reward) !== null) this.#deadlines.set(store, pending, at + (deadline - at) / 2)
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
    const bytes = unit.members.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0)
    const rows = new Map(unit.members.map((pending, row) => [pending, row]))
    const job: Job = { unit, bytes, isAborted: false, left: () => {}, times: null, rows }
    for (const pending of unit.members) this.#jobs.set(pending, job)
    this.#rows += unit.members.length
    this.#bytes += bytes
    const work = this.#run(job)
      .catch((error: unknown) => this.#fail(job, error))
      .finally(() => {
        for (const pending of unit.members) {
          this.#jobs.delete(pending)
          if (pending.isOver) this.#release(pending)
        }
        this.#rows -= unit.members.length
        this.#bytes -= bytes
        this.#running.delete(work)
        this.#pump()
      })
    this.#running.add(work)
  }

  async #run(job: Job): Promise<void> {
    const { store, members } = job.unit
    const { clock, gateway, wallClock } = this.#parts
    const { reward, step, group, uid, attempt } = (members[0] as Pending).head
    const rows = await Promise.all(members.map((pending) => this.#rowOf(store, pending)))
    const answers = await keptAnswers(store, members, () => {
      this.#reusedAnswers += 1
    })
    if (job.isAborted) return this.#requeue(job)
    const deadlineMs = Math.max(1, ...members.map(({ head }) => head.deadline)) - wallClock()
    const began = clock.now()
    const { outcomes } = await gateway.score({
      reward,
      rows,
      run: store.run,
      trainingStep: step,
      requestId: `${store.run}/${members.length > 1 ? group : `${uid}/${attempt}`}`,
      deadlineMs: Math.max(1, deadlineMs),
      arrived: this.#arrivalOf(members),
      ...this.#plans.policyOf(reward),
      answers,
      onBegan: (times) => {
        job.times = times
      },
      onRules: members.some(({ head }) => head.partial) ? this.#keepPartial(job) : undefined,
      signal: (left) => {
        job.left = left
        if (job.isAborted) left()
      },
    })
    if (job.isAborted) return this.#requeue(job)
    const away = outcomes.find((outcome) => this.#isAway(outcome, clock.now() - began))
    if (away && !away.valid && this.#mayRetry(job)) return this.#retryLater(job, away.failure.kind)
    await Promise.all(members.map((pending, at) => this.#finish(store, pending, outcomes[at] as Outcome)))
  }

  #keepPartial({ unit: { store, members } }: Job) {
    return (row: number, terms: readonly Term[]): void => {
      const pending = members[row] as Pending
      if (pending.head.partial) void store.keepPartial(pending, nativeTermsText(terms))
    }
  }

  /** When the last of them was accepted, on the clock, over a restart too. Wall clocks may be set back. */
  #arrivalOf(members: readonly Pending[]): number {
    const { clock, wallClock } = this.#parts
    return clock.now() - Math.max(0, wallClock() - Math.max(...members.map(({ head }) => head.at)))
  }

  async #finish(store: RunStore, pending: Pending, outcome: Outcome, state?: FinalState): Promise<void> {
    if (pending.isOver) return
    const done = store.finish(
      pending,
      state ?? (outcome.valid ? 'scored' : pending.damage === null ? 'invalid' : 'damaged'),
      nativeResultText(outcome),
    )
    this.#release(pending)
    // The log is closed: after a restart the rollout is scored again with the answers that were kept.
    await done.catch(() => {})
  }

  async #rowOf(store: RunStore, pending: Pending): Promise<Sample | Unreadable> {
    const { uid } = pending.head
    if (pending.damage === null) {
      try {
        return await rowOf(uid, this.#held.get(pending) ?? (await store.reader.bodyOf(pending)))
      } catch (error) {
        pending.damage = error instanceof Error ? error.message : 'its sample cannot be read'
      }
    }
    return { id: uid, failure: damaged(pending.damage) }
  }

  /** Whether servers were away, and not the rollout's own deadline over. */
  #isAway(outcome: Outcome, tookMs: number): boolean {
    if (outcome.valid) return false
    const { kind } = outcome.failure
    if (kind === 'deadline') return tookMs >= this.#parts.gateway.settings.limits.deadline_s * 1000
    return kind === 'overloaded' || kind === 'judge_unreachable' || kind === 'sandbox_unreachable'
  }

  readonly #mayRetry = ({ unit: { members } }: Job): boolean =>
    members.some(({ head }) => Pauses.leavesTime(head.deadline, this.#parts.wallClock()))

  #retryLater({ unit }: Job, reason: FailureKind): void {
    if (!this.#isStopped) this.#pauses.add(unit, reason)
  }

  /** What is left of a unit that was aborted. */
  #requeue({ unit: { store, members } }: Job): void {
    for (const pending of members) if (!pending.isOver) this.#enqueue(store, pending)
  }

  async #fail(job: Job, error: unknown): Promise<void> {
    const code = error instanceof GatewayError ? error.code : 'RG_INTERNAL'
    // It stays on disk.
    if (code === 'RG_CLOSING') return
    if (code === 'RG_OVERLOADED' && this.#mayRetry(job)) return this.#retryLater(job, 'overloaded')
    const { store, members } = job.unit
    const detail =
      error instanceof GatewayError
        ? error.message
        : 'an internal error of the gateway; its log has the details'
    if (code === 'RG_INTERNAL')
      this.#parts.gateway.guard.run('queue', () => {
        throw error
      })
    const kind = code === 'RG_OVERLOADED' ? 'overloaded' : 'function_error'
    await Promise.all(
      members.map((pending) =>
        this.#finish(store, pending, unscored(pending, { kind, retryable: true, detail })),
      ),
    )
  }

  /** The time of a rollout is over, or half of it if its group may be smaller. */
  readonly #endOne = (store: RunStore, pending: Pending): void => {
    const { deadline, reward } = pending.head
    const isOver = deadline <= this.#parts.wallClock()
    if (!isOver) this.#deadlines.set(store, pending, deadline)
    // The engine ends what is being scored.
    if (this.#jobs.has(pending) || this.#ending.has(pending)) return
    if (!this.#groups.has(pending)) {
      if (isOver) void this.#end(store, [pending], tooLate)
      return
    }
    const count = this.#groups.count(pending)
    if (count >= (this.#plans.leastOf(reward) ?? Number.POSITIVE_INFINITY)) {
      this.#ready.add({ store, members: this.#groups.take(pending), tries: 0 })
      this.#pump()
    } else if (isOver) {
      const failure = incomplete(pending, count)
      void this.#end(store, this.#groups.take(pending), failure)
    }
  }

  /** Ends rollouts without scoring them, as the engine ends rows that cannot be read: the record and the monitors see them. */
  async #end(store: RunStore, members: readonly Pending[], failure: Failure): Promise<void> {
    const { reward, step, uid, attempt } = (members[0] as Pending).head
    let outcomes: readonly Outcome[]
    for (const pending of members) this.#ending.add(pending)
    try {
      const scored = await this.#parts.gateway.score({
        reward,
        rows: members.map(({ head }) => ({ id: head.uid, failure })),
        run: store.run,
        trainingStep: step,
        requestId: `${store.run}/${uid}/${attempt}`,
        arrived: this.#arrivalOf(members),
        ...this.#plans.policyOf(reward),
        signal: () => {},
      })
      outcomes = scored.outcomes
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'RG_CLOSING') return
      outcomes = members.map((pending) => unscored(pending, failure))
    } finally {
      for (const pending of members) this.#ending.delete(pending)
    }
    await Promise.all(members.map((pending, at) => this.#finish(store, pending, outcomes[at] as Outcome)))
  }

  #release(pending: Pending): void {
    if (pending.isOver) this.#deadlines.delete(pending)
    const held = this.#held.get(pending)
    if (!held) return
    this.#held.delete(pending)
    this.#heldBytes -= held.length
  }
}

function abort(job: Job): void {
  job.isAborted = true
  job.left()
}
