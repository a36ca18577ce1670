/** Durable scoring: the runs of a folder, each with its store, and one scheduler for all. */
import { hash } from 'node:crypto'
import { type open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, steadyUnixTime } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../../core/make-folder.ts'
import { eachInSlices } from '../../core/slices.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { GatewaySettings } from '../../scoring/plan/gateway-config.ts'
import { nativeResultText } from '../../trainers/native-result.ts'
import { syncFolder } from './commit-log.ts'
import { type FolderLock, lockFolder } from './folder-lock.ts'
import { OpenFiles } from './open-files.ts'
import { EventRate, Room, type Sender } from './room.ts'
import { RecentFinals } from './run-reader.ts'
import type { Pending } from './run-state.ts'
import { type Accepted, RunStore, type StoreOptions, type Submission } from './run-store.ts'
import { Scheduler } from './scheduler.ts'
import { cancelled, unscored } from './unscored.ts'
import { type QueueEvents, Upkeep } from './upkeep.ts'

/** `queue` of gateway.yaml. */
type QueueSettings = NonNullable<GatewaySettings['queue']>

/** What the queue needs, and the parts that tests replace. */
export interface QueueOptions {
  readonly gateway: Gateway
  readonly clock: Clock
  readonly events?: QueueEvents
  /** Unix time in milliseconds. Default: the system's at the start, and then the clock's. */
  readonly wallClock?: () => number
  readonly openFile?: typeof open
}

/** Which rollouts of a run to cancel. */
export interface Cancellation {
  readonly uid?: string | undefined
  readonly group?: string | undefined
  readonly policyBelow?: number | undefined
}

const segmentBytes = 64 * 1024 * 1024
/** Runs that are remembered after their removal: a reader that had all their finals has lost none. */
const mostRemoved = 1024

