import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../interface/cancel-token.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import {
  Affinity,
  leastOutstanding,
  preferred,
  type QueueStatus,
  slowInstanceFilter,
  throughputOf,
} from './balance.ts'
import { FairQueue, type QueueEntry, Reservation, type Waiter } from './fair-queue.ts'
import type { PoolMember } from './pool-member.ts'

/** A request for a slot at an instance. `prefix`: the beginning that the prompt shares with others, or ''. */
export interface PoolRequest extends QueueEntry {
  readonly prefix: string
}

interface Waiting extends Waiter {
  readonly question: PoolRequest
  readonly give: (member: PoolMember) => void
  readonly refuse: (fault: UpstreamError) => void
}

/** The instances of one model. Callers take a slot at one of them or wait in the queue. */
export class InstancePool {
  readonly members: PoolMember[] = []
  /** Called when a member has joined or left. */
  membersChanged = () => {}
  readonly #waiting = new FairQueue<Waiting>()
  readonly #urgent = new FairQueue<Waiting>()
  readonly #kept = new Reservation<Waiting>()
  /** Callbacks that move calls in flight elsewhere, by member. */
  readonly #moves = new Map<PoolMember, Set<() => void>>()
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: Affinity | null
  readonly #maxQueue: number
  readonly #maxLineMs: number
  /** Whether any instance is alive, and since when questions are parked. */
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

  /** How long the queue is, and whether it is full. */
  get queueStatus(): QueueStatus {
    const { size } = this.#waiting
    const pace = size > 0 ? throughputOf(this.members) : 0
    return {
      // If questions fail soon because no instance is alive, new ones should fail as soon.
      isFull:
        size >= this.#maxQueue &&
        (!this.isDead || this.isPatient) &&
        !this.members.some(({ isFree }) => isFree),
      waitMs: pace > 0 ? size / pace : 0,
      maxWaitMs: this.#maxLineMs,
    }
  }

  /** No instance is alive. */
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

  /** Whether an instance outside of `tried` is alive. */
  hasOther(tried: ReadonlySet<PoolMember>): boolean {
    return this.members.some((member) => member.isAlive && !tried.has(member))
  }

  /** Takes a slot at an instance; null if the caller must wait. Uses those in `avoid` only if no other is alive. */
  take(avoid: ReadonlySet<PoolMember> | null, question: PoolRequest): PoolMember | null {
    const now = this.#clock.now()
    return this.#taken(avoid, question, this.#worthwhile(now), now)
  }

  /** Like `take`, but waits in the queue; urgent callers are served first. Rejects with UpstreamError. */
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
      // Capacity may be free that is too small for the one that came before.
      if (this.members.some(({ isFree }) => isFree)) this.#serveLine(line)
      this.#reconsiderLater()
    })
  }

  /** Runs `move` when the member hangs and another is alive. Call the returned function to unsubscribe. */
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

  /** The members to avoid; null if no other is alive. */
  #avoided(avoid: ReadonlySet<PoolMember> | null): ReadonlySet<PoolMember> | null {
    return avoid !== null && avoid.size > 0 && this.hasOther(avoid) ? avoid : null
  }

  #worthwhile(now: number): (member: PoolMember) => boolean {
    const stoodMs = this.#waiting.size > 0 ? now - this.#lastTaken : 0
    return slowInstanceFilter(this.members, { waiting: this.#waiting.size, stoodMs }, now)
  }

  /** While the queue waits for fast instances and a slow one is free: checks again when the slow one would have answered. */
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
    const wasDead = this.isDead
    this.liveness.watch(this.members, this.#waiting.size + this.#urgent.size > 0)
    if (this.isDead === wasDead) return
    const now = this.#clock.now()
    for (const { question } of this.#waiting) question.watch?.enters(wasDead ? 'line' : 'parked', now)
  }
}

const unreachable = (): UpstreamError =>
  new UpstreamError('judge_unreachable', 'no instance of the model answers', { remedy: 'give-up' })

/** Whether any instance of a model is alive, since when none is, and since when questions are parked because of that. */
class PoolLiveness {
  readonly #clock: Clock
  readonly #waitMs: number
  readonly #tellParked: (isParked: boolean) => void
  readonly #giveUp: () => void
  #deadSince: number | null = null
  #parkedSince: number | null = null
  #deadMs = 0
  #hasLived: boolean
  #cancel: (() => void) | null = null

  /**
   * `waitMs`: how long questions wait for an instance before `giveUp` fails them; Infinity: until their deadline. `hasLived`: an
   * instance was alive before the reload. `parked` is called when questions start to wait because no instance is alive, and
   * when one is alive again.
   */
  constructor(
    clock: Clock,
    settings: { waitMs: number; hasLived?: boolean; parked?: (isParked: boolean) => void },
    giveUp: () => void,
  ) {
    this.#clock = clock
    this.#waitMs = settings.waitMs
    this.#hasLived = settings.hasLived ?? false
    this.#tellParked = settings.parked ?? (() => {})
    this.#giveUp = giveUp
  }

  /** No instance is alive. */
  get isDead(): boolean {
    return this.#deadSince !== null
  }

  /** Questions wait for an instance as long as their deadline allows. */
  get isPatient(): boolean {
    return this.#waitMs === Number.POSITIVE_INFINITY
  }

  /** No instance has been alive for `waitMs`, so questions fail at once. */
  get isGivenUp(): boolean {
    return this.#deadSince !== null && this.#clock.now() - this.#deadSince >= this.#waitMs
  }

  /** An instance has been alive at some time. */
  get hasLived(): boolean {
    return this.#hasLived
  }

  /** Since when questions are parked, on the clock; null if none came. They may have left since. */
  get parkedSince(): number | null {
    return this.#parkedSince
  }

  /** Total milliseconds without a live instance. */
  get deadMs(): number {
    return this.#deadMs + (this.#deadSince === null ? 0 : this.#clock.now() - this.#deadSince)
  }

  /** A question was queued. */
  joined(): void {
    if (!this.isDead || this.#parkedSince !== null) return
    this.#parkedSince = this.#clock.now()
    this.#tellParked(true)
  }

  /** Checks whether any member is or may be alive. `hasLine`: questions are queued. */
  watch(members: readonly PoolMember[], hasLine: boolean): void {
    this.#hasLived ||= members.some(({ isAlive }) => isAlive)
    const mayLive = members.some(({ isAlive, isJoining }) => isAlive || isJoining)
    if (mayLive && this.isDead) {
      this.#deadMs = this.deadMs
      this.#deadSince = null
      this.end()
      if (this.#parkedSince === null) return
      this.#parkedSince = null
      this.#tellParked(false)
    } else if (!mayLive && !this.isDead) {
      this.#deadSince = this.#clock.now()
      if (hasLine) this.joined()
      if (!this.isPatient) this.#cancel = this.#clock.after(this.#waitMs, this.#giveUp)
    }
  }

  /** Cancels its timer. */
  end(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
