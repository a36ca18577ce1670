/**
 * One run on disk: accepts rollouts, keeps judges' answers, and gives each accepted rollout one final. What a promise of this
 * class resolves to is on disk.
 */
import { randomBytes } from 'node:crypto'
import type { open } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { inSlices } from '../../core/slices.ts'
import { CommitLog, type Place, segmentName } from './commit-log.ts'
import { Compaction } from './compaction.ts'
import type { Kept } from './final-index.ts'
import { groupKeyOf } from './group-ends.ts'
import type { OpenFiles } from './open-files.ts'
import {
  type AcceptHead,
  type AnswerHead,
  type FinalHead,
  type FinalState,
  format,
  type PartialHead,
} from './records.ts'
import { type Recovered, recoverRun } from './recover.ts'
import type { LogDamage } from './replay.ts'
import { EventRate, type Room } from './room.ts'
import { RecentFinals, RunReader, rewardOf, type Sent } from './run-reader.ts'
import { type Pending, RunState } from './run-state.ts'
import { SegmentFiles } from './segment-files.ts'

/** Settings of a run's store, and the parts that tests replace. */
export interface StoreOptions {
  readonly clock: Clock
  /** Unix time in milliseconds. */
  readonly wallClock: () => number
  readonly commitMs: number
  readonly segmentBytes: number
  /** How long finals are kept. */
  readonly keepMs: number
  readonly committed?: (error: unknown, bytes: number, ms: number) => void
  /** Counts what the store holds; absent: nobody does. */
  readonly room?: Pick<Room, 'pendingChanged' | 'bytesChanged'> | undefined
  /** Bounds the files that all stores hold open; absent: nobody does. */
  readonly files?: OpenFiles
  /** The newest finals of all stores; absent: the store keeps its own. */
  readonly recent?: RecentFinals
  readonly openFile?: typeof open
  /** A record was damaged since it was written or read at the start. */
  readonly damaged?: (store: RunStore, text: string) => void
}

/** A rollout as its trainer sent it. */
export interface Submission
  extends Pick<
    AcceptHead,
    | 'uid'
    | 'digest'
    | 'deadline'
    | 'reward'
    | 'priority'
    | 'step'
    | 'group'
    | 'size'
    | 'policy'
    | 'partial'
    | 'key'
  > {
  /** Absent: one more than the newest, if the bytes are new. */
  readonly attempt?: number | undefined
  readonly body: Buffer
}

/** The final that a rollout gets. `result`: JSON. `version`: of the config that scored it; absent: nothing was scored. */
export interface GivenFinal {
  readonly pending: Pending
  readonly state: FinalState
  readonly result: string
  readonly version?: string | undefined
}

/** `whole`: all its answers were compared. `apart`: these ended without some of them. */
export type GroupFate = 'whole' | 'apart' | null

/** What became of a submission. `before`: the attempt that it replaced, which had no final. */
export interface Accepted {
  readonly attempt: number
  readonly state: 'accepted' | FinalState | 'replaced'
  readonly isNew: boolean
  readonly pending: Pending | null
  readonly before: Pending | null
}

type Enter = (before: Pending | null) => () => void

/** Attempts of a uid that are remembered beside the newest. */
const mostOlder = 16
/** Damaged records that are counted: a disk that fails may damage all of them. */
const mostDamage = 1000

export class RunStore {
  readonly run: string
  readonly id: string
  readonly state: RunState
  readonly folder: string
  readonly damage: LogDamage[]
  readonly tornBytes: number
  /** What was left out or removed at the start, in words. */
  readonly notes: readonly string[]
  readonly reader: RunReader
  /** Rollouts that were accepted, and finals. */
  readonly accepted: EventRate
  readonly finished: EventRate
  readonly #options: StoreOptions
  readonly #log: CommitLog
  readonly #committing = new Map<string, Promise<unknown>>()
  readonly #files: SegmentFiles
  readonly #waiting = new Set<() => void>()
  /** The number of the last final that was handed to the log. */
  #given: number
  /** The same of early results. */
  #givenPartials: number
  readonly #waitingPartials = new Set<() => void>()
  readonly #compaction: Compaction
  #isClosed = false