/** Opens the queue that the settings ask for; null if they ask for none. Throws RG_CONFIG_INVALID. */
export async function openQueue(options: QueueOptions): Promise<RolloutQueue | null> {
  const settings = options.gateway.settings.queue
  if (!settings) return null
  const { folder } = settings
  try {
    await makeFolder(folder, 0o750)
    const lock = await lockFolder(folder)
    const queue = new RolloutQueue(settings, lock, options)
    try {
      await queue.recover()
    } catch (error) {
      await queue.close()
      throw error
    }
    return queue
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('RG_CONFIG_INVALID', `queue.folder: ${folder}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

export class RolloutQueue {
  readonly scheduler: Scheduler
  readonly room: Room
  readonly upkeep: Upkeep
  readonly #runs = new Map<string, RunStore>()
  readonly #opening = new Map<string, Promise<RunStore>>()
  readonly #settings: QueueSettings
  readonly #folder: string
  readonly #lock: FolderLock
  readonly #options: QueueOptions
  /** Unix time in milliseconds, which no change of the system's time moves: nothing ends early, and nothing late. */
  readonly now: () => number
  readonly #stopping = new AbortController()
  readonly #rate: EventRate
  readonly #files = new OpenFiles()
  readonly #recent = new RecentFinals()
  readonly #whenCreated = new Set<() => void>()
  readonly #removed = new Map<string, number>()
  /** Runs whose folders are being removed. */
  readonly #removing = new Map<string, Promise<void>>()

  constructor(settings: QueueSettings, lock: FolderLock, options: QueueOptions) {
    this.#settings = settings
    this.#folder = settings.folder
    this.#lock = lock
    this.#options = options
    const { gateway, clock } = options
    this.now = options.wallClock ?? steadyUnixTime(clock)
    this.#rate = new EventRate(clock)
    this.room = new Room({
      settings: () => this.settings,
      questionsOf: (reward) => gateway.questionsPerRow(reward),
      rate: this.#rate,
    })
    this.scheduler = new Scheduler({
      gateway,
      clock,
      wallClock: this.now,
      maxRunning: () => this.settings.max_running,
    })
    this.upkeep = new Upkeep({
      clock,
      lock,
      runs: this.#runs,
      room: this.room,
      settings: () => this.settings,
      events: options.events,
      lost: () => this.stop(),
      // A run whose first rollout is being accepted is empty, too.
      remove: (run, store) => (this.#opening.has(run) ? null : this.#remove(run, store)),
    })
  }

  /** Those of the newest configs; a reload changes neither the folder nor `commit_ms` and `keep_s` of open runs. */
  get settings(): QueueSettings {
    return this.#options.gateway.settings.queue ?? this.#settings
  }

  /** Reads the runs of the folder and goes on with their rollouts. */
  async recover(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (!/^run-[0-9a-f]{32}$/.test(name)) continue
      const folder = join(this.#folder, name)
      const store = await RunStore.open(folder, this.#storeOptions())
      if (!store) {
        await rm(folder, { recursive: true })
        this.#options.events?.leftOut?.(folder, 'the folder was removed: no record was ever on disk')
        continue
      }
      const { run, damage, notes, state } = store
      if (folderOf(run) !== name)
        throw new GatewayError(
          'RG_CONFIG_INVALID',
          `queue: ${folder} holds the run '${run}', whose folder is ${folderOf(run)}`,
        )
      this.#runs.set(run, store)
      const { events } = this.#options
      for (const text of notes) events?.leftOut?.(folder, text)
      for (const { text } of damage) events?.damaged?.(run, folder, text)
      const { pending, kept: finals, expired } = state
      events?.recovered?.(run, { unfinished: pending.size, finals, expired })
    }
    for (const store of this.#runs.values()) {
      store.onFinal(this.#rate.count)
      for (const pending of store.state.pending) this.scheduler.add(store, pending)
    }
  }

  /** Aborted when the server ends: waiting readers are answered. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** The runs, by name. */
  get runs(): ReadonlyMap<string, RunStore> {
    return this.#runs
  }

  /** The number of the last final of a run that was removed a while ago, by the run's id; undefined if that is not known. */
  lastOfRemoved(id: string): number | undefined {
    return this.#removed.get(id)
  }

  /**
   * Takes a rollout; see RunStore.submit. Rejects with RG_OVERLOADED if there is no room, RG_REWARD_UNKNOWN, RG_REQUEST_INVALID if a
   * group's size is missing, and RG_DISK_FAILED if it is not on disk.
   */
  async submit(run: string, sent: Omit<Submission, 'key'>, sender?: Sender): Promise<Accepted> {
    const submission = sender ? { ...sent, key: sender.name } : sent
    this.#check(submission)
    const { reward, body } = submission
    // The same bytes again cost nothing. A newer attempt costs its bytes, and a place if the older one has its final.
    const enter = (before: Pending | null) => this.room.enter(reward, body.length, before, sender)
    let accepted: Accepted
    let store: RunStore
    try {
      // A rollout without room begins no run.
      if (!this.#runs.has(run)) enter(null)()
      store = await this.#storeOf(run)
      // It was removed a moment ago.
      while (store.isClosed && !this.stopping.aborted) store = await this.#storeOf(run)
      accepted = await store.submit(submission, enter)
    } catch (error) {
      throw error instanceof GatewayError ? error : diskFailed(error)
    }
    const { isNew, pending, before } = accepted
    if (before) this.scheduler.drop(store, before, true)
    if (isNew && pending && !pending.isOver) this.scheduler.add(store, pending, submission.body)
    return accepted
  }

  /** Gives matching rollouts the final `cancelled`. Resolves to how many once that is on disk. */
  async cancel(run: string, { uid, group, policyBelow }: Cancellation): Promise<number> {
    const store = this.#runs.get(run)
    if (!store) return 0
    const { state } = store
    const named = state.pendingOf(uid ?? '')
    const candidates = uid === undefined ? [...state.pending] : named ? [named] : []
    const matches = ({ isOver, head }: Pending): boolean =>
      !isOver &&
      (group === undefined || head.group === group) &&
      (policyBelow === undefined || isBelow(head.policy, policyBelow))
    const finals: Promise<void>[] = []
    const unread: Pending[] = []
    const cancelling = eachInSlices(candidates.length, (index) => {
      const pending = candidates[index] as Pending
      if (!matches(pending)) return
      const result = nativeResultText(unscored(pending, cancelled))
      finals.push(
        store.finish([{ pending, state: 'cancelled', result }], this.scheduler.fateWithoutOthers(pending)),
      )
      // The engine shows those that are being scored.
      if (this.scheduler.stateOf(pending) !== 'running') unread.push(pending)
      this.scheduler.drop(store, pending, false)
    })
    if (cancelling !== null) await cancelling
    try {
      await Promise.all(finals)
    } catch (error) {
      throw diskFailed(error)
    }
    await this.scheduler.showCancelled(store, unread)
    return finals.length
  }

  /** Calls `wake` after each new run. The returned function ends that. */
  onCreated(wake: () => void): () => void {
    this.#whenCreated.add(wake)
    return () => {
      this.#whenCreated.delete(wake)
    }
  }

  /** Starts nothing more, and wakes readers that wait. */
  stop(): void {
    this.scheduler.stop()
    this.#stopping.abort()
  }

  /** Call after the gateway was closed: what it still finished is written. */
  async close(): Promise<void> {
    this.stop()
    await this.upkeep.stop()
    const ended = this.scheduler.idle()
    await Promise.allSettled([...this.#opening.values()])
    // A disk that fails must not keep the process: what waits for it is scored again.
    await Promise.all([...this.#runs.values()].map((store) => store.close()))
    await ended
    await this.#lock.release()
  }

  #check({ reward, group, size }: Submission): void {
    if (this.upkeep.hasLost)
      throw new GatewayError(
        'RG_CLOSING',
        'another process has taken over queue.folder; this gateway accepts nothing more',
      )
    const { name, steps } = this.#options.gateway.reward(reward)
    const over = steps.find(({ kind }) => kind === 'group-rule' || kind === 'pair' || kind === 'list')
    if (!over || (group !== undefined && size !== undefined)) return
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `the step '${over.name}' of '${name}' compares the answers of a group: the sample needs a group_id and a group_size`,
    )
  }

  #storeOf(run: string): Promise<RunStore> {
    const known = this.#runs.get(run)
    if (known) return Promise.resolve(known)
    let opening = this.#opening.get(run)
    if (!opening) {
      opening = this.#create(run).finally(() => this.#opening.delete(run))
      this.#opening.set(run, opening)
    }
    return opening
  }

  async #create(run: string): Promise<RunStore> {
    const { max_runs } = this.settings
    if (this.#runs.size + this.#opening.size >= max_runs)
      throw new GatewayError(
        'RG_OVERLOADED',
        `the queue has ${this.#runs.size} runs, and queue.max_runs is ${max_runs}`,
        { retryAfterS: 60 },
      )
    await this.#removing.get(run)
    const folder = join(this.#folder, folderOf(run))
    await makeFolder(folder, 0o750)
    await syncFolder(this.#folder)
    const store = RunStore.create(folder, run, this.#storeOptions())
    this.#runs.set(run, store)
    store.onFinal(this.#rate.count)
    for (const wake of [...this.#whenCreated]) wake()
    return store
  }

  #storeOptions(): StoreOptions {
    const { clock, openFile, events } = this.#options
    const { commit_ms, keep_s } = this.settings
    return {
      clock,
      wallClock: this.now,
      commitMs: commit_ms,
      segmentBytes,
      keepMs: keep_s * 1000,
      room: this.room,
      files: this.#files,
      recent: this.#recent,
      committed: (error, bytes, ms) => {
        this.upkeep.report('write', error === null ? null : reasonOf(error))
        if (error === null) events?.committed?.(bytes, ms)
      },
      damaged: ({ run, folder }, text) => events?.damaged?.(run, folder, text),
      ...(openFile && { openFile }),
    }
  }

  /** A run whose finals have all expired leaves nothing behind, nor does one whose first rollout was never on disk. */
  #remove(run: string, store: RunStore): Promise<void> {
    const removing = (async () => {
      await store.close()
      await rm(join(this.#folder, folderOf(run)), { recursive: true, force: true })
    })().finally(() => this.#removing.delete(run))
    this.#runs.delete(run)
    this.#removed.set(store.id, store.last)
    if (this.#removed.size > mostRemoved) this.#removed.delete([...this.#removed.keys()][0] ?? '')
    this.#removing.set(run, removing)
    this.room.bytesChanged(-store.bytes)
    return removing
  }
}

/** A name that any client chose is never part of a path. */
const folderOf = (run: string): string => `run-${hash('sha256', run).slice(0, 32)}`

/** Versions that are texts are compared as numbers where they are. */
const isBelow = (policy: string | number | undefined, bound: number): boolean =>
  policy !== undefined && String(policy).trim() !== '' && Number(policy) < bound

const diskFailed = (error: unknown): GatewayError =>
  new GatewayError('RG_DISK_FAILED', `the queue's disk failed: ${reasonOf(error)}; nothing was accepted`, {
    cause: error,
    retryAfterS: 5,
  })
