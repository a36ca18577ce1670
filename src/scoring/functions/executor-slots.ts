import type { Clock } from '../../core/clock.ts'
import type { ChunkQueue, Lane, WaitingJob } from './chunk-queue.ts'
import type { Executor } from './job.ts'
import { idleMark } from './progress.ts'

/** A chunk that was sent to an executor. */
export interface AssignedChunk {
  readonly number: number
  readonly lane: Lane
  readonly jobs: readonly WaitingJob[]
  /** Limit of one job: the time limit, or a slice of it while quicker jobs may be waiting. */
  readonly limitMs: number
}

/** A place for an executor in a pool: its chunks, and its progress as last seen. */
export interface ExecutorSlot {
  executor: Executor
  readonly startedAt: number
  isReady: boolean
  /** The running chunk first. */
  chunks: AssignedChunk[]
  seenMark: number
  seenAt: number
}

/**
 * Decides which lanes may use one more executor. Quick functions together use at most `executors`, and so do all others;
 * the pool has one more than that. A function that hung recently gets one, and all such functions leave one to the rest.
 * `isBehind`: the chunk will wait behind another.
 */
export function laneRule(
  slots: Iterable<ExecutorSlot>,
  queue: ChunkQueue,
  executors: number,
  isBehind: boolean,
): (lane: Lane) => boolean {
  let quick = 0
  let apart = 0
  let suspects = 0
  const running: string[] = []
  for (const { chunks } of slots) {
    const lane = chunks[0]?.lane
    if (!lane) continue
    if (lane.name === null) quick++
    else {
      apart++
      running.push(lane.name)
      if (queue.isSuspect(lane)) suspects++
    }
  }
  return (lane) => {
    if (lane.name === null) return isBehind || quick < executors
    if (isBehind || apart >= executors) return false
    return !queue.isSuspect(lane) || (suspects < Math.max(1, executors - 1) && !running.includes(lane.name))
  }
}

/** The jobs that may have killed their executor, and whether it is certain that one of them did. */
export function suspectsOf(
  { executor, chunks }: ExecutorSlot,
  isBroken: boolean,
): { readonly suspects: readonly WaitingJob[]; readonly areKnown: boolean } {
  const oldest = chunks[0]?.jobs ?? []
  if (isBroken) return { suspects: oldest, areKnown: true }
  const stage = executor.stage()
  const victim =
    'index' in stage ? chunks.find(({ number }) => number === stage.chunk)?.jobs[stage.index] : undefined
  return victim ? { suspects: [victim], areKnown: true } : { suspects: oldest, areKnown: false }
}

/** If a check comes this much too late, this thread was blocked. */
const lateMs = 250
/** An executor that does not begin its chunk within this time is hung. Loaded machines need some time. */
const minBeginMs = 5000

/** The time limits of a pool's executors. */
interface WatchLimits {
  readonly sampleTimeoutMs: number
  readonly loadTimeoutMs: number
  readonly clock: Clock
}

/** What the watch reports. */
interface WatchEvents {
  /** A job reached its limit. `isPreempted`: the limit was only a slice of the time limit. */
  hung(slot: ExecutorSlot, victim: WaitingJob, limitMs: number, isPreempted: boolean): void
  broken(slot: ExecutorSlot, reason: string): void
}

/** Checks executors while any has work. A time limit starts when its job is first seen running, never at dispatch. */
export class SlotWatch {
  readonly #limits: WatchLimits
  readonly #slots: ReadonlySet<ExecutorSlot>
  readonly #events: WatchEvents
  #isRunning = false

  constructor(limits: WatchLimits, slots: ReadonlySet<ExecutorSlot>, events: WatchEvents) {
    this.#limits = limits
    this.#slots = slots
    this.#events = events
  }

  /** Runs until no executor has work. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    const { clock, sampleTimeoutMs } = this.#limits
    const waitMs = Math.min(Math.max(sampleTimeoutMs / 8, 2), 100)
    const due = clock.now() + waitMs
    clock.after(waitMs, () => {
      this.#isRunning = false
      const now = clock.now()
      const busy = [...this.#slots].filter(({ chunks, isReady }) => chunks.length > 0 || !isReady)
      for (const slot of busy) this.#look(slot, now, now - due > lateMs)
      if (busy.length > 0) this.start()
    })
  }

  /** Restarts the clock: the executor's current work begins now. */
  see(slot: ExecutorSlot, mark: number): void {
    slot.seenMark = mark
    slot.seenAt = this.#limits.clock.now()
  }

  #look(slot: ExecutorSlot, now: number, wasBlocked: boolean): void {
    const { loadTimeoutMs, sampleTimeoutMs } = this.#limits
    if (!slot.isReady) {
      if (now - slot.startedAt >= loadTimeoutMs && !wasBlocked) this.#events.broken(slot, 'it did not start')
      return
    }
    const stage = slot.executor.stage()
    const mark = stage.at === 'idle' ? idleMark : stage.mark
    const [running] = slot.chunks
    if (mark !== slot.seenMark) {
      this.see(slot, mark)
      return
    }
    // The executor's own chunk number decides, not the oldest chunk: its results may be sent but not read yet.
    const victim =
      stage.at !== 'idle' && stage.chunk === running?.number ? running.jobs[stage.index] : undefined
    if (stage.at === 'idle' || !running || !victim) {
      // After this thread was blocked, messages of the executor are still unread.
      if (wasBlocked) this.see(slot, mark)
      else if (now - slot.seenAt >= Math.max(minBeginMs, sampleTimeoutMs))
        this.#events.broken(slot, 'it did not begin its chunk')
      return
    }
    const limitMs = stage.at === 'running' ? running.limitMs : loadTimeoutMs
    if (now - slot.seenAt < limitMs) return
    this.#events.hung(slot, victim, limitMs, stage.at === 'running' && limitMs < sampleTimeoutMs)
  }
}
