/**
 * What a run's log says, in memory: uids with what they wait for, finals by their number. The same methods apply the records that are
 * read at the start and those that were just written, so both always agree.
 */
import type { Place } from './commit-log.ts'
import { type Final, FinalIndex } from './final-index.ts'
import { GroupEnds, groupKeyOf } from './group-ends.ts'
import type { AcceptHead, AnswerHead, FinalHead, OpenHead, PartialHead } from './records.ts'

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

/** What there is of a uid: its newest attempt, which has no final, or the number of its newest final. */
type Newest = Pending | number

export class RunState {
  /** Called for each rollout that joins `pending` or leaves it. */
  pendingChanged: (head: AcceptHead, sign: 1 | -1) => void = () => {}
  /** Only this is kept of a rollout that has its final. */
  readonly #newest = new Map<string, Newest>()
  /** Rollouts without a final. */
  readonly pending = new Set<Pending>()
  /** Training step -> how many of `pending` are of it. null: those that name none. */
  readonly steps = new Map<number | null, number>()
  /** Segment -> bytes of records that still count. */
  readonly live = new Map<number, number>()
  /** The number of the last final; 0: there was none. */
  last = 0
  /** Finals up to this number are no longer kept. */
  expired = 0
  /** On disk, of the finals that are kept. */
  keptBytes = 0
  /** The number of the last early result; 0: there was none. */
  lastPartial = 0
  readonly partials = new LivePartials()
  readonly groups = new GroupEnds()
  readonly #finals = new FinalIndex()
  /** What was read before the copy of its rollout, by uid; null once all records were read. */
  #early: Map<string, { readonly head: AnswerHead | PartialHead; readonly place: Place }[]> | null = new Map()

  opened({ seq, partial = 1 }: Pick<OpenHead, 'seq' | 'partial'>): void {
    this.last = Math.max(this.last, seq - 1)
    this.lastPartial = Math.max(this.lastPartial, partial - 1)
  }

  /** Call once all records were read: finals before the first one on disk have expired. */
  settle(): void {
    this.expired = (this.#finals.first ?? this.last + 1) - 1
    this.#early = null
  }

  /** How many uids are known. */
  get size(): number {
    return this.#newest.size
  }

  /** How many finals are kept. */
  get kept(): number {
    return this.#finals.size
  }

  get uids(): Iterable<string> {
    return this.#newest.keys()
  }

  /** undefined: nothing is known of this uid. */
  newestOf(uid: string): Newest | undefined {
    return this.#newest.get(uid)
  }

  /** The uid's newest attempt if that has no final; undefined otherwise. */
  pendingOf(uid: string): Pending | undefined {
    const newest = this.#newest.get(uid)
    return typeof newest === 'object' ? newest : undefined
  }

  /** The number of the uid's newest attempt; 0: nothing is known of it. */
  attemptOf(uid: string): number {
    const newest = this.#newest.get(uid) ?? 0
    return typeof newest === 'object' ? newest.head.attempt : this.#finals.attemptOf(newest)
  }

  /** Returns the attempt that this one replaces, if that has no final yet. */
  accepted(head: AcceptHead, place: Place, bodyBytes: number, damage: string | null = null): Pending | null {
    const { uid } = head
    if (this.#isOlder(head)) return null
    const before = this.pendingOf(uid) ?? null
    const isCopy = before !== null && isOf(before, head)
    if (before) this.#forget(before)
    const answers = isCopy ? before.answers : new Map<string, Place>()
    const partial = isCopy ? before.partial : null
    const pending: Pending = { head, place, bodyBytes, answers, partial, damage, isOver: false }
    this.#newest.set(uid, pending)
    this.pending.add(pending)
    const group = groupKeyOf(head)
    if (group !== null) this.groups.joined(group, uid, head.without)
    this.#changed(head, 1)
    this.#count(place, 1)
    for (const one of answers.values()) this.#count(one, 1)
    if (partial) {
      this.partials.add(pending)
      this.#count(partial.place, 1)
    }
    for (const { head, place } of this.#early?.get(uid) ?? [])
      if (head.k === 'answer') this.answered(head, place)
      else this.gotPartial(head, place)
    this.#early?.delete(uid)
    return isCopy ? null : before
  }

  /** Whether a later attempt, or its own final, was read before: a copy may come late. */
  #isOlder({ uid, attempt, since }: AcceptHead): boolean {
    const newest = this.#newest.get(uid) ?? 0
    if (typeof newest === 'object')
      return attempt < newest.head.attempt && (since ?? 0) <= (newest.head.since ?? 0)
    return since !== undefined && since < newest && attempt <= this.#finals.attemptOf(newest)
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
    const pending = this.pendingOf(head.uid)
    if (pending) return isOf(pending, head) ? pending : null
    if (this.#early) this.#early.set(head.uid, [...(this.#early.get(head.uid) ?? []), { head, place }])
    return null
  }

  finished({ uid, attempt, seq, at, state, group, whole }: FinalHead, place: Place): void {
    const before = this.#finals.get(seq)
    if (before) this.#countFinal(before.place, -1)
    this.#finals.set(seq, { uid, attempt, at, state, place })
    this.last = Math.max(this.last, seq)
    this.#countFinal(place, 1)
    const newest = this.#newest.get(uid) ?? 0
    if (typeof newest === 'number') this.#newest.set(uid, Math.max(newest, seq))
    else if (newest.head.attempt <= attempt && (newest.head.since ?? 0) < seq) {
      this.#forget(newest)
      this.#newest.set(uid, seq)
    }
    if (group !== undefined && whole) this.groups.whole(group)
    else if (group !== undefined && !this.pendingOf(uid)) this.groups.ended(group, uid)
  }

  /** A final was copied to another file. */
  moved(seq: number, place: Place): void {
    const final = this.#finals.get(seq)
    if (!final) return
    this.#countFinal(final.place, -1)
    this.#finals.set(seq, { ...final, place })
    this.#countFinal(place, 1)
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
      const oldest = this.#finals.get(this.expired + 1)
      if (oldest && oldest.at >= before) return
      this.dropOldest()
    }
  }

  /** Forgets the oldest final that is kept. */
  dropOldest(): void {
    const seq = this.expired + 1
    const final = this.#finals.get(seq)
    if (final) {
      this.#countFinal(final.place, -1)
      if (this.#newest.get(final.uid) === seq) this.#newest.delete(final.uid)
    }
    this.#finals.delete(seq)
    this.expired = seq
  }

  #changed(head: AcceptHead, sign: 1 | -1): void {
    const { step = null } = head
    const count = (this.steps.get(step) ?? 0) + sign
    if (count > 0) this.steps.set(step, count)
    else this.steps.delete(step)
    this.pendingChanged(head, sign)
  }

  #forget(pending: Pending): void {
    if (this.pending.delete(pending)) {
      this.#changed(pending.head, -1)
      const group = groupKeyOf(pending.head)
      if (group !== null) this.groups.left(group)
    }
    this.#count(pending.place, -1)
    if (pending.partial) this.#count(pending.partial.place, -1)
    this.partials.delete(pending)
    for (const place of pending.answers.values()) this.#count(place, -1)
  }

  #countFinal(place: Place, sign: 1 | -1): void {
    this.keptBytes += sign * place.length
    this.#count(place, sign)
  }

