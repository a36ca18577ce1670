import { GatewayError } from '../../core/errors.ts'
import { memoizeByObject } from '../../core/memoize.ts'
import type { Outcome } from '../../core/sample/sample.ts'
import { questionBytes } from '../models/api/ask.ts'
import type { Models } from '../models/models.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import { gateKey, mostQuestions } from './gate.ts'
import { watching } from './influence.ts'
import type { Job } from './job.ts'

/** Counts rows in progress and their memory, so that rows that do not fit are refused before any work is done. */
export interface Admission {
  readonly inFlight: number
  /**
   * Throws RG_OVERLOADED where rows that take `heapBytes` do not fit now, RG_REQUEST_TOO_LARGE where they never do, even
   * alone. The returned function gives the places back. Call it once. `isParked`: they will ask a model of which no instance can
   * be asked; half of the room is kept from them, for rows that do not.
   */
  enter(rows: number, heapBytes?: number, isParked?: boolean): () => void
  /** Work that is for no row of this engine alone; `idle` waits until the returned function is called. */
  hold(): () => void
  /** Resolves once nothing is in progress. */
  idle(): Promise<void>
}

/** `maxRows` and `maxHeapBytes` limit all rows in progress, and so the rows of one request. */
export function openAdmission(maxRows: number, maxHeapBytes = Number.POSITIVE_INFINITY): Admission {
  let inFlight = 0
  let taken = 0
  let holds = 0
  let waiting: (() => void)[] = []
  const wakeIfIdle = () => {
    if (inFlight + holds > 0) return
    for (const wake of waiting) wake()
    waiting = []
  }
  return {
    get inFlight() {
      return inFlight
    },
    enter(rows, heapBytes = 0, isParked = false) {
      if (rows > maxRows)
        throw tooLarge(`${rows} samples in one request, and ${maxRows} fit (limits.max_samples)`, maxRows)
      if (heapBytes > maxHeapBytes)
        throw tooLarge(
          `${rows} samples that take ${mebi(heapBytes)} MiB of memory while they are scored, and ${mebi(maxHeapBytes)} MiB of this process's heap are for that`,
          Math.floor((rows * maxHeapBytes) / heapBytes),
        )
      // Alone they may come whatever they take: nobody else is kept out.
      const share = isParked && inFlight > 0 ? parkedShare : 1
      if (inFlight + rows > share * maxRows)
        throw new GatewayError(
          'RG_OVERLOADED',
          `${inFlight} samples are in work and ${share * maxRows} fit${becauseParked(share)}; send these ${rows} later`,
        )
      if (taken + heapBytes > share * maxHeapBytes)
        throw new GatewayError(
          'RG_OVERLOADED',
          `${inFlight} samples in work take ${mebi(taken)} of ${mebi(share * maxHeapBytes)} MiB${becauseParked(share)}; send these ${rows} later`,
        )
      inFlight += rows
      taken += heapBytes
      return () => {
        inFlight -= rows
        taken -= heapBytes
        wakeIfIdle()
      }
    },
    hold() {
      holds += 1
      return () => {
        holds -= 1
        wakeIfIdle()
      }
    },
    idle: () =>
      inFlight + holds === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  }
}

/** The share of all room that rows may have whose questions no instance can be asked. */
const parkedShare = 0.5

const becauseParked = (share: number): string =>
  share < 1 ? ' while no instance of their model answers' : ''

/** Whether rows of this plan would ask a model whose questions are parked. */
export const asksParked = (models: Pick<Models, 'isParked'>, { steps }: Plan): boolean =>
  steps.some((step) => step.models.some((model) => models.isParked(model)))

/** The share of its time in which a request must be done by what is known; the rest is for what is not. */
const surely = 0.8

const mebi = (bytes: number): number => Math.ceil(bytes / 1_048_576)

const tooLarge = (what: string, fit: number): GatewayError =>
  new GatewayError(
    'RG_REQUEST_TOO_LARGE',
    fit > 0 ? `${what}; send at most ${fit} of them at a time` : `${what}; shorten them`,
  )

/** Measured: what stays of a row while it is scored, beside its texts. */
const rowBytes = 2048

/** An estimate of the heap that rows take while they are scored; `bodyBytes`: what they came in, which questions repeat. */
export function heapOfRows({ steps }: Pick<Plan, 'steps'>, rows: number, bodyBytes: number): number {
  const perGate = questionsByGate(steps)
  let asked = 0
  let questions = 0
  for (const perRow of perGate) {
    asked += perRow
    questions += Math.min(rows * perRow, mostQuestions)
  }
  return rows * rowBytes + questions * questionBytes + asked * bodyBytes
}

/** Questions of a row, for each gate: steps that ask the same models share one. */
const questionsByGate = memoizeByObject((steps: Plan['steps']): readonly number[] => {
  const perGate = new Map<string, number>()
  for (const { models } of steps) {
    const gate = gateKey(models)
    perGate.set(gate, (perGate.get(gate) ?? 0) + models.length)
  }
  return [...perGate.values()]
})

/**
 * Throws RG_OVERLOADED, with when to come again, where a model that these rows may ask has a full line, or one in which
 * their questions would wait longer than the model's config allows, or where their answers would come too late for
 * `patienceMs`. A model of which nothing is asked takes whatever comes.
 */
