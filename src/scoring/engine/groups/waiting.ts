/**
 * Members of a group wait for each other here, whether they arrive in one request or in several. A gathering collects entries
 * until it is started, runs once for all of them, and then keeps each member's result.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Term } from '../../../core/sample/sample.ts'
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

  /** Starts after this time with at least `least` members, unless it has already started. */
  startAfter(clock: Clock, { waitMs, least }: Quorum): void {
    if (Number.isFinite(waitMs)) this.#stopWaiting = clock.after(waitMs, () => this.start(least))
  }

  /** A member's second entry replaces its first. */
  add(member: Member, entry: Joining): void {
    this.#entries.set(member, entry)
  }

  /** Runs in the order of `members`, or in order of arrival. A second call does nothing. */
  start(least: number, members: Iterable<Member> = this.#entries.keys()): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopWaiting()
    const arrived = [...members].flatMap((member) => {
      const entry = this.#entries.get(member)
      return entry ? [[member, entry] as const] : []
    })
    this.#resolve(this.#runFor(arrived, least).finally(() => this.#entries.clear()))
  }

  async #runFor(arrived: readonly (readonly [Member, Joining])[], least: number): Promise<Results<Member>> {
    if (arrived.length < least) return new Map()
    const results = new Map<Member, Term | null>(arrived.map(([member]) => [member, null]))
    const present = arrived.filter(([, { row }]) => row !== null)
    if (present.length === 0) return results
    const terms = await this.#run(
      present.map(([, entry]) => entry),
      arrived.map(([, entry]) => entry),
    )
    for (const [index, [member]] of present.entries()) results.set(member, terms[index] ?? null)
    return results
  }
}