  #count({ segment, length }: Place, sign: 1 | -1): void {
    this.live.set(segment, (this.live.get(segment) ?? 0) + sign * length)
  }
}

/** Whether a record is of this attempt of a uid, and not of one with the same number whose final has expired. */
const isOf = ({ head }: Pending, { attempt, since }: Pick<AcceptHead, 'attempt' | 'since'>): boolean =>
  attempt === head.attempt && since === head.since

/** The early results of rollouts that have no final yet, by number. Finding those behind a number is cheap, however many there are. */
class LivePartials {
  /** In order of their numbers; null: it counts no more. */
  #all: (Pending | null)[] = []
  #numbers: number[] = []
  #gone = 0

  /** `pending.partial` is set. Numbers come in order, apart from copies that are read after a start. */
  add(pending: Pending): void {
    const number = pending.partial?.number ?? 0
    const at = this.#behind(number)
    this.#all.splice(at, 0, pending)
    this.#numbers.splice(at, 0, number)
  }

  delete({ partial }: Pending): void {
    if (!partial) return
    const at = this.#behind(partial.number - 1)
    if (this.#numbers[at] !== partial.number || this.#all[at] === null) return
    this.#all[at] = null
    this.#gone += 1
    if (this.#gone * 2 <= this.#all.length) return
    const left = this.#all.filter((pending) => pending !== null)
    this.#all = left
    this.#numbers = left.map((pending) => pending.partial?.number ?? 0)
    this.#gone = 0
  }

  /** At most `count`, in order. */
  after(number: number, count: number): readonly Pending[] {
    const found: Pending[] = []
    for (let at = this.#behind(number); at < this.#all.length && found.length < count; at += 1) {
      const pending = this.#all[at]
      if (pending) found.push(pending)
    }
    return found
  }

  /** The place of the first number that is higher. */
  #behind(number: number): number {
    let from = 0
    let to = this.#numbers.length
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#numbers[middle] as number) > number) to = middle
      else from = middle + 1
    }
    return from
  }
}