export function rejectIfQueueTooLong(
  models: Pick<Models, 'queue' | 'answerBoundMs'>,
  demand: Pick<Demand, 'of' | 'perRow'>,
  { plan, rows, trainingStep }: Pick<Job, 'plan' | 'rows' | 'trainingStep'>,
  patienceMs: number,
): void {
  const most = surely * patienceMs
  if (isSurelyInTime(models, demand, plan.steps, rows.length, most)) return
  const watchers = watching(plan, trainingStep)
  const done = new Map<string, number>()
  for (const step of plan.steps) {
    const { name: own, models: names, dataSource, needs } = step
    const began = Math.max(0, ...needs.map((name) => done.get(name) ?? 0))
    const asks = dataSource
      ? rows.filter((row) => 'prompt' in row && dataSource.matches(row.dataSource)).length
      : rows.length
    let ended = began
    for (const name of asks === 0 || watchers.has(step) ? [] : names) {
      const line = models.queue(name)
      const { isFull, waitMs, maxWaitMs } = line
      if (isFull || waitMs > maxWaitMs)
        throw overloaded(name, isFull ? 'as many questions as may' : secondsOf(waitMs), waitMs - maxWaitMs)
      const ahead = Math.max(demand.of(name), line.asked) - line.asked
      if (ahead + line.asked === 0) continue
      const questions = Math.max(1, Math.round(asks * demand.perRow(plan.steps, name)))
      // What would be late even alone is no reason to wait for others to be done.
      const further = line.answerMs(questions - line.asked) > most ? 1 : questions
      const answerMs = line.answerMs(ahead + further)
      ended = Math.max(ended, began + answerMs)
      if (ended > most) throw overloaded(name, secondsOf(answerMs), ended - most)
    }
    done.set(own, ended)
  }
}

/** Whether the steps one after the other would be in time, by a look that costs little. */
function isSurelyInTime(
  models: Pick<Models, 'answerBoundMs'>,
  demand: Pick<Demand, 'of' | 'perRow'>,
  steps: Plan['steps'],
  rows: number,
  most: number,
): boolean {
  let ms = 0
  for (const step of steps)
    for (const name of step.models) {
      ms += models.answerBoundMs(name, demand.of(name), Math.ceil(rows * demand.perRow(steps, name)) + 1)
      if (ms > most) return false
    }
  return true
}

const secondsOf = (ms: number): string => `questions for ${Math.round(ms / 1000)} s`

const overloaded = (model: string, line: string, lateMs: number): GatewayError =>
  new GatewayError('RG_OVERLOADED', `${line} wait for the model '${model}'; send these later`, {
    retryAfterS: Number.isFinite(lateMs) ? Math.max(1, Math.ceil(lateMs / 1000)) : 1,
  })

type Steps = Plan['steps']

/** The share of the newest row in what a row is expected to ask. */
const newest = 0.05

/** The questions to one model that rows in progress will have asked. */
interface Counter {
  expected: number
}

/** What rows of a plan's steps ask of one model. */
interface Share {
  readonly model: string
  readonly counter: Counter
  /** The steps that ask it, by their place. */
  readonly places: readonly number[]
  /** Questions for each row, from recent rows. */
  perRow: number
}

/**
 * The questions that the rows in progress will have asked when they are done, by model. A row is let in long before its
 * questions are asked: rules come first, gates close, one judge reads what another said.
 */
export class Demand {
  readonly #counters = new Map<string, Counter>()
  readonly #shares = new WeakMap<Steps, readonly Share[]>()

  /** Questions of rows in progress, asked or not. */
  of(model: string): number {
    return Math.max(0, this.#counters.get(model)?.expected ?? 0)
  }

  /** Questions that a row of these steps asks of a model, on average. */
  perRow(steps: Steps, model: string): number {
    return this.#sharesOf(steps).find((share) => share.model === model)?.perRow ?? 0
  }

  /** Counts rows as in work; the returned function takes one back, and learns from what it came to. null: they ask nothing. */
  admit(steps: Steps, rows: number): ((outcome: Outcome) => void) | null {
    const shares = this.#sharesOf(steps)
    if (shares.length === 0) return null
    const counted = shares.map(({ perRow }) => perRow)
    for (const [index, { counter }] of shares.entries()) counter.expected += (counted[index] ?? 0) * rows
    return ({ terms }) => {
      for (let index = 0; index < shares.length; index += 1) {
        const share = shares[index] as Share
        share.counter.expected -= counted[index] ?? 0
        let asked = 0
        for (const place of share.places) asked += askedBy(steps[place] as PlanStep, terms[place])
        share.perRow += newest * (asked - share.perRow)
      }
    }
  }

  #sharesOf(steps: Steps): readonly Share[] {
    const known = this.#shares.get(steps)
    if (known) return known
    const models = new Set(steps.flatMap((step) => step.models))
    const made = [...models].map((model): Share => {
      const counter = this.#counters.get(model) ?? { expected: 0 }
      this.#counters.set(model, counter)
      const places = steps.flatMap((step, place) => (step.models.includes(model) ? [place] : []))
      const perRow = places.reduce((sum, place) => sum + (steps[place]?.votes.n ?? 0), 0)
      return { model, counter, places, perRow }
    })
    this.#shares.set(steps, made)
    return made
  }
}

/** The questions that a term cost each of its step's models. */
function askedBy({ models, votes }: PlanStep, term: Outcome['terms'][number] | undefined): number {
  if (!term || term.status === 'off') return 0
  if (term.status !== 'scored') return votes.n
  const { flags } = term.score
  return flags?.includes('no_call') || flags?.includes('refused') ? 0 : term.draws / models.length
}
