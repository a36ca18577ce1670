import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../api/cancel-token.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { Affinity, leastOutstanding, preferred, slowInstanceFilter } from './balance.ts'
import { FairQueue, type QueueEntry, Reservation, type Waiter } from './fair-queue.ts'
import { PoolLiveness } from './pool-liveness.ts'
import type { PoolMember } from './pool-member.ts'
import { type QueueStatus, throughputOf } from './wait-estimate.ts'

/** A question that asks for a place. `prefix`, where it is not '', is the beginning that it shares with others. */
export interface PoolRequest extends QueueEntry {
  readonly prefix: string
}

interface Waiting extends Waiter {
  readonly question: PoolRequest
  readonly give: (member: PoolMember) => void
  readonly refuse: (fault: UpstreamError) => void
}

/** The instances of one model: who asks gets the lease of one of them, or waits in line. */
export class InstancePool {
  readonly members: PoolMember[] = []
  /** Called when a member came or went. */
  membersChanged = () => {}
  readonly #waiting = new FairQueue<Waiting>()
  readonly #urgent = new FairQueue<Waiting>()
  readonly #kept = new Reservation<Waiting>()
  /** What ends each call under way, by where it is. */
  readonly #moves = new Map<PoolMember, Set<() => void>>()
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: Affinity | null
  readonly #maxQueue: number
  readonly #maxLineMs: number
  /** Whether any instance lives, and what waits meanwhile. */
  readonly liveness: PoolLiveness
  #lastTaken = 0
  #reconsider: (() => void) | null = null
  readonly #onChange = () => this.#serve()

