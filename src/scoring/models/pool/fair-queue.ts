import type { QuestionWatch } from '../../../core/stalls/request-times.ts'
import { CancelToken } from '../interface/cancel-token.ts'
import type { Load } from './capacity.ts'
import type { PoolMember } from './pool-member.ts'

/** A question that is queued for an instance. */
export interface QueueEntry {
  /** The request that the question belongs to. Requests take turns, and so do the runs that they name. */
  readonly request: object
  /** On the clock; later answers are useless. */
  readonly deadline: number
  readonly load: Load
  /** Told what the question waits for; absent: nobody asks. */
  readonly watch?: QuestionWatch | undefined
}

/** An entry of the queue. */
export interface Waiter {
  readonly question: QueueEntry
  /** Members to avoid if another one is alive. */
  readonly avoid: ReadonlySet<PoolMember> | null
}

/** The questions of one request that avoid the same members, in order. */
interface Flow<W> {
  readonly lane: Lane<W>
  readonly request: object
  /** `waiters[0]` is the `base`-th that ever came. Those before `head` are served; undefined ones have left. */
  waiters: (W | undefined)[]
  base: number
  head: number
  left: number
  /** Virtual finish time of its first question: tokens served before it under fair sharing, plus its own. */
  turn: number
  readonly order: number
  turnAt: number
  dueAt: number
}

/** Requests whose questions avoid the same members. */
interface Lane<W> {
  readonly key: string
  readonly avoid: ReadonlySet<PoolMember> | null
  readonly flows: Map<object, Flow<W>>
  readonly byTurn: Heap<Flow<W>>
  readonly byDeadline: Heap<Flow<W>>
}

/** The most requests to try for one slot. A request is passed over if its first question is too large. */
const mostLooks = 8

/**
 * Gives out slots alternately by deadline and by fair share. By deadline: earliest deadline first, which is first come, first
 * served if all have the same time. By share: self-clocked fair queueing, where requests take turns by tokens, however many
 * questions each has. So a giant request keeps half of the slots while small ones are served, and vice versa. A run's requests
 * begin their turns one after another, so that thousands of them count like one among the requests of other runs. Tokens count
 * towards the share either way. Each step takes O(log n) in requests.
 */
export class FairQueue<W extends Waiter> {
  readonly #lanes = new Map<string, Lane<W>>()
  readonly #places = new Map<W, { readonly flow: Flow<W>; readonly at: number }>()
  /** The runs of queued requests: how many there are, and the turn of the one that came last. */
  readonly #runs = new Map<string, { requests: number; turn: number }>()
  /** Queued questions. */
  size = 0
  /** The turn of whom was served last. */
  #now = 0
  #flowsBegun = 0
  #wasByDeadline = false

  add(waiter: W): void {
    const { request, load } = waiter.question
    const lane = this.#laneOf(waiter.avoid)
    this.size += load.questions
    const known = lane.flows.get(request)
    const flow = known ?? this.#begin(lane, request, load.tokens)
    this.#places.set(waiter, { flow, at: flow.base + flow.waiters.push(waiter) - 1 })
    flow.left += 1
    if (known) return
    lane.byTurn.push(flow)
    lane.byDeadline.push(flow)
  }

  /** Removes an entry that no longer waits. */
  delete(waiter: W): void {
    const place = this.#places.get(waiter)
    if (!place) return
    const { flow, at } = place
    const isFirst = at === flow.head
    this.#take(waiter, flow, at)
    if (isFirst && flow.left > 0) this.#next(flow, flow.turn - waiter.question.load.tokens)
  }

  [Symbol.iterator](): IterableIterator<W> {
    return this.#places.keys()
  }

  clear(): void {
    this.#lanes.clear()
    this.#places.clear()
    this.#runs.clear()
    this.size = 0
  }

