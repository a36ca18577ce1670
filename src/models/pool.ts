import type { Clock } from '../clock.ts'
import type { Stop } from './abort.ts'
import { Affinity, preferred } from './affinity.ts'
import { leastOutstanding } from './balance.ts'
import { Fault } from './fault.ts'
import { type Line, paceOf } from './line.ts'
import type { PoolMember } from './pool-member.ts'
import { worthwhile } from './slowness.ts'

interface Waiter {
  readonly avoid: ReadonlySet<PoolMember> | null
  readonly prefix: string
  readonly give: (member: PoolMember) => void
  readonly refuse: (fault: Fault) => void
}

/** The instances of one model: who asks gets the lease of one of them, or waits in line. */
export class InstancePool {
  readonly members: PoolMember[] = []
  /** Called when a member came or went. */
  membersChanged = () => {}
  readonly #waiting = new Set<Waiter>()
  readonly #urgent = new Set<Waiter>()
  /** What ends each call under way, by where it is. */
  readonly #moves = new Map<PoolMember, Set<() => void>>()
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: Affinity | null
  readonly #maxQueue: number
  readonly #maxLineMs: number
  readonly #waitMs: number
  #lastTaken = 0
  #deadSince: number | null = null
  #giveUp: (() => void) | null = null
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
    },
  ) {
    this.#clock = clock
    this.#maxQueue = settings.maxQueue
    this.#maxLineMs = settings.maxLineMs
    this.#waitMs = settings.waitMs
    this.#random = settings.random
    this.#affinity = settings.affinity ? new Affinity() : null
    this.#watchLife()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** How the line stands. */
  get line(): Line {
    const { size } = this.#waiting
    const pace = size > 0 ? paceOf(this.members) : 0
    return {
      isFull: size >= this.#maxQueue && !this.isDead && !this.members.some(({ isFree }) => isFree),
      waitMs: pace > 0 ? size / pace : 0,
      maxWaitMs: this.#maxLineMs,
    }
  }

  /** No instance is believed to work. */
  get isDead(): boolean {
    return this.#deadSince !== null
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

  /**
   * An instance with a free place, counted as taken; null: one must wait. Those in `avoid` only if no other lives.
   * `prefix`, where it is not '', is the beginning that the question shares with others.
   */
  take(avoid: ReadonlySet<PoolMember> | null, prefix = ''): PoolMember | null {
    return this.#taken(avoid, prefix, this.#worthwhile())
  }

  /** Like `take`, in line behind those who came before, or before all who are not urgent. Rejects with Fault. */
  wait(
    avoid: ReadonlySet<PoolMember> | null,
    prefix: string,
    stop: Stop,
    stopped: () => Fault,
    isUrgent = false,
  ): Promise<PoolMember> {
    const line = isUrgent ? this.#urgent : this.#waiting
    return new Promise((resolve, reject) => {
      if (line.size >= this.#maxQueue) {
        reject(new Fault('overloaded', 'too many questions wait for this model', { remedy: 'give-up' }))
        return
      }
      if (this.#isGivenUp()) {
        reject(unreachable())
        return
      }
      if (stop.aborted) {
        reject(stopped())
        return
      }
      const off = stop.on(() => {
        line.delete(waiter)
        reject(stopped())
      })
      const waiter: Waiter = {
        avoid,
        prefix,
        give(member) {
          off()
          resolve(member)
        },
        refuse(fault) {
          off()
          reject(fault)
        },
      }
      line.add(waiter)
      this.#reconsiderLater()
    })
  }

  /** Runs `move` when the member hangs and another lives; the returned function takes it back. */
  whenHung(member: PoolMember, move: () => void): () => void {
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
    this.#giveUp?.()
    this.#reconsider?.()
    for (const member of this.members) member.changed.delete(this.#onChange)
  }

  #taken(
    avoid: ReadonlySet<PoolMember> | null,
    prefix: string,
    isWorth: (member: PoolMember) => boolean,
  ): PoolMember | null {
    const avoided = avoid !== null && avoid.size > 0 && this.hasOther(avoid) ? avoid : null
    const usable = (member: PoolMember) =>
      member.isFree && isWorth(member) && (avoided === null || !avoided.has(member))
    const near =
      this.#affinity && prefix !== '' ? preferred(this.#affinity.orderOf(prefix, this.members), usable) : null
    const member = near ?? leastOutstanding(this.members, usable, this.#random)
    if (!member) return null
    this.#lastTaken = this.#clock.now()
    member.begin()
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

  #serveLine(line: Set<Waiter>): void {
    for (const waiter of line) {
      const isWorth = this.#worthwhile()
      if (!this.members.some((member) => member.isFree && isWorth(member))) return
      const member = this.#taken(waiter.avoid, waiter.prefix, isWorth)
      if (!member) continue
      line.delete(waiter)
      waiter.give(member)
    }
  }

  #worthwhile(): (member: PoolMember) => boolean {
    const now = this.#clock.now()
    const stoodMs = this.#waiting.size > 0 ? now - this.#lastTaken : 0
    return worthwhile(this.members, { waiting: this.#waiting.size, stoodMs }, now)
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
    if (this.members.some(({ isAlive, isJoining }) => isAlive || isJoining)) {
      if (this.#deadSince === null) return
      this.#deadSince = null
      this.#giveUp?.()
      this.#giveUp = null
    } else if (this.#deadSince === null) {
      this.#deadSince = this.#clock.now()
      this.#giveUp = this.#clock.after(this.#waitMs, () => {
        for (const line of [this.#urgent, this.#waiting]) {
          for (const waiter of line) waiter.refuse(unreachable())
          line.clear()
        }
      })
    }
  }

  #isGivenUp(): boolean {
    return this.#deadSince !== null && this.#clock.now() - this.#deadSince >= this.#waitMs
  }
}

const unreachable = (): Fault =>
  new Fault('judge_unreachable', 'no instance of the model answers', { remedy: 'give-up' })
