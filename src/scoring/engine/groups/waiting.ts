/**
 * Members of a group wait for each other here, whether they arrive in one request or in several. A gathering collects entries
 * until it is started, runs once for all of them, and then keeps each member's result.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Term } from '../../../core/sample/sample.ts'
import { eachInSlices } from '../../../core/slices.ts'
import { GroupTimes } from '../../../core/stalls/request-times.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { Joining, Quorum, StepContext } from '../context.ts'

/** Makes the terms of a group's members, in their order. */
export type GroupRun = (
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
) => Promise<readonly Term[]>

/** Results by member; null if a member does not take part. A member without an entry is `incomplete`. */
export type Results<Member> = ReadonlyMap<Member, Term | null>

/** One group of one step that waits for its members. */
export class Gathering<Member> {
  /** Emptied once the results are there. */
  readonly #entries = new Map<Member, Joining>()
  readonly #run: (present: readonly Joining[], all: readonly Joining[]) => Promise<readonly Term[]>
  /** Resolves once; rejects if the run does. Empty if fewer than `least` members arrived. */
  readonly results: Promise<Results<Member>>
  #resolve: (results: Promise<Results<Member>>) => void = () => {}
  #stopWaiting: () => void = () => {}
  #isOver = false
  /** What the members wait for. */
  readonly times = new GroupTimes()

  /** `run` gets the members that take part, and all members for what they share. */
  constructor(run: (present: readonly Joining[], all: readonly Joining[]) => Promise<readonly Term[]>) {
    this.#run = run
    this.results = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** The waiting is over; later members are too late. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The results exist. */
  get isDone(): boolean {
    return this.#isOver && this.#entries.size === 0
  }

  get size(): number {
    return this.#entries.size
  }

  has(member: Member): boolean {
    return this.#entries.has(member)
  }

  /** Starts after this time with at least `least` members, unless it has already started. */
  startAfter(clock: Clock, { waitMs, least }: Quorum): void {
    if (Number.isFinite(waitMs)) {
      this.#stopWaiting = clock.after(waitMs, () => {
        this.times.gaveUp()
        this.start(least)
      })
    }
  }

  /** A member's second entry replaces its first. */
  add(member: Member, entry: Joining): void {
    this.#entries.set(member, entry)
    this.times.joined(entry.context.times, entry.place)
  }

  /** Runs in the order of `members`, or in order of arrival. A second call does nothing. */
  start(least: number, members: Iterable<Member> = this.#entries.keys()): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopWaiting()
    const [entry] = this.#entries.values()
    if (entry) this.times.begun(entry.context.clock.now())
    this.#resolve(this.#runFor([...members], least).finally(() => this.#entries.clear()))
  }

  /** A group may have tens of thousands of members, so all that is done for each is done in slices. */
  async #runFor(members: readonly Member[], least: number): Promise<Results<Member>> {
    const results = new Map<Member, Term | null>()
    const arrived: Joining[] = []
    const present: Joining[] = []
    const asking: Member[] = []
    const gathered = eachInSlices(members.length, (index) => {
      const member = members[index] as Member
      const entry = this.#entries.get(member)
      if (!entry) return
      results.set(member, null)
      arrived.push(entry)
      if (entry.row === null) return
      present.push(entry)
      asking.push(member)
    })
    if (gathered !== null) await gathered
    if (arrived.length < least) return new Map()
    if (present.length === 0) return results
    const terms = await this.#run(present, arrived)
    const told = eachInSlices(asking.length, (index) => {
      results.set(asking[index] as Member, terms[index] ?? null)
    })
    if (told !== null) await told
    return results
  }
}