  private constructor(
    folder: string,
    options: StoreOptions,
    { run, id, state, damage, tornBytes, notes }: Omit<Recovered, 'sizes' | 'number'>,
    sizes: ReadonlyMap<number, number>,
    number: number,
  ) {
    this.run = run
    this.id = id
    this.state = state
    this.folder = folder
    this.damage = [...damage]
    this.tornBytes = tornBytes
    this.notes = notes
    this.#options = options
    this.#files = new SegmentFiles(folder, options.files, this.#damaged)
    this.reader = new RunReader({ state, files: this.#files, recent: options.recent ?? new RecentFinals() })
    this.#given = state.last
    this.#givenPartials = state.lastPartial
    const { clock, commitMs, segmentBytes, committed, room, files, openFile } = options
    this.accepted = new EventRate(clock)
    this.finished = new EventRate(clock)
    const opening = () => ({
      ...{ k: 'open', format, run, id, seq: this.state.last + 1 },
      ...(this.state.lastPartial > 0 && { partial: this.state.lastPartial + 1 }),
    })
    this.#log = new CommitLog(
      {
        folder,
        clock,
        commitMs,
        segmentBytes,
        opening,
        committed,
        sized: room?.bytesChanged,
        files,
        ...(openFile && { openFile }),
      },
      sizes,
      number,
    )
    if (room) {
      for (const { head } of state.pending) room.pendingChanged(head, 1)
      state.pendingChanged = room.pendingChanged
    }
    this.#compaction = new Compaction({ log: this.#log, state: this.state, files: this.#files })
  }

  /** A new run in an empty folder that exists. */
  static create(folder: string, run: string, options: StoreOptions): RunStore {
    const id = randomBytes(6).toString('hex')
    const state = new RunState()
    state.settle()
    const parts = { run, id, state, damage: [], tornBytes: 0, notes: [] }
    return new RunStore(folder, options, parts, new Map(), 0)
  }

  /** null if the folder holds no run. Throws RG_CONFIG_INVALID; see recoverRun. */
  static async open(folder: string, options: StoreOptions): Promise<RunStore | null> {
    const found = await recoverRun(folder)
    if (!found) return null
    const store = new RunStore(folder, options, found, found.sizes, found.number)
    store.expire()
    return store
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#log.bytes
  }

  /** Nothing of the run is kept any more, and nothing is being written. */
  get isEmpty(): boolean {
    const { size, last, expired } = this.state
    return size === 0 && last === expired && this.#committing.size === 0
  }

  /** The number of the last final that is on disk. */
  get last(): number {
    return this.state.last
  }

  /**
   * The same bytes again change nothing; other bytes are a newer attempt. `enter` takes the room of a new attempt, beside the one without a final
   * that it replaces, and returns what gives it back; it may throw. Rejects with that error, with RG_ATTEMPT_CONFLICT if the number of the
   * attempt is not new, and with the error of the disk.
   */
  async submit(submission: Submission, enter: Enter = () => () => {}): Promise<Accepted> {
    const { uid } = submission
    // Submissions of one uid take turns, so that the same bytes twice at once are accepted once.
    const before = this.#committing.get(uid)
    const own = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#submit(submission, enter))
    this.#committing.set(uid, own)
    try {
      return await own
    } finally {
      if (this.#committing.get(uid) === own) this.#committing.delete(uid)
    }
  }

  async #submit({ body, attempt: given, ...head }: Submission, enter: Enter): Promise<Accepted> {
    const known = await this.reader.sentOf(head.uid)
    const again = known && this.#sentBefore(head.uid, known, head.digest)
    if (again) return { ...again, isNew: false, before: null }
    const newest = known?.attempt ?? 0
    if (given !== undefined && given <= newest)
      throw new GatewayError(
        'RG_ATTEMPT_CONFLICT',
        `the newest attempt of this uid is ${newest}, with other bytes than this attempt ${given}`,
      )
    const attempt = given ?? newest + 1
    const older = known ? [...known.older, { attempt: newest, digest: known.digest }].slice(-mostOlder) : []
    const before = this.state.pendingOf(head.uid) ?? null
    const leave = enter(before)
    try {
      const at = this.#options.wallClock()
      const accept: AcceptHead = { k: 'accept', ...head, attempt, older, at, since: this.#given }
      const place = (await this.#log.add({ ...accept }, body)) as Place
      this.accepted.count()
      const before = this.state.accepted(accept, place, body.length)
      if (before) before.isOver = true
      const pending = this.state.pendingOf(head.uid) ?? null
      return { attempt, state: 'accepted', isNew: true, pending, before }
    } finally {
      leave()
    }
  }

  /** What to answer to bytes that were sent before; null if they are new. */
  #sentBefore(
    uid: string,
    { attempt, digest, older }: Sent,
    sent: string,
  ): Pick<Accepted, 'attempt' | 'state' | 'pending'> | null {
    if (digest === sent) {
      const newest = this.state.newestOf(uid)
      if (typeof newest === 'object') return { attempt, state: 'accepted', pending: newest }
      return { attempt, state: this.state.final(newest ?? 0)?.state ?? 'damaged', pending: null }
    }
    const one = older.findLast((earlier) => earlier.digest === sent)
    return one ? { attempt: one.attempt, state: 'replaced', pending: null } : null
  }

  /**
   * Gives rollouts their finals: all of them or, if the process ends meanwhile, none. Resolves once they are on disk; tries again until they
   * are. Leaves out rollouts that have one. `group`: what became of the group that their reward compares; null: it compares none.
   */
  async finish(given: readonly GivenFinal[], group: GroupFate = null): Promise<void> {
    const open = given.filter(({ pending }) => !pending.isOver)
    if (open.length === 0) return
    const at = this.#options.wallClock()
    const finals = open.map(({ pending, state, result, version }, index) => {
      pending.isOver = true
      this.#given += 1
      const { uid, attempt, digest, older, reward } = pending.head
      const part = open.length > 1 ? ([index, open.length] as const) : undefined
      const key = (group && groupKeyOf(pending.head)) ?? undefined
      if (key !== undefined && group === 'apart') this.state.groups.ended(key, uid)
      const head: FinalHead = {
        ...{ k: 'final', uid, attempt, digest, older, seq: this.#given, at, state },
        ...{ reward, version, part, group: key, whole: group === 'whole' || undefined },
      }
      return { head, result }
    })
    const records = finals.map(({ head, result }) => ({ head: { ...head }, body: Buffer.from(result) }))
    const places = await this.#log.addTogether(records)
    for (const [index, { head, result }] of finals.entries()) {
      this.finished.count()
      this.state.finished(head, places[index] as Place)
      const { seq, uid, attempt, state } = head
      this.reader.remember({ seq, uid, attempt, at, state, reward: rewardOf(head), result })
    }
    for (const wake of [...this.#waiting]) wake()
  }

  /** Keeps a judge's answer until the rollout has its final. Never rejects: an answer that is lost is asked for again. */
  async keepAnswer(pending: Pending, key: string, answer: string): Promise<void> {
    const { uid, attempt, since } = pending.head
    const head: AnswerHead = { k: 'answer', uid, attempt, since, key }
    const isStale = () => pending.isOver
    try {
      const place = await this.#log.add({ ...head }, Buffer.from(answer), { isStale })
      if (place) this.state.answered(head, place)
    } catch {
      // The next commit reports the disk.
    }
  }

  /** Gives a rollout its early result, unless it has one or its final. Never rejects: one that is lost is found again. */
  async keepPartial(pending: Pending, terms: string): Promise<void> {
    if (pending.isOver || pending.partial) return
    this.#givenPartials += 1
    const { uid, attempt, since } = pending.head
    const number = this.#givenPartials
    const head: PartialHead = {
      ...{ k: 'partial', uid, attempt, since, number },
      at: this.#options.wallClock(),
    }
    try {
      const place = await this.#log.add({ ...head }, Buffer.from(terms), { isStale: () => pending.isOver })
      if (!place) return
      this.state.gotPartial(head, place)
      for (const wake of [...this.#waitingPartials]) wake()
    } catch {
      // The next commit reports the disk.
    }
  }

  /** Calls `wake` after each final. The returned function ends that. */
  onFinal(wake: () => void): () => void {
    this.#waiting.add(wake)
    return () => {
      this.#waiting.delete(wake)
    }
  }

  /** The same for early results. */
  onPartial(wake: () => void): () => void {
    this.#waitingPartials.add(wake)
    return () => {
      this.#waitingPartials.delete(wake)
    }
  }

  readonly #damaged = ({ segment, at }: Place): void => {
    if (this.damage.length >= mostDamage) return
    if (this.damage.some((known) => known.segment === segment && known.at === at)) return
    const text = `the record at offset ${at} of ${segmentName(segment)} is damaged`
    this.damage.push({ segment, at, text })
    this.#options.damaged?.(this, text)
  }

  /** Forgets finals that were kept long enough. */
  expire(): void {
    this.state.expire(this.#options.wallClock() - this.#options.keepMs)
    this.reader.forget(this.state.expired)
  }

  /** Forgets the oldest finals until this much is left of them. Resolves to how many it forgot. */
  async keepAtMost({ finals, bytes }: Kept): Promise<number> {
    const { state } = this
    const before = state.expired
    const forgetting = inSlices(() => {
      if (state.expired === state.last || (state.kept <= finals && state.keptBytes <= bytes)) return false
      state.dropOldest()
      return true
    })
    if (forgetting !== null) await forgetting
    this.reader.forget(state.expired)
    return state.expired - before
  }

  /** See Compaction. Rejects if the disk does. */
  compact(isFull = false): Promise<void> {
    return this.#compaction.run(isFull)
  }

  /** It takes nothing more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Writes what waits, then closes the files. */
  async close(): Promise<void> {
    this.#isClosed = true
    const compacted = this.#compaction.stop()
    await this.#log.close()
    await compacted
    await this.#files.closeAll()
    this.reader.forget(this.state.last)
    for (const wake of [...this.#waiting]) wake()
  }
}
