/**
 * What a run's log says, in memory: rollouts by uid, finals by their number. The same methods apply the records that are read at
 * the start and those that were just written, so both always agree.
 */
import type { Place } from './commit-log.ts'
import { LivePartials } from './live-partials.ts'

/** The version of the format. A log of another version is refused. */
export const format = 1

/** First record of each file. `id` is drawn when the run is created and is part of every cursor. */
export interface OpenHead {
  readonly k: 'open'
  readonly format: number
  readonly run: string
  readonly id: string
  /** The number of the next final when the file was begun. */
  readonly seq: number
  /** The number of the next early result then; absent in files of earlier versions. */
  readonly partial?: number
}

/** A rollout that was accepted. Its body is the JSON that the trainer sent. Times are milliseconds of Unix time. */
export interface AcceptHead {
  readonly k: 'accept'
  readonly uid: string
  readonly attempt: number
  readonly digest: string
  /** Earlier attempts that are remembered. */
  readonly older: readonly OlderAttempt[]
  readonly at: number
  readonly deadline: number
  readonly reward: string
  readonly priority: number
  readonly step?: number | undefined
  /** The sample's group, and how many answers it has. */
  readonly group?: string | undefined
  readonly size?: number | undefined
  /** The policy's version that wrote the first token. */
  readonly policy?: number | string | undefined
  /** It asked for an early result. */
  readonly partial?: true | undefined
}

export interface OlderAttempt {
  readonly attempt: number
  readonly digest: string
}

/** A judge's answer that a rollout without its final has received. Its body is JSON. */
export interface AnswerHead {
  readonly k: 'answer'
  readonly uid: string
  readonly attempt: number
  /** Hash of the question. */
  readonly key: string
}

/** The early result of an attempt that asked for it. Its body is the terms of its rules as JSON. */
export interface PartialHead {
  readonly k: 'partial'
  readonly uid: string
  readonly attempt: number
  /** The number of the early result in its run, from 1. */
  readonly number: number
  readonly at: number
}

/** The one final of an attempt. Its body is the result as JSON. */
export interface FinalHead {
  readonly k: 'final'
  readonly uid: string
  readonly attempt: number
  readonly digest: string
  readonly older: readonly OlderAttempt[]
  /** The number of the final in its run, from 1. */
  readonly seq: number
  readonly at: number
  readonly state: FinalState
}

export type Head = OpenHead | AcceptHead | AnswerHead | PartialHead | FinalHead

/** `damaged`: the rollout's records were damaged on disk, and it was not scored. */
export type FinalState = 'scored' | 'invalid' | 'cancelled' | 'damaged'

/** A rollout without its final. */
export interface Pending {
  readonly head: AcceptHead
  place: Place
  readonly bodyBytes: number
  readonly answers: Map<string, Place>
  /** Its early result, once that is on disk. */
  partial: (Pick<PartialHead, 'number' | 'at'> & { place: Place }) | null
  /** Why it must not be scored; null: nothing. */
  damage: string | null
  /** Its final is being written. */
  isOver: boolean
}

/** The newest attempt of a uid. */
export interface Rollout {
  readonly uid: string
  attempt: number
  digest: string
  older: readonly OlderAttempt[]
  pending: Pending | null
  /** Number of the newest final; 0: none. */
  seq: number
}

/** Whether these bytes were an attempt of the rollout before. */
export const hasSeen = ({ digest, older }: Rollout, sent: string): boolean =>
  digest === sent || older.some((earlier) => earlier.digest === sent)

/** A final on disk. */
export interface Final {
  readonly uid: string
  readonly attempt: number
  readonly at: number
  readonly state: FinalState
  place: Place
}

export class RunState {
  /** Called for each rollout that joins `pending` or leaves it. */
  pendingChanged: (head: AcceptHead, sign: 1 | -1) => void = () => {}
  readonly rollouts = new Map<string, Rollout>()
  /** Rollouts without a final. */
  readonly pending = new Set<Pending>()
  /** Training step -> how many of `pending` are of it. null: those that name none. */
  readonly steps = new Map<number | null, number>()
  /** Bytes of the bodies of `pending`. */
  pendingBytes = 0
  /** Segment -> bytes of records that still count. */
  readonly live = new Map<number, number>()
  /** The number of the last final; 0: there was none. */
  last = 0
  /** Finals up to this number are no longer kept. */
  expired = 0
  /** The number of the last early result; 0: there was none. */
  lastPartial = 0
  readonly partials = new LivePartials<Pending>()
  readonly #finals = new Map<number, Final>()
  /** What was read before the copy of its rollout, by uid. */
  readonly #early = new Map<string, { readonly head: AnswerHead | PartialHead; readonly place: Place }[]>()

  opened({ seq, partial = 1 }: Pick<OpenHead, 'seq' | 'partial'>): void {
    this.last = Math.max(this.last, seq - 1)
    this.lastPartial = Math.max(this.lastPartial, partial - 1)
  }

