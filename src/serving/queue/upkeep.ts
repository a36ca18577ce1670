/** What the queue does every few seconds, and what fails of its folder. */
import type { Clock } from '../../core/clock.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { GatewaySettings } from '../../scoring/plan/gateway-config.ts'
import type { Kept } from './final-index.ts'
import type { FolderLock } from './folder-lock.ts'
import type { Room } from './room.ts'
import type { RunStore } from './run-store.ts'

/** Events of the queue. */
export interface QueueEvents {
  /** Once with the reason when something of the disk begins to fail, once with null when all works again. */
  disk?(trouble: string | null): void
  /** Of a commit that reached the disk. */
  committed?(bytes: number, ms: number): void
  /** A record in the folder of a run is damaged: found at the start, or when it was read later. */
  damaged?(run: string, folder: string, text: string): void
  /** A run as it was found at the start. `expired`: finals that are kept no more. */
  recovered?(
    run: string,
    found: { readonly unfinished: number; readonly finals: number; readonly expired: number },
  ): void
  /** Something in a folder was left out or removed at the start. */
  leftOut?(folder: string, text: string): void
  /** Finals were removed before `queue.keep_s` because all runs keep too many. Once, until there is room again. */
  dropped?(finals: number, most: Kept): void
  /** Another process took the folder over. */
  lost?(): void
}

interface UpkeepParts {
  readonly clock: Clock
  readonly lock: FolderLock
  readonly runs: ReadonlyMap<string, RunStore>
  readonly room: Room
  readonly settings: () => NonNullable<GatewaySettings['queue']>
  readonly events: QueueEvents | undefined
  /** Another process has taken the folder over. */
  readonly lost: () => void
  /** Removes a run of which nothing is kept; null: it stays. */
  readonly remove: (run: string, store: RunStore) => Promise<void> | null
}

const everyMs = 5000

export class Upkeep {
  readonly #parts: UpkeepParts
  /** What fails -> why. */
  readonly #troubles = new Map<string, string>()
  #cancel: () => void
  #running: Promise<void> = Promise.resolve()
  #isStopped = false
  #isDropping = false
  /** Another process has taken the folder over. */
  hasLost = false
  /** Finals that were removed before `queue.keep_s`. */
  droppedFinals = 0

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    this.#cancel = parts.clock.after(everyMs, this.#run)
  }

  /** The last write failed. */
  get isDiskFailing(): boolean {
    return this.#troubles.has('write')
  }

  /** Why the queue accepts nothing, or what else of its folder fails; null: nothing. */
  get trouble(): string | null {
    if (this.hasLost) return 'another process has taken over queue.folder'
    return [...this.#troubles.values()][0] ?? null
  }

  /** `trouble`: why something fails; null: it works. */
  report(what: string, trouble: string | null): void {
    const before = this.#troubles.size
    if (trouble === null) this.#troubles.delete(what)
    else this.#troubles.set(what, trouble)
    if (before === 0 && trouble !== null) this.#parts.events?.disk?.(trouble)
    if (before > 0 && this.#troubles.size === 0) this.#parts.events?.disk?.(null)
  }

  /** Resolves once what is under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#running
  }

  readonly #run = (): void => {
    this.#running = this.#all()
      .then(
        () => this.report('upkeep', null),
        (error) => this.report('upkeep', reasonOf(error)),
      )
      .finally(() => {
        if (!this.#isStopped) this.#cancel = this.#parts.clock.after(everyMs, this.#run)
      })
  }

  async #all(): Promise<void> {
    if (!(await this.#isOwner())) return
    const { runs, room, settings, remove } = this.#parts
    const isFull = room.bytes > 0.8 * settings().max_bytes
    for (const store of runs.values()) store.expire()
    await this.#boundFinals()
    for (const [run, store] of runs) {
      const removing = store.isEmpty ? remove(run, store) : null
      if (removing === null) this.#compact(run, store, isFull)
      else {
        this.report(`compact ${run}`, null)
        await removing
      }
    }
  }

  /** A run that takes long keeps no other from its turn. */
  #compact(run: string, store: RunStore, isFull: boolean): void {
    store.compact(isFull).then(
      () => this.report(`compact ${run}`, null),
      (error) => this.report(`compact ${run}`, `a log cannot be compacted: ${reasonOf(error)}`),
    )
  }

  /** False once another process has taken the folder over. A lock that cannot be read is looked at again later. */
  async #isOwner(): Promise<boolean> {
    const { lock, lost, events } = this.#parts
    if (this.hasLost) return false
    try {
      const isOwn = await lock.isOwn()
      this.report('lock', null)
      if (isOwn) return true
    } catch (error) {
      this.report('lock', `queue.folder's lock cannot be read: ${reasonOf(error)}`)
      return true
    }
    this.hasLost = true
    lost()
    events?.lost?.()
    return false
  }

  async #boundFinals(): Promise<void> {
    const { runs, settings, events } = this.#parts
    const most = mostKept(settings())
    const dropped = await boundFinals([...runs.values()], most)
    this.droppedFinals += dropped
    if (dropped > 0 && !this.#isDropping) events?.dropped?.(dropped, most)
    this.#isDropping = dropped > 0
  }
}

/** What all runs may keep together: in memory by the number of finals, on disk by their bytes. */
const mostKept = ({ keep_finals, keep_bytes, max_bytes }: NonNullable<GatewaySettings['queue']>): Kept => ({
  finals: keep_finals,
  bytes: keep_bytes ?? Math.floor(max_bytes / 2),
})

/** Takes the oldest finals from the runs that keep most, until all together keep at most `most`. Resolves to how many it took. */
export async function boundFinals(stores: readonly RunStore[], most: Kept): Promise<number> {
  const level: Kept = {
    finals: levelOf(
      stores.map(({ state }) => state.kept),
      most.finals,
    ),
    bytes: levelOf(
      stores.map(({ state }) => state.keptBytes),
      most.bytes,
    ),
  }
  let taken = 0
  for (const store of stores) taken += await store.keepAtMost(level)
  return taken
}

/** The amount to which those that have more come down, so that all together have at most `most`. */
function levelOf(amounts: readonly number[], most: number): number {
  let left = most
  for (const [at, amount] of [...amounts].sort((one, other) => one - other).entries()) {
    const level = left / (amounts.length - at)
    if (amount > level) return level
    left -= amount
  }
  return Number.POSITIVE_INFINITY
}
