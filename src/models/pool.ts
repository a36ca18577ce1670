import type { Clock } from '../clock.ts'
import type { Stop } from './abort.ts'
import { Affinity, preferred } from './affinity.ts'
import { isAlive, isOpen, leastOutstanding, type Member } from './balance.ts'
import { Fault } from './fault.ts'
import type { Instance } from './instance.ts'

interface Waiter {
  readonly avoid: ReadonlySet<Instance> | null
  readonly prefix: string
  readonly give: (member: Member) => void
  readonly refuse: (fault: Fault) => void
}

/** The instances of one model: who asks gets the lease of one of them, or waits in line. */
export class InstancePool {
  readonly members: Member[] = []
  readonly #waiting = new Set<Waiter>()
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: Affinity | null
  readonly #maxQueue: number
  readonly #waitMs: number
  #deadSince: number | null = null
  #giveUp: (() => void) | null = null
  readonly #onChange = () => this.#serve()

  constructor(
    clock: Clock,
    settings: { maxQueue: number; waitMs: number; random: () => number; affinity: boolean },
  ) {
    this.#clock = clock
    this.#maxQueue = settings.maxQueue
    this.#waitMs = settings.waitMs
    this.#random = settings.random
    this.#affinity = settings.affinity ? new Affinity() : null
    this.#watchLife()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** No instance is believed to work. */
  get isDead(): boolean {
    return this.#deadSince !== null
  }

  add(member: Member): void {
    this.members.push(member)
    this.#affinity?.reset()
    member.instance.changed.add(this.#onChange)
    this.#serve()
  }

  remove(member: Member): void {
    this.members.splice(this.members.indexOf(member), 1)
    this.#affinity?.reset()
    member.instance.changed.delete(this.#onChange)
    this.#serve()
  }

  /** Tells the pool that a member's own state changed. */
  changed(): void {
    this.#serve()
  }

  /** Whether a question that failed at `tried` could go to an instance that is believed to work. */
  hasOther(tried: ReadonlySet<Instance>): boolean {
    return this.members.some((member) => isAlive(member) && !tried.has(member.instance))
  }

  /**
   * An instance with a free place, counted as taken; null: one must wait. Those in `avoid` only if no other lives.
   * `prefix`, where it is not '', is the beginning that the question shares with others.
   */
  take(avoid: ReadonlySet<Instance> | null, prefix = ''): Member | null {
    const avoided = avoid !== null && avoid.size > 0 && this.hasOther(avoid) ? avoid : null
    return this.#taken(avoided ? (member) => isFree(member) && !avoided.has(member.instance) : isFree, prefix)
  }

  /** A free, living instance that is not `but`, counted as taken. */
  takeOther(but: Instance): Member | null {
    return this.#taken((member) => isFree(member) && isAlive(member) && member.instance !== but, '')
  }

  /** Like `take`, in line behind those who came before. Rejects with Fault. */
  wait(
    avoid: ReadonlySet<Instance> | null,
    prefix: string,
    stop: Stop,
    stopped: () => Fault,
  ): Promise<Member> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= this.#maxQueue) {
        reject(new Fault('overloaded', 'too many questions wait for this model', { remedy: 'give-up' }))
        return
      }
      if (this.#isGivenUp()) {
        reject(unreachable())
        return
      }
      if (stop.stopped) {
        reject(stopped())
        return
      }
      const off = stop.on(() => {
        this.#waiting.delete(waiter)
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
      this.#waiting.add(waiter)
    })
  }

  close(): void {
    this.#giveUp?.()
    for (const member of this.members) member.instance.changed.delete(this.#onChange)
  }

  #taken(usable: (member: Member) => boolean, prefix: string): Member | null {
    const near =
      this.#affinity && prefix !== '' ? preferred(this.#affinity.orderOf(prefix, this.members), usable) : null
    const member = near ?? leastOutstanding(this.members, usable, this.#random)
    member?.instance.begin()
    return member
  }

  #serve(): void {
    this.#watchLife()
    if (this.#waiting.size === 0) return
    for (const waiter of this.#waiting) {
      if (!this.members.some(isFree)) return
      const member = this.take(waiter.avoid, waiter.prefix)
      if (!member) continue
      this.#waiting.delete(waiter)
      waiter.give(member)
    }
  }

  #watchLife(): void {
    if (this.members.some(isAlive)) {
      if (this.#deadSince === null) return
      this.#deadSince = null
      this.#giveUp?.()
      this.#giveUp = null
    } else if (this.#deadSince === null) {
      this.#deadSince = this.#clock.now()
      this.#giveUp = this.#clock.after(this.#waitMs, () => {
        for (const waiter of this.#waiting) waiter.refuse(unreachable())
        this.#waiting.clear()
      })
    }
  }

  #isGivenUp(): boolean {
    return this.#deadSince !== null && this.#clock.now() - this.#deadSince >= this.#waitMs
  }
}

const isFree = (member: Member): boolean => isOpen(member) && member.instance.available

const unreachable = (): Fault =>
  new Fault('judge_unreachable', 'no instance of the model answers', { remedy: 'give-up' })