  constructor(
    clock: Clock,
    settings: {
      maxQueue: number
      maxLineMs: number
      waitMs: number
      random: () => number
      affinity: boolean
      hasLived?: boolean
      parked?: (isParked: boolean) => void
    },
  ) {
    this.#clock = clock
    this.#maxQueue = settings.maxQueue
    this.#maxLineMs = settings.maxLineMs
    this.#random = settings.random
    this.#affinity = settings.affinity ? new Affinity() : null
    this.liveness = new PoolLiveness(clock, settings, () => {
      for (const line of [this.#urgent, this.#waiting]) {
        for (const waiter of line) waiter.refuse(unreachable())
        line.clear()
      }
    })
    this.#watchLife()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** How the line stands. */
  get queueStatus(): QueueStatus {
    const { size } = this.#waiting
    const pace = size > 0 ? throughputOf(this.members) : 0
    return {
      // Where questions give up soon, the next ones fail as soon.
      isFull:
        size >= this.#maxQueue &&
        (!this.isDead || this.isPatient) &&
        !this.members.some(({ isFree }) => isFree),
      waitMs: pace > 0 ? size / pace : 0,
      maxWaitMs: this.#maxLineMs,
    }
  }

  /** No instance is believed to work. */
  get isDead(): boolean {
    return this.liveness.isDead
  }

  /** Questions wait for an instance as long as their deadline allows. */
  get isPatient(): boolean {
    return this.liveness.isPatient
  }

  add(member: PoolMember): void {
    this.members.push(member)
    this.#affinity?.reset()
    member.changed.add(this.#onChange)
    this.membersChanged()
    this.#serve()
  }

  remove(member: PoolMember): void {
    this.members.splice(this.members.indexOf(member), 1)
    this.#kept.dropAt(member)
    this.#affinity?.reset()
    member.changed.delete(this.#onChange)
    this.membersChanged()
    this.#serve()
  }

  /** Tells the pool that a member's own state changed. */
  changed(): void {
    this.#serve()
  }

  /** Whether a question that failed at `tried` could go to an instance that is believed to work. */
  hasOther(tried: ReadonlySet<PoolMember>): boolean {
    return this.members.some((member) => member.isAlive && !tried.has(member))
  }

  /** An instance with room for it, counted as taken; null: one must wait. Those in `avoid` only if no other lives. */
  take(avoid: ReadonlySet<PoolMember> | null, question: PoolRequest): PoolMember | null {
    const now = this.#clock.now()
    return this.#taken(avoid, question, this.#worthwhile(now), now)
  }

  /** Like `take`, in line with others, or before all who are not urgent. Rejects with UpstreamError. */
  wait(
    avoid: ReadonlySet<PoolMember> | null,
    question: PoolRequest,
    stop: CancelToken,
    stopped: () => UpstreamError,
    isUrgent = false,
  ): Promise<PoolMember> {
    const line = isUrgent ? this.#urgent : this.#waiting
    return new Promise((resolve, reject) => {
      if (line.size >= this.#maxQueue) {
        reject(
          new UpstreamError('overloaded', 'too many questions wait for this model', { remedy: 'give-up' }),
        )
        return
      }
      if (this.liveness.isGivenUp) {
        reject(unreachable())
        return
      }
      if (stop.aborted) {
        reject(stopped())
        return
      }
      const off = stop.on(() => {
        line.delete(waiter)
        this.#kept.drop(waiter)?.tell()
        reject(stopped())
      })
      const waiter: Waiting = {
        avoid,
        question,
        give(member) {
          off()
          resolve(member)
        },
        refuse: (fault) => {
          off()
          this.#kept.drop(waiter)
          reject(fault)
        },
      }
      line.add(waiter)
      this.liveness.joined()
      // It may be too large for what is free.
      if (this.members.some(({ isFree }) => isFree)) this.#serveLine(line)
      this.#reconsiderLater()
    })
  }

  /** Runs `move` when the member hangs and another lives; the returned function takes it back. */
  onHang(member: PoolMember, move: () => void): () => void {
    const moves = this.#moves.get(member)
    if (moves) moves.add(move)
    else this.#moves.set(member, new Set([move]))
    return () => {
      const left = this.#moves.get(member)
      left?.delete(move)
      if (left?.size === 0) this.#moves.delete(member)
    }
  }

  close(): void {
    this.liveness.end()
    this.#reconsider?.()
    for (const member of this.members) member.changed.delete(this.#onChange)
  }

  #taken(
    avoid: ReadonlySet<PoolMember> | null,
    { prefix, load }: PoolRequest,
    isWorth: (member: PoolMember) => boolean,
    now: number,
  ): PoolMember | null {
    const avoided = this.#avoided(avoid)
    const usable = (member: PoolMember) =>
      member.isFree && member.capacity.fits(load) && isWorth(member) && !avoided?.has(member)
    const near =
      this.#affinity && prefix !== '' ? preferred(this.#affinity.orderOf(prefix, this.members), usable) : null
    const member = near ?? leastOutstanding(this.members, usable, this.#random)
    if (!member) return null
    this.#lastTaken = now
    member.begin(load, now)
    return member
  }

  #serve(): void {
    this.#watchLife()
    this.#moveHung()
    this.#serveLine(this.#urgent)
    this.#serveLine(this.#waiting)
    this.#reconsiderLater()
  }

  #moveHung(): void {
    for (const member of this.members) {
      if (!member.suspect || !this.hasOther(new Set([member]))) continue
      for (const move of [...(this.#moves.get(member) ?? [])]) move()
    }
  }

  #serveLine(line: FairQueue<Waiting>): void {
    while (line.size > 0) {
      const isWorth = this.#worthwhile(this.#clock.now())
      const isUsable = (member: PoolMember) => member.isFree && isWorth(member)
      if (!this.members.some(isUsable)) return
      const isOpen = (avoid: ReadonlySet<PoolMember> | null) => {
        const avoided = this.#avoided(avoid)
        return avoided === null || this.members.some((member) => !avoided.has(member) && isUsable(member))
      }
      const give = (waiter: Waiting) => this.#isGiven(waiter, isWorth)
      const { waiter: first } = this.#kept
      if (!(first !== null && line.serveFirst(first, give)) && !line.serve(isOpen, give)) return
    }
  }

  #isGiven(waiter: Waiting, isWorth: (member: PoolMember) => boolean): boolean {
    const member = this.#taken(waiter.avoid, waiter.question, isWorth, this.#clock.now())
    if (!member) {
      const avoided = this.#avoided(waiter.avoid)
      const isUsable = (one: PoolMember) => one.isFree && isWorth(one) && !avoided?.has(one)
      this.#kept.keep(waiter, this.members, isUsable, isWorth)
      return false
    }
    this.#kept.drop(waiter)
    waiter.give(member)
    return true
  }

  /** Those to avoid, where another lives. */
  #avoided(avoid: ReadonlySet<PoolMember> | null): ReadonlySet<PoolMember> | null {
    return avoid !== null && avoid.size > 0 && this.hasOther(avoid) ? avoid : null
  }

  #worthwhile(now: number): (member: PoolMember) => boolean {
    const stoodMs = this.#waiting.size > 0 ? now - this.#lastTaken : 0
    return slowInstanceFilter(this.members, { waiting: this.#waiting.size, stoodMs }, now)
  }

  /** A line that stands although a slow instance is free looks again when that one would have answered. */
  #reconsiderLater(): void {
    if (this.#waiting.size === 0 || this.#reconsider) return
    let wait = Number.POSITIVE_INFINITY
    const stoodMs = this.#clock.now() - this.#lastTaken
    for (const member of this.members) if (member.isFree) wait = Math.min(wait, member.latencyMs - stoodMs)
    if (wait === Number.POSITIVE_INFINITY) return
    this.#reconsider = this.#clock.after(Math.max(wait, 1), () => {
      this.#reconsider = null
      this.#serve()
    })
  }

  #watchLife(): void {
    this.liveness.watch(this.members, this.#waiting.size + this.#urgent.size > 0)
  }
}

const unreachable = (): UpstreamError =>
  new UpstreamError('judge_unreachable', 'no instance of the model answers', { remedy: 'give-up' })
