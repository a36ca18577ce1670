/** Reads a run's records again: finals and early results for readers, and what the scheduler needs of a rollout. */
import { heapShare } from '../../core/heap-share.ts'
import { type Place, segmentName } from './commit-log.ts'
import type { FinalHead, FinalState, OlderAttempt, PartialHead } from './records.ts'
import type { Pending, RunState } from './run-state.ts'
import type { SegmentFiles } from './segment-files.ts'

/** A final as it is read. `result` is null if its record is damaged. */
export interface ReadFinal {
  readonly seq: number
  readonly uid: string
  readonly attempt: number
  readonly at: number
  readonly state: FinalState
  /** `version`: of the config that scored it; null: nothing was scored. null: the record is damaged or of an earlier version. */
  readonly reward: { readonly name: string; readonly version: string | null } | null
  readonly result: string | null
}

export const rewardOf = ({ reward, version }: Partial<FinalHead>): ReadFinal['reward'] =>
  reward === undefined ? null : { name: reward, version: version ?? null }

/** An early result as it is read. `terms`: JSON. */
export interface ReadPartial extends Pick<PartialHead, 'number' | 'uid' | 'attempt' | 'at'> {
  readonly terms: string
}

/** The bytes that were sent for an attempt, and for those before it. */
export interface Sent {
  readonly attempt: number
  /** '': its record is damaged. */
  readonly digest: string
  readonly older: readonly OlderAttempt[]
}

interface ReaderParts {
  readonly state: RunState
  readonly files: SegmentFiles
  readonly recent: RecentFinals
}

export class RunReader {
  readonly #state: RunState
  readonly #files: SegmentFiles
  readonly #recent: RecentFinals
  readonly #ownRecent = new Map<number, ReadFinal>()

  constructor({ state, files, recent }: ReaderParts) {
    this.#state = state
    this.#files = files
    this.#recent = recent
  }

  /** What was sent for a uid's newest attempt; null if nothing is known of the uid. */
  async sentOf(uid: string): Promise<Sent | null> {
    const newest = this.#state.newestOf(uid)
    if (newest === undefined) return null
    if (typeof newest === 'object') return newest.head
    for (;;) {
      const final = this.#state.final(newest)
      if (!final) return null
      try {
        const { digest = '', older = [] } = (await this.#files.record(final.place)).head as Partial<Sent>
        return { attempt: final.attempt, digest, older }
      } catch (error) {
        if (!this.#hasMoved(newest, final.place)) throw error
      }
    }
  }

  /** Finals behind this number, in order: at most `count`, and about `chars` characters. */
  async finalsAfter(after: number, count: number, chars: number): Promise<readonly ReadFinal[]> {
    const found: ReadFinal[] = []
    let taken = 0
    for (let seq = after + 1; seq <= this.#state.last && found.length < count && taken < chars; seq += 1) {
      const final = this.#ownRecent.get(seq) ?? (await this.#finalAt(seq))
      taken += final.result?.length ?? 0
      found.push(final)
    }
    return found
  }

  /** Early results behind this number, in order, of rollouts that have no final: at most `count`, and about `chars` characters. */
  async partialsAfter(after: number, count: number, chars: number): Promise<readonly ReadPartial[]> {
    const found: ReadPartial[] = []
    let taken = 0
    for (const pending of this.#state.partials.after(after, count)) {
      const { head, partial } = pending
      if (!partial || taken >= chars) break
      const body = await this.#bodyOf(partial).catch(() => null)
      if (body === null) {
        // Damaged, or gone with its final meanwhile: nobody looks for it again.
        this.#state.partials.delete(pending)
        continue
      }
      const { uid, attempt } = head
      found.push({ number: partial.number, uid, attempt, at: partial.at, terms: body.toString() })
      taken += body.length
    }
    return found
  }

  /** What the trainer sent. Throws if it is damaged. */
  async bodyOf(pending: Pending): Promise<Buffer> {
    const { place } = pending
    const body = await this.#bodyOf(pending)
    if (body === null)
      throw new Error(`the record at offset ${place.at} of ${segmentName(place.segment)} is damaged`)
    return body
  }

  /** The answers that a rollout has received, by key; without damaged ones. */
  async answersOf({ answers }: Pending): Promise<ReadonlyMap<string, string>> {
    const read = await Promise.all(
      [...answers].map(async ([key, place]) => [key, await this.#files.body(place)] as const),
    )
    return new Map(read.flatMap(([key, body]) => (body === null ? [] : [[key, body.toString()]])))
  }

  /** A final that was just written, for readers that come soon. */
  remember(final: ReadFinal): void {
    this.#recent.add(this.#ownRecent, final)
  }

  /** Finals up to this number are no longer kept. */
  forget(seq: number): void {
    this.#recent.dropUntil(this.#ownRecent, seq)
  }

  async #finalAt(seq: number): Promise<ReadFinal> {
    const lost = { seq, uid: '', attempt: 0, at: 0, state: 'damaged', reward: null, result: null } as const
    for (;;) {
      const final = this.#state.final(seq)
      if (!final) return lost
      const { uid, attempt, at, state, place } = final
      try {
        const { head, body } = await this.#files.record(place)
        const isWhole = body !== null && state !== 'damaged'
        return {
          ...{ seq, uid, attempt, at },
          state: isWhole ? state : 'damaged',
          reward: rewardOf(head as Partial<FinalHead>),
          result: body?.toString() ?? null,
        }
      } catch (error) {
        if (!this.#hasMoved(seq, place)) throw error
      }
    }
  }

  /** Whether a final was copied to another file, or has expired, while it was read. */
  #hasMoved(seq: number, { segment, at }: Place): boolean {
    const now = this.#state.final(seq)?.place
    return now?.segment !== segment || now.at !== at
  }

  /** The body of a record, which may move to another file meanwhile; null if it is damaged. */
  async #bodyOf(owner: { readonly place: Place }): Promise<Buffer | null> {
    for (;;) {
      const { place } = owner
      try {
        return await this.#files.body(place)
      } catch (error) {
        if (owner.place === place) throw error
      }
    }
  }
}

const mostChars = 64 * 1024 * 1024
/** Of the heap. */
const share = 1 / 64

/** The newest finals of all runs, which readers get without reading the disk. */
export class RecentFinals {
  readonly #mostChars: number
  /** The oldest first, each with those of its run. */
  readonly #all = new Map<ReadFinal, Map<number, ReadFinal>>()
  #chars = 0

  constructor(chars = Math.min(mostChars, heapShare(share))) {
    this.#mostChars = chars
  }

  /** Adds a final to those of its run. The oldest of all runs go when there is no room. */
  add(own: Map<number, ReadFinal>, final: ReadFinal): void {
    own.set(final.seq, final)
    this.#all.set(final, own)
    this.#chars += lengthOf(final)
    for (const [oldest, others] of this.#all) {
      if (this.#chars <= this.#mostChars) return
      this.#drop(oldest, others)
    }
  }

  /** Drops those of a run up to this number. */
  dropUntil(own: Map<number, ReadFinal>, seq: number): void {
    for (const final of own.values()) {
      if (final.seq > seq) return
      this.#drop(final, own)
    }
  }

  #drop(final: ReadFinal, own: Map<number, ReadFinal>): void {
    own.delete(final.seq)
    this.#all.delete(final)
    this.#chars -= lengthOf(final)
  }
}

const lengthOf = ({ result }: ReadFinal): number => result?.length ?? 0