  /**
   * Serves the next entry for which `give` finds a slot; false if there is none. `isOpen`: whether a member outside the given
   * set has a free slot.
   */
  serve(isOpen: (avoid: ReadonlySet<PoolMember> | null) => boolean, give: (waiter: W) => boolean): boolean {
    const open: Lane<W>[] = []
    for (const lane of this.#lanes.values()) if (isOpen(lane.avoid)) open.push(lane)
    if (open.length === 0) return false
    const isByDeadline = !this.#wasByDeadline && this.#serveByDeadline(open, give)
    this.#wasByDeadline = isByDeadline
    return isByDeadline || this.#serveByTurn(open, give)
  }

  /** Serves this entry before the others if `give` finds a slot; false if not, or if it is not queued. */
  serveFirst(waiter: W, give: (waiter: W) => boolean): boolean {
    const place = this.#places.get(waiter)
    if (!place || place.at !== place.flow.head || !give(waiter)) return false
    this.#served(place.flow, waiter)
    return true
  }

  #serveByDeadline(open: readonly Lane<W>[], give: (waiter: W) => boolean): boolean {
    let due: Flow<W> | undefined
    for (const { byDeadline } of open)
      if (byDeadline.first && (!due || isDueBefore(byDeadline.first, due))) due = byDeadline.first
    if (!due) return false
    const waiter = firstOf(due)
    if (!give(waiter)) return false
    // Being served early counts towards its own share; the turns of others do not change.
    this.#served(due, waiter)
    return true
  }

  #serveByTurn(open: readonly Lane<W>[], give: (waiter: W) => boolean): boolean {
    const aside: Flow<W>[] = []
    let isServed = false
    while (!isServed && aside.length < mostLooks) {
      let next: Flow<W> | undefined
      for (const { byTurn } of open)
        if (byTurn.first && (!next || isTurnBefore(byTurn.first, next))) next = byTurn.first
      if (!next) break
      const waiter = firstOf(next)
      isServed = give(waiter)
      if (isServed) {
        this.#now = Math.max(this.#now, next.turn)
        this.#served(next, waiter)
      } else {
        next.lane.byTurn.remove(next.turnAt)
        aside.push(next)
      }
    }
    for (const flow of aside) flow.lane.byTurn.push(flow)
    return isServed
  }

  #served(flow: Flow<W>, waiter: W): void {
    this.#take(waiter, flow, flow.head)
    if (flow.left > 0) this.#next(flow, flow.turn)
  }

  #take(waiter: W, flow: Flow<W>, at: number): void {
    this.#places.delete(waiter)
    this.size -= waiter.question.load.questions
    flow.waiters[at - flow.base] = undefined
    flow.left -= 1
    if (flow.left > 0) return
    const { lane } = flow
    lane.byTurn.remove(flow.turnAt)
    lane.byDeadline.remove(flow.dueAt)
    lane.flows.delete(flow.request)
    this.#left(flow.request)
    if (lane.flows.size === 0) this.#lanes.delete(lane.key)
  }

  /** Advances a request to its next question. `from`: its share so far. */
  #next(flow: Flow<W>, from: number): void {
    while (flow.waiters[flow.head - flow.base] === undefined) flow.head += 1
    if (flow.head - flow.base > flow.waiters.length / 2) {
      flow.waiters = flow.waiters.slice(flow.head - flow.base)
      flow.base = flow.head
    }
    flow.turn = from + firstOf(flow).question.load.tokens
    flow.lane.byTurn.moved(flow.turnAt)
    flow.lane.byDeadline.moved(flow.dueAt)
  }

  #begin(lane: Lane<W>, request: object, tokens: number): Flow<W> {
    const order = this.#flowsBegun++
    const turn = this.#firstTurn(request, tokens)
    const flow = { lane, request, waiters: [], base: 0, head: 0, left: 0, turn, order, turnAt: 0, dueAt: 0 }
    lane.flows.set(request, flow)
    return flow
  }

  /** The turn of a request that begins now: after the one of its run that came before it. */
  #firstTurn(request: object, tokens: number): number {
    const name = runOf(request)
    if (name === '') return this.#now + tokens
    const run = this.#runs.get(name) ?? { requests: 0, turn: 0 }
    run.requests += 1
    run.turn = Math.max(this.#now, run.turn) + tokens
    this.#runs.set(name, run)
    return run.turn
  }

  #left(request: object): void {
    const name = runOf(request)
    const run = this.#runs.get(name)
    if (!run) return
    run.requests -= 1
    if (run.requests === 0) this.#runs.delete(name)
  }

  #laneOf(avoid: ReadonlySet<PoolMember> | null): Lane<W> {
    const key =
      avoid === null || avoid.size === 0
        ? ''
        : [...avoid]
            .map(({ address }) => address)
            .sort()
            .join()
    const known = this.#lanes.get(key)
    if (known) return known
    const lane: Lane<W> = {
      key,
      avoid,
      flows: new Map(),
      byTurn: new Heap(isTurnBefore, (flow, at) => {
        flow.turnAt = at
      }),
      byDeadline: new Heap(isDueBefore, (flow, at) => {
        flow.dueAt = at
      }),
    }
    this.#lanes.set(key, lane)
    return lane
  }
}

