import { hash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { CallRow } from '../functions/function-host.ts'
import { Stop, whenAborted } from '../models/abort.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Term } from '../sample/outcome.ts'
import type { Sample } from '../sample/sample.ts'
import type { Cohorts, Joining, StepContext } from './context.ts'
import { incomplete } from './group.ts'

type Run = (context: StepContext, step: PlanStep, rows: readonly CallRow[]) => Promise<readonly Term[]>

/** Finished groups whose terms are kept for retries, for as long as a group is waited for. */
const mostKept = 1024

/** `run` makes the terms of one group's members, in their order; each member's request gets its own. */
export function openCohorts(clock: Clock, run: Run): Cohorts {
  const cohorts = new Map<string, Cohort>()
  /** With the time of their end, oldest first. */
  const finished = new Map<string, number>()
  const forget = (key: string) => {
    cohorts.delete(key)
    finished.delete(key)
  }
  const open = (key: string, step: PlanStep, waitMs: number, least: number): Cohort => {
    const made = new Cohort(step, run)
    finished.delete(key)
    cohorts.set(key, made)
    made.onStart(clock.after(waitMs, () => made.start(least)))
    const ended = (results?: ReadonlyMap<string, unknown>) => {
      if (cohorts.get(key) !== made) return
      if (!results || results.size === 0) return forget(key)
      finished.set(key, clock.now())
      const [oldest] = finished
      if (finished.size > mostKept && oldest) forget(oldest[0])
    }
    made.results.then(ended, () => ended())
    return made
  }
  return {
    async join(step, joining, { size, least, waitMs }) {
      const key = keyOf(step, joining)
      const name = nameOf(joining.sample)
      const endedAt = finished.get(key)
      if (endedAt !== undefined && clock.now() - endedAt > waitMs) forget(key)
      const known = cohorts.get(key)
      // Names come again with the next answers to a prompt: a group that has ended does not take them in.
      const isPast = known?.isOver === true && !known.knows(name, joining.sample)
      const cohort = known && !isPast ? known : open(key, step, waitMs, least)
      if (!cohort.add(name, joining)) return incomplete
      if (cohort.size >= size) cohort.start(least)
      const results = await cohort.results
      return results.has(name) ? (results.get(name) ?? null) : incomplete
    },
  }
}

/** One group of one step. */
class Cohort {
  isOver = false
  readonly results: Promise<ReadonlyMap<string, Term | null>>
  readonly #step: PlanStep
  readonly #run: Run
  /** Emptied when their terms are there. */
  readonly #members = new Map<string, Joining>()
  /** Hashes of the members' responses. */
  readonly #answers = new Map<string, string>()
  readonly #leaving = new Stop()
  #waiting = 0
  #settle: (results: Promise<ReadonlyMap<string, Term | null>>) => void = () => {}
  #stopWaiting: () => void = () => {}

  constructor(step: PlanStep, run: Run) {
    this.#step = step
    this.#run = run
    this.results = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get size(): number {
    return this.#answers.size
  }

  /** Called once, when the waiting is over. */
  onStart(stopWaiting: () => void): void {
    this.#stopWaiting = stopWaiting
  }

  knows(name: string, { response }: Sample): boolean {
    return this.#answers.get(name) === hash('sha256', response)
  }

  /** False where another answer has the member's name. */
  add(name: string, joining: Joining): boolean {
    if (this.#answers.has(name) && !this.knows(name, joining.sample)) return false
    if (!this.#answers.has(name)) {
      this.#answers.set(name, hash('sha256', joining.sample.response))
      this.#members.set(name, joining)
    }
    this.#waiting += 1
    const left = () => {
      this.#waiting -= 1
      if (this.#waiting > 0) return
      this.#leaving.stop()
      this.start(Number.POSITIVE_INFINITY)
    }
    whenAborted(joining.context.end.signal, left)
    return true
  }

  start(least: number): void {
    if (this.isOver) return
    this.isOver = true
    this.#stopWaiting()
    const terms = this.size < least ? Promise.resolve(new Map<string, Term | null>()) : this.#terms()
    this.#settle(terms.finally(() => this.#members.clear()))
  }

  async #terms(): Promise<ReadonlyMap<string, Term | null>> {
    const members = [...this.#members]
    const terms = new Map<string, Term | null>(members.map(([name]) => [name, null]))
    const present = members.flatMap(([name, { row }]) => (row ? [{ name, row }] : []))
    const [, first] = members[0] ?? []
    if (!first || present.length === 0) return terms
    // As long as one of the requests waits, the questions of all are asked.
    const deadline = Math.max(...members.map(([, { context }]) => context.job.deadline))
    const end = { signal: this.#leaving, dispose: () => {} }
    const context = { ...first.context, job: { ...first.context.job, deadline }, end }
    const rows = present.map(({ row }) => row)
    const found = await this.#run(context, this.#step, rows)
    for (const [index, { name }] of present.entries()) terms.set(name, found[index] ?? null)
    return terms
  }
}

function keyOf({ name }: PlanStep, { context, sample }: Joining): string {
  const { plan, run = '', trainingStep = null } = context.job
  const { prompt, group } = sample
  const parts = [plan.name, plan.version, run, trainingStep, name, group?.id, prompt]
  return hash('sha256', JSON.stringify(parts))
}

const nameOf = ({ id, group }: Sample): string =>
  group?.index === undefined ? `id ${id}` : `#${group.index}`
