import type { Term } from '../../../core/sample/sample.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { CancelToken, whenAborted } from '../../models/api/cancel-token.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { Joining, StepContext } from '../context.ts'
import { incomplete } from './group.ts'

/** Makes the terms of one group's members, in their order. */
export type CohortRun = (
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
) => Promise<readonly Term[]>

/** What a member gets; null: it takes no part. */
type Given = Term | null | typeof incomplete

/** One answer in one group, and what it gets. */
export class Place {
  /** SHA-256 of the response. */
  readonly answer: string
  /** What the same answer got in an earlier generation, or will; null: it is new. */
  readonly earlier: Promise<Given> | null
  readonly given: Promise<Given>
  /** Requests whose sample with this answer is not done. */
  live = 0
  /** A request was told a reward for it. */
  isRewarded = false
  /** Take back that the group watches whether the requests leave. */
  readonly watches: (() => void)[] = []
  #give: (given: Given | Promise<Given>) => void = () => {}

  constructor(answer: string, earlier: Promise<Given> | null) {
    this.answer = answer
    this.earlier = earlier
    this.given = new Promise((resolve) => {
      this.#give = resolve
    })
  }

  /** Nobody waits for it any more, and nobody got a reward: it will come again. */
  get isMissed(): boolean {
    return this.live === 0 && !this.isRewarded
  }

  /** Once; what an earlier generation gave stands in for a group that is not whole. */
  give(given: Given): void {
    this.#give(given === incomplete && this.earlier !== null ? this.earlier : given)
  }
}

/** A member, and the step as its own reading of the configs has it. */
type Member = Joining & { readonly step: PlanStep }

/** One group of one step: one generation. */
export class Cohort {
  isOver = false
  /** By name, in the order in which they came. */
  readonly places = new Map<string, Place>()
  /** Resolves when every place has what it gets: whether that is more than `incomplete`. Never rejects. */
  readonly ended: Promise<boolean>
  readonly #run: CohortRun
  /** Emptied when their terms are there. */
  readonly #members = new Map<string, Member>()
  readonly #leaving = new CancelToken()
  #waiting = 0
  #end: (hasTerms: Promise<boolean>) => void = () => {}
  #stopWaiting: () => void = () => {}

  constructor(run: CohortRun) {
    this.#run = run
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** All its requests left before it gave anything: what they sent will come again, as if it had not come. */
  get isAbandoned(): boolean {
    return this.#leaving.aborted
  }

  /** Called once, when the waiting is over. */
  onStart(stopWaiting: () => void): void {
    this.#stopWaiting = stopWaiting
  }

  /** Another answer takes the place of one that was held for a repeat: that was a retry of what is over. */
  add(name: string, place: Place, joining: Member): void {
    const held = this.places.get(name)
    if (held !== place) {
      this.places.set(name, place)
      this.#members.set(name, joining)
      if (held) this.#release(held)
    }
    if (this.isOver && this.#members.size === 0) return
    this.#waiting += 1
    let isHere = true
    const leave = () => {
      if (!isHere) return
      isHere = false
      this.#waiting -= 1
    }
    const off = whenAborted(joining.context.end.signal, () => {
      leave()
      if (this.#waiting > 0) return
      this.#leaving.stop()
      this.start(Number.POSITIVE_INFINITY)
    })
    place.watches.push(() => {
      off()
      leave()
    })
  }

  start(least: number): void {
    if (this.isOver) return
    this.isOver = true
    this.#stopWaiting()
    const terms = this.places.size < least ? Promise.resolve(new Map<string, Term | null>()) : this.#terms()
    this.#end(terms.catch(() => new Map<string, Term | null>()).then((found) => this.#giveAll(found)))
  }

  #release(held: Place): void {
    for (const takeBack of held.watches.splice(0)) takeBack()
    held.give(incomplete)
  }

  #giveAll(terms: ReadonlyMap<string, Term | null>): boolean {
    this.#members.clear()
    const isAbandoned = this.isAbandoned
    let hasTerms = terms.size > 0
    for (const [name, place] of this.places) {
      for (const takeBack of place.watches.splice(0)) takeBack()
      place.give(terms.has(name) ? (terms.get(name) ?? null) : incomplete)
      hasTerms ||= place.earlier !== null
    }
    return hasTerms && !isAbandoned
  }

  async #terms(): Promise<ReadonlyMap<string, Term | null>> {
    const members = [...this.#members]
    const terms = new Map<string, Term | null>(members.map(([name]) => [name, null]))
    const present = members.flatMap(([name, { row }]) => (row ? [{ name, row }] : []))
    // Where a reload came between, the newest reading of the configs is open longest.
    const joined = members.map(([, member]) => member)
    const last = joined.findLast(({ context }) => !context.end.signal.aborted) ?? joined[0]
    if (!last || present.length === 0) return terms
    const { context: own, step } = last
    // As long as one of the requests waits, the questions of all are asked.
    const deadline = members.reduce((last, [, { context }]) => Math.max(last, context.job.deadline), 0)
    const leaving = this.#leaving
    const end = {
      signal: leaving,
      get isOver() {
        return leaving.aborted
      },
      dispose: () => {},
    }
    const context = { ...own, job: { ...own.job, deadline }, end }
    const rows = present.map(({ row }) => row)
    const release = own.hold()
    const found = await this.#run(context, step, rows).finally(release)
    for (const [index, { name }] of present.entries()) terms.set(name, found[index] ?? null)
    return terms
  }
}
