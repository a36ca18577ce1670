import type { Load } from './capacity.ts'
import type { PoolMember } from './pool-member.ts'

/** What stands in line for a place at a server. */
export interface QueueEntry {
  /** Whose question it is: those of one request take turns with those of others. */
  readonly request: object
  /** On the clock: later, an answer is of no use. */
  readonly deadline: number
  readonly load: Load
}

/** Somebody in line. */
export interface Waiter {
  readonly question: QueueEntry
  /** Members that it does not want, where another lives. */
  readonly avoid: ReadonlySet<PoolMember> | null
}

/** The questions of one request that want the same members, in their order. */
interface Flow<W> {
  readonly lane: Lane<W>
  readonly request: object
  /** From the `base`-th on that ever came; those before `head`, and those that have left, are no longer in line. */
  waiters: (W | undefined)[]
  base: number
  head: number
  left: number
  /** When its first is served: the tokens that were served before, as a fair share has it, with its own. */
  turn: number
  readonly order: number
  turnAt: number
  dueAt: number
}

/** Requests whose questions want the same members. */
interface Lane<W> {
  readonly key: string
  readonly avoid: ReadonlySet<PoolMember> | null
  readonly flows: Map<object, Flow<W>>
  readonly byTurn: Heap<Flow<W>>
  readonly byDeadline: Heap<Flow<W>>
}

/** Firsts of requests that are looked at for one place, where those before them are too large for it. */
const mostLooks = 8

/**
 * Places go in turn by deadline and by share. By deadline: to the question whose time runs out first, which is the one that came
 * first where all have as much time. By share: self-clocked fair queueing, where requests take turns by tokens, however many
 * questions each has. So a giant request that came before has half of the places while a small one is served, and a crowd of
 * small ones leaves half to a giant. What a place costs is counted either way. Each step takes O(log n) in requests.
 */
export class FairQueue<W extends Waiter> {
  readonly #lanes = new Map<string, Lane<W>>()
  readonly #places = new Map<W, { readonly flow: Flow<W>; readonly at: number }>()
  #questions = 0
  /** The turn of whom was served last. */
  #now = 0
  #flowsBegun = 0
  #wasByDeadline = false

  /** Questions in line. */
  get size(): number {
    return this.#questions
  }

  [Symbol.iterator](): IterableIterator<W> {
    return this.#places.keys()
  }

  add(waiter: W): void {
    const { request, load } = waiter.question
    const lane = this.#laneOf(waiter.avoid)
    this.#questions += load.questions
    const known = lane.flows.get(request)
    const flow = known ?? this.#begin(lane, request, this.#now + load.tokens)
    this.#places.set(waiter, { flow, at: flow.base + flow.waiters.push(waiter) - 1 })
    flow.left += 1
    if (known) return
    lane.byTurn.push(flow)
    lane.byDeadline.push(flow)
  }

  /** Takes somebody out who waits no more. */
  delete(waiter: W): void {
    const place = this.#places.get(waiter)
    if (!place) return
    const { flow, at } = place
    const isFirst = at === flow.head
    this.#take(waiter, flow, at)
    if (isFirst && flow.left > 0) this.#next(flow, flow.turn - waiter.question.load.tokens)
  }

  clear(): void {
    this.#lanes.clear()
    this.#places.clear()
    this.#questions = 0
  }

  /**
   * Gives a place to the next for whom `give` finds one; false: to nobody. `isOpen`: whether a member has any place for those
   * who avoid these.
   */
  serve(isOpen: (avoid: ReadonlySet<PoolMember> | null) => boolean, give: (waiter: W) => boolean): boolean {
    const open: Lane<W>[] = []
    for (const lane of this.#lanes.values()) if (isOpen(lane.avoid)) open.push(lane)
    if (open.length === 0) return false
    const isByDeadline = !this.#wasByDeadline && this.#serveByDeadline(open, give)
    this.#wasByDeadline = isByDeadline
    return isByDeadline || this.#serveByTurn(open, give)
  }

  /** Gives a place to this one before the others, if `give` finds one; false: it has none, or is not in line. */
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
    // What it got before its turn counts as its own share; the others' turns stay as they are.
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
    this.#questions -= waiter.question.load.questions
    flow.waiters[at - flow.base] = undefined
    flow.left -= 1
    if (flow.left > 0) return
    const { lane } = flow
    lane.byTurn.remove(flow.turnAt)
    lane.byDeadline.remove(flow.dueAt)
    lane.flows.delete(flow.request)
    if (lane.flows.size === 0) this.#lanes.delete(lane.key)
  }

  /** Makes the next of a request its first; `from`: its share so far. */
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

  #begin(lane: Lane<W>, request: object, turn: number): Flow<W> {
    const order = this.#flowsBegun++
    const flow = { lane, request, waiters: [], base: 0, head: 0, left: 0, turn, order, turnAt: 0, dueAt: 0 }
    lane.flows.set(request, flow)
    return flow
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

const firstOf = <W>({ waiters, base, head }: Flow<W>): W => waiters[head - base] as W

const isTurnBefore = <W>(one: Flow<W>, other: Flow<W>): boolean =>
  one.turn < other.turn || (one.turn === other.turn && one.order < other.order)

function isDueBefore<W extends Waiter>(one: Flow<W>, other: Flow<W>): boolean {
  const [own, others] = [firstOf(one).question.deadline, firstOf(other).question.deadline]
  return own < others || (own === others && one.order < other.order)
}

/** Room that a pool keeps for one who is next and too large for what is free: at one member, so that the others go on. */
export class Reservation<W extends Waiter> {
  #kept: { readonly waiter: W; readonly member: PoolMember } | null = null

  /** For whom it is kept; null: for nobody. */
  get waiter(): W | null {
    return this.#kept?.waiter ?? null
  }

  /** Keeps it at the emptiest of the members that are usable, unless it is kept where calls are still worth waiting for. */
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

  /** The waiter needs it no more; the member where others may have it, or null. */
  drop(waiter: W): PoolMember | null {
    if (this.#kept?.waiter !== waiter) return null
    const { member } = this.#kept
    member.capacity.release(waiter.question.load)
    this.#kept = null
    return member
  }

  /** The member has left the pool. */
  dropAt(member: PoolMember): void {
    if (this.#kept?.member === member) this.drop(this.#kept.waiter)
  }
}

/** A binary heap whose items know where they are, so that any of them can be moved or taken out in O(log n). */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (one: T, other: T) => boolean
  readonly #placed: (item: T, at: number) => void

  /** `placed` is told where an item is from now on; what it was told last is what `moved` and `remove` want. */
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

  /** Tells that what orders the item at this place has changed. */
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