  /** Call once all records were read: finals before the first one on disk have expired. */
  settle(): void {
    let first = this.last + 1
    for (const seq of this.#finals.keys()) first = Math.min(first, seq)
    this.expired = first - 1
    this.#early.clear()
  }

  /** What to answer to bytes that were sent before; null if they are new. */
  sentBefore(
    { attempt, digest, older, pending, seq }: Rollout,
    sent: string,
  ): {
    readonly attempt: number
    readonly state: 'accepted' | FinalState | 'replaced'
    readonly pending: Pending | null
  } | null {
    if (digest === sent) {
      const state = pending ? 'accepted' : (this.final(seq)?.state ?? 'damaged')
      return { attempt, state, pending }
    }
    const one = older.findLast((earlier) => earlier.digest === sent)
    return one ? { attempt: one.attempt, state: 'replaced', pending: null } : null
  }

  /** Returns the attempt that this one replaces, if that has no final yet. */
  accepted(head: AcceptHead, place: Place, bodyBytes: number, damage: string | null = null): Pending | null {
    const { uid, attempt, digest, older } = head
    let rollout = this.rollouts.get(uid)
    if (rollout && (rollout.attempt > attempt || (rollout.attempt === attempt && !rollout.pending)))
      return null
    const before = rollout?.pending ?? null
    const isCopy = rollout?.attempt === attempt && before !== null
    if (before) this.#forget(before)
    if (!rollout) {
      rollout = { uid, attempt, digest, older, pending: null, seq: 0 }
      this.rollouts.set(uid, rollout)
    }
    const answers = isCopy ? before.answers : new Map<string, Place>()
    const partial = isCopy ? before.partial : null
    const pending: Pending = { head, place, bodyBytes, answers, partial, damage, isOver: false }
    Object.assign(rollout, { attempt, digest, older, pending })
    this.pending.add(pending)
    this.#changed(head, 1)
    this.pendingBytes += bodyBytes
    this.#count(place, 1)
    for (const one of answers.values()) this.#count(one, 1)
    if (partial) {
      this.partials.add(pending)
      this.#count(partial.place, 1)
    }
    for (const { head, place } of this.#early.get(uid) ?? [])
      if (head.k === 'answer') this.answered(head, place)
      else this.gotPartial(head, place)
    this.#early.delete(uid)
    return isCopy ? null : before
  }

  answered(head: AnswerHead, place: Place): void {
    const { key } = head
    const pending = this.#pendingOf(head, place)
    if (!pending) return
    const before = pending.answers.get(key)
    if (before) this.#count(before, -1)
    pending.answers.set(key, place)
    this.#count(place, 1)
  }

  /** An attempt has one early result; this may be a copy of it. */
  gotPartial(head: PartialHead, place: Place): void {
    const { number, at } = head
    this.lastPartial = Math.max(this.lastPartial, number)
    const pending = this.#pendingOf(head, place)
    if (!pending || (pending.partial && pending.partial.number !== number)) return
    this.#count(place, 1)
    if (pending.partial) {
      this.#count(pending.partial.place, -1)
      pending.partial.place = place
      return
    }
    pending.partial = { number, at, place }
    this.partials.add(pending)
  }

  /** The rollout that a record belongs to, if it has no final yet. */
  #pendingOf(head: AnswerHead | PartialHead, place: Place): Pending | null {
    const { uid, attempt } = head
    const rollout = this.rollouts.get(uid)
    if (!rollout) this.#early.set(uid, [...(this.#early.get(uid) ?? []), { head, place }])
    const pending = rollout?.pending
    return pending?.head.attempt === attempt ? pending : null
  }

  finished({ uid, attempt, digest, older, seq, at, state }: FinalHead, place: Place): void {
    const before = this.#finals.get(seq)
    if (before) this.#count(before.place, -1)
    this.#finals.set(seq, { uid, attempt, at, state, place })
    this.last = Math.max(this.last, seq)
    this.#count(place, 1)
    const rollout = this.rollouts.get(uid)
    if (!rollout) {
      this.rollouts.set(uid, { uid, attempt, digest, older, pending: null, seq })
      return
    }
    rollout.seq = Math.max(rollout.seq, seq)
    if (rollout.attempt > attempt) return
    if (rollout.pending) this.#forget(rollout.pending)
    Object.assign(rollout, { attempt, digest, older, pending: null })
  }

  /** A final was copied to another file. */
  moved(seq: number, place: Place): void {
    const final = this.#finals.get(seq)
    if (!final) return
    this.#count(final.place, -1)
    final.place = place
    this.#count(place, 1)
  }

  /** What a trainer sent was copied to another file. */
  movedPending(pending: Pending, place: Place, isDamaged: boolean): void {
    if (!this.pending.has(pending)) return
    this.#count(pending.place, -1)
    pending.place = place
    this.#count(place, 1)
    if (isDamaged) pending.damage ??= 'its sample is damaged'
  }

  /** undefined: there is none of this number, it is no longer kept, or its record is lost. */
  final(seq: number): Final | undefined {
    return this.#finals.get(seq)
  }

  /** Forgets finals that are older than this time, oldest first. */
  expire(before: number): void {
    while (this.expired < this.last) {
      const seq = this.expired + 1
      const final = this.#finals.get(seq)
      if (final) {
        if (final.at >= before) return
        this.#count(final.place, -1)
        const rollout = this.rollouts.get(final.uid)
        if (rollout?.seq === seq && !rollout.pending) this.rollouts.delete(final.uid)
        this.#finals.delete(seq)
      }
      this.expired = seq
    }
  }

  #changed(head: AcceptHead, sign: 1 | -1): void {
    const { step = null } = head
    const count = (this.steps.get(step) ?? 0) + sign
    if (count > 0) this.steps.set(step, count)
    else this.steps.delete(step)
    this.pendingChanged(head, sign)
  }

  #forget(pending: Pending): void {
    if (this.pending.delete(pending)) this.#changed(pending.head, -1)
    this.pendingBytes -= pending.bodyBytes
    this.#count(pending.place, -1)
    if (pending.partial) this.#count(pending.partial.place, -1)
    this.partials.delete(pending)
    for (const place of pending.answers.values()) this.#count(place, -1)
  }

  #count({ segment, length }: Place, sign: 1 | -1): void {
    this.live.set(segment, (this.live.get(segment) ?? 0) + sign * length)
  }
}