const runOf = (request: object): string => (request instanceof CancelToken ? request.run : '')

const firstOf = <W>({ waiters, base, head }: Flow<W>): W => waiters[head - base] as W

const isTurnBefore = <W>(one: Flow<W>, other: Flow<W>): boolean =>
  one.turn < other.turn || (one.turn === other.turn && one.order < other.order)

function isDueBefore<W extends Waiter>(one: Flow<W>, other: Flow<W>): boolean {
  const [own, others] = [firstOf(one).question.deadline, firstOf(other).question.deadline]
  return own < others || (own === others && one.order < other.order)
}

/** Capacity reserved at one member for the next question if it is too large for what is free. Other members go on. */
export class Reservation<W extends Waiter> {
  #kept: { readonly waiter: W; readonly member: PoolMember } | null = null

  /** The entry that capacity is reserved for, if any. */
  get waiter(): W | null {
    return this.#kept?.waiter ?? null
  }

  /** Reserves at the least loaded usable member, unless there is a reservation at a member that is still worth waiting for. */
  keep(
    waiter: W,
    members: readonly PoolMember[],
    isUsable: (member: PoolMember) => boolean,
    isWorth: (member: PoolMember) => boolean,
  ): void {
    if (this.#kept) {
      const { member } = this.#kept
      if (member.isAlive && isWorth(member)) return
      this.drop(this.#kept.waiter)
    }
    let best: PoolMember | null = null
    for (const member of members)
      if (isUsable(member) && (best === null || member.inFlight / member.limit < best.inFlight / best.limit))
        best = member
    if (best?.capacity.reserve(waiter.question.load)) this.#kept = { waiter, member: best }
  }

  /** Ends the entry's reservation. Returns the member whose capacity became free, or null. */
  drop(waiter: W): PoolMember | null {
    if (this.#kept?.waiter !== waiter) return null
    const { member } = this.#kept
    member.capacity.release(waiter.question.load)
    this.#kept = null
    return member
  }

  /** Call when a member has left the pool. */
  dropAt(member: PoolMember): void {
    if (this.#kept?.member === member) this.drop(this.#kept.waiter)
  }
}

/** A binary heap that reports the index of its items, so that any of them can be moved or removed in O(log n). */
class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (one: T, other: T) => boolean
  readonly #placed: (item: T, at: number) => void

  /** `placed` is called with the new index of an item, which `moved` and `remove` take. */
  constructor(isBefore: (one: T, other: T) => boolean, placed: (item: T, at: number) => void) {
    this.#isBefore = isBefore
    this.#placed = placed
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    this.#rise(item, this.#items.push(item) - 1)
  }

  /** Restores the order after the key of the item at this index has changed. */
  moved(at: number): void {
    const item = this.#items[at] as T
    this.#sink(item, this.#rise(item, at))
  }

  remove(at: number): void {
    const last = this.#items.pop() as T
    if (at === this.#items.length) return
    this.#items[at] = last
    this.moved(at)
  }

  #rise(item: T, from: number): number {
    const items = this.#items
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(item, items[parent] as T)) break
      this.#put(items[parent] as T, at)
      at = parent
    }
    this.#put(item, at)
    return at
  }

  #sink(item: T, from: number): void {
    const items = this.#items
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as T, items[child] as T)) child += 1
      if (!this.#isBefore(items[child] as T, item)) break
      this.#put(items[child] as T, at)
      at = child
    }
    this.#put(item, at)
  }

  #put(item: T, at: number): void {
    this.#items[at] = item
    this.#placed(item, at)
  }
}
