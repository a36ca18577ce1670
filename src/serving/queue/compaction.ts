/**
 * Removes the oldest files of a run. What still counts of them is copied to the end of the log first. Only the oldest is ever
 * removed: a gap in the numbers of the records that are left means that some are damaged.
 */
import { eachInSlices } from '../../core/slices.ts'
import type { CommitLog } from './commit-log.ts'
import { groupKeyOf } from './group-ends.ts'
import type { AnswerHead, PartialHead } from './records.ts'
import type { Pending, RunState } from './run-state.ts'
import type { SegmentFiles } from './segment-files.ts'

/**
 * The oldest file is removed once at most this share of it counts, or of all finished files together: one that counts for long
 * keeps no others on disk, and each byte that is copied frees as many. More counts as little if the queue is nearly full.
 */
const mostLive = { usual: 0.5, full: 0.9 }
/** The file that is written to is finished for this, too, once so many bytes of the log count no more: a run may write no others for hours. */
const mostDeadBytes = 1024 * 1024
/** What is copied with one commit, and held in memory meanwhile; one record may be longer. */
const atOnce = { records: 256, bytes: 4 * 1024 * 1024 }

interface CompactionParts {
  readonly log: CommitLog
  readonly state: RunState
  readonly files: SegmentFiles
}

export class Compaction {
  readonly #parts: CompactionParts
  #running: Promise<void> | null = null
  #isStopped = false

  constructor(parts: CompactionParts) {
    this.#parts = parts
  }

  /** Removes the oldest files as far as little of them still counts; `isFull`: even if much does. Rejects if the disk does. */
  run(isFull: boolean): Promise<void> {
    this.#running ??= this.#run(isFull).finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** Begins with no further file. Resolves once what was begun has ended; close the log meanwhile, for it may wait for the disk. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running?.catch(() => {})
  }

  async #run(isFull: boolean): Promise<void> {
    const { log, state, files } = this.#parts
    const most = isFull ? mostLive.full : mostLive.usual
    if (this.#isOpenDead(most)) await log.seal()
    for (const [segment, bytes] of log.sealed) {
      const live = state.live.get(segment) ?? 0
      if (this.#isStopped || (live > most * bytes && this.#shareOf(log.sealed).live > most)) return
      await this.#copy(segment)
      await files.close(segment)
      await log.remove(segment)
      state.live.delete(segment)
    }
  }

  /** Whether little of the file that is written to counts, and little of all files with it. */
  #isOpenDead(most: number): boolean {
    const { log } = this.#parts
    if (log.open === null) return false
    const all = this.#shareOf([...log.sealed, log.open])
    return all.live <= most && all.dead >= mostDeadBytes && this.#shareOf([log.open]).live <= most
  }

  /** Which share of some files counts, and how many of their bytes do not. */
  #shareOf(files: CommitLog['sealed']): { readonly live: number; readonly dead: number } {
    let live = 0
    let all = 0
    for (const [segment, bytes] of files) {
      live += this.#parts.state.live.get(segment) ?? 0
      all += bytes
    }
    return { live: all === 0 ? 1 : live / all, dead: all - live }
  }

  async #copy(segment: number): Promise<void> {
    const { state } = this.#parts
    // The last records of the file may have been written a moment ago, and not be in `state` yet.
    await this.#passed()
    const copies: { readonly bytes: number; readonly copy: () => Promise<void> }[] = []
    const first = state.expired + 1
    await eachInSlices(state.last - state.expired, (at) => {
      const place = state.final(first + at)?.place
      if (place?.segment === segment)
        copies.push({ bytes: place.length, copy: () => this.#copyFinal(first + at) })
    })
    const pending = [...state.pending]
    await eachInSlices(pending.length, (at) => {
      const one = pending[at] as Pending
      const bytes = bytesIn(one, segment)
      if (bytes > 0) copies.push({ bytes, copy: () => this.#copyPending(one, segment) })
    })
    let some: Promise<void>[] = []
    let bytes = 0
    for (const one of copies) {
      bytes += one.bytes
      if (some.length > 0 && (some.length >= atOnce.records || bytes > atOnce.bytes)) {
        await Promise.all(some)
        some = []
        bytes = one.bytes
      }
      some.push(one.copy())
    }
    await Promise.all(some)
    // What has its final was not copied: that final is on disk now.
    await this.#passed()
  }

  /** Resolves once everything is on disk that was handed to the log before. */
  async #passed(): Promise<void> {
    await this.#parts.log.add({ k: 'mark' }, new Uint8Array(), { isKept: true })
  }

  async #copyFinal(seq: number): Promise<void> {
    const { log, state, files } = this.#parts
    const final = state.final(seq)
    if (!final) return
    const { head, body } = await files.record(final.place)
    const { uid, attempt, at } = final
    const { digest = '', older = [], reward, version } = head
    // A damaged result stays damaged.
    const said = body === null ? 'damaged' : final.state
    const copy = { k: 'final', uid, attempt, digest, older, seq, at, state: said, reward, version }
    const place = await log.add(copy, body ?? Buffer.from('null'), { isKept: true })
    if (place) state.moved(seq, place)
  }

  async #copyPending(pending: Pending, segment: number): Promise<void> {
    const { log, state, files } = this.#parts
    const { uid, attempt, since } = pending.head
    const kept = { isKept: true, isStale: () => pending.isOver }
    for (const [key, place] of [...pending.answers]) {
      if (place.segment !== segment) continue
      const body = await files.body(place)
      const head: AnswerHead = { k: 'answer', uid, attempt, since, key }
      const copied = body && (await log.add({ ...head }, body, kept))
      if (copied) state.answered(head, copied)
    }
    const { partial } = pending
    if (partial?.place.segment === segment) {
      const { number, at } = partial
      const body = await files.body(partial.place)
      const head: PartialHead = { k: 'partial', uid, attempt, since, number, at }
      const copied = body && (await log.add({ ...head }, body, kept))
      if (copied) state.gotPartial(head, copied)
    }
    if (pending.place.segment !== segment || pending.isOver) return
    const body = await files.body(pending.place)
    const group = groupKeyOf(pending.head)
    const ended = group === null ? [] : state.groups.endedOf(group)
    const without = ended.length === 0 ? undefined : ended
    const place = await log.add({ ...pending.head, without }, body ?? new Uint8Array(), kept)
    if (place) state.movedPending(pending, place, body === null)
  }
}

/** Bytes of a rollout's records in a file. */
function bytesIn({ place, partial, answers }: Pending, segment: number): number {
  let bytes = 0
  for (const one of [place, partial?.place, ...answers.values()])
    if (one?.segment === segment) bytes += one.length
  return bytes
}
