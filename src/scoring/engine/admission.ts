import { GatewayError } from '../../core/errors.ts'
import { memoizeByObject } from '../../core/memoize.ts'
import type { Outcome } from '../../core/sample/sample.ts'
import { questionBytes } from '../models/interface/ask.ts'
import type { Models } from '../models/models.ts'
import { askedModels, type Plan, type PlanStep } from '../plan/plan.ts'
import type { EngineJob } from './job.ts'
import { gateKey, mostQuestions } from './job.ts'
import { watching } from './outcome.ts'

/** Counts rows in progress and their memory, so that rows that do not fit are refused before any work starts. */
interface Admission {
  readonly inFlight: number
  /**
   * Throws RG_OVERLOADED if rows that take `heapBytes` do not fit now, or RG_REQUEST_TOO_LARGE if they would not fit even alone.
   * Returns a function that releases the room; call it once. `isParked`: the rows will ask a model that has no usable instance.
   * Half of the room is reserved for rows that do not.
   */
  enter(rows: number, heapBytes?: number, isParked?: boolean): () => void
  /** Registers work that may outlive this engine's rows: `idle` also waits until the returned function is called. */
  hold(): () => void
  /** Resolves once nothing is in progress. */
  idle(): Promise<void>
}

/** `maxRows` and `maxHeapBytes` limit all rows in progress, and therefore also each request. */
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
        throw tooLarge(`a request of ${rows} samples exceeds limits.max_samples (${maxRows})`, maxRows)
      if (heapBytes > maxHeapBytes)
        throw tooLarge(
          `scoring ${rows} samples takes ${mebi(heapBytes)} MiB of memory, and this process has ${mebi(maxHeapBytes)} MiB for that`,
          Math.floor((rows * maxHeapBytes) / heapBytes),
        )
      // With nothing else in progress, parked rows may take all the room: they keep nobody out.
      const share = isParked && inFlight > 0 ? parkedShare : 1
      if (inFlight + rows > share * maxRows)
        throw new GatewayError(
          'RG_OVERLOADED',
          `${inFlight} samples are in progress and ${share * maxRows} fit${becauseParked(share)}; send these ${rows} later`,
        )
      if (taken + heapBytes > share * maxHeapBytes)
        throw new GatewayError(
          'RG_OVERLOADED',
          `${inFlight} samples in progress take ${mebi(taken)} of ${mebi(share * maxHeapBytes)} MiB${becauseParked(share)}; send these ${rows} later`,
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

/** The share of the room that may be taken when rows ask a model without a usable instance. */
const parkedShare = 0.5

const becauseParked = (share: number): string =>
  share < 1 ? ' while no instance of their model answers' : ''

export const asksParked = (models: Pick<Models, 'isParked'>, { steps }: Plan): boolean =>
  steps.some((step) => step.models.some((model) => models.isParked(model)))

/** The share of its time limit within which a request must be expected to finish. The rest is a margin. */
const surely = 0.8

const mebi = (bytes: number): number => Math.ceil(bytes / 1_048_576)

const tooLarge = (what: string, fit: number): GatewayError =>
  new GatewayError(
    'RG_REQUEST_TOO_LARGE',
    fit > 0 ? `${what}; send at most ${fit} of them at a time` : `${what}; shorten them`,
  )

/** Measured: bytes kept per row while it is scored, not counting its texts. */
const rowBytes = 2048

/**
 * Estimates the heap that rows take while they are scored. `bodyBytes` is the size of their request body, whose texts questions
 * repeat.
 */
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

/** Questions per row for each gate. Steps that ask the same models share a gate. */
const questionsByGate = memoizeByObject((steps: Plan['steps']): readonly number[] => {
  const perGate = new Map<string, number>()
  for (const step of steps) {
    const gate = gateKey(step.models)
    perGate.set(gate, (perGate.get(gate) ?? 0) + askedModels(step).length)
  }
  return [...perGate.values()]
})

/**
 * Throws RG_OVERLOADED with a retry time if a model that these rows may ask has a full queue, if their questions would wait
 * longer than the model's config allows, or if their answers would come after `patienceMs`. An idle model accepts anything.
 */
export function rejectIfQueueTooLong(
  models: Pick<Models, 'queue' | 'answerBoundMs'>,
  demand: Pick<Demand, 'of' | 'perRow'>,
  { plan, rows, trainingStep }: Pick<EngineJob, 'plan' | 'rows' | 'trainingStep'>,
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
        throw overloaded(name, isFull ? 'is full' : secondsOf(waitMs), waitMs - maxWaitMs)
      const ahead = Math.max(demand.of(name), line.asked) - line.asked
      if (ahead + line.asked === 0) continue
      const questions = Math.max(1, Math.round(asks * demand.perRow(plan.steps, name)))
      // A request that would be late even alone gains nothing from waiting for others.
      const further = line.answerMs(questions - line.asked) > most ? 1 : questions
      const answerMs = line.answerMs(ahead + further)
      ended = Math.max(ended, began + answerMs)
      if (ended > most) throw overloaded(name, secondsOf(answerMs), ended - most)
    }
    done.set(own, ended)
  }
}

/**
 * A cheap upper bound: whether even running the steps one after another would be in time. With the trie of templates it
 * saves 12 % of a judged sample that comes alone (`npm run against`).
 */
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

const secondsOf = (ms: number): string => `is ${Math.round(ms / 1000)} s long`

const overloaded = (model: string, queue: string, lateMs: number): GatewayError =>
  new GatewayError('RG_OVERLOADED', `the queue of model '${model}' ${queue}; send these later`, {
    retryAfterS: Number.isFinite(lateMs) ? Math.max(1, Math.ceil(lateMs / 1000)) : 1,
  })

type Steps = Plan['steps']

/** Weight of the newest row in the moving average of questions per row. */
const newest = 0.05

/** Questions that rows in progress are expected to ask one model. */
interface Counter {
  expected: number
}

/** The questions that a plan's rows ask one model. */
interface Share {
  readonly model: string
  readonly counter: Counter
  /** Indices of the steps that ask it. */
  readonly places: readonly number[]
  /** Moving average of questions per row. */
  perRow: number
}

/**
 * Counts, per model, the questions that rows in progress are expected to ask in total. A row is admitted long before it asks:
 * rules run first, gates close, and some judges read what others said.
 */
export class Demand {
  readonly #counters = new Map<string, Counter>()
  readonly #shares = new WeakMap<Steps, readonly Share[]>()

  /** Expected questions of rows in progress, whether asked yet or not. */
  of(model: string): number {
    return Math.max(0, this.#counters.get(model)?.expected ?? 0)
  }

  /** Average number of questions that a row of these steps asks a model. */
  perRow(steps: Steps, model: string): number {
    return this.#sharesOf(steps).find((share) => share.model === model)?.perRow ?? 0
  }

  /** The same of all models. */
  perRowOfAll(steps: Steps): number {
    return this.#sharesOf(steps).reduce((sum, { perRow }) => sum + perRow, 0)
  }

  /**
   * Counts rows as in progress. The returned function releases one row and learns from its outcome. Null: these steps ask
   * nothing.
   */
  admit(steps: Steps, rows: number): ((outcome: Outcome) => void) | null {
    const shares = this.#sharesOf(steps)
    if (shares.length === 0) return null
    const counted = shares.map(({ perRow }) => perRow)
    for (const [index, { counter }] of shares.entries()) counter.expected += (counted[index] ?? 0) * rows
    return ({ terms }) => {
      for (let index = 0; index < shares.length; index += 1) {
        const share = shares[index] as Share
        const { model } = share
        share.counter.expected -= counted[index] ?? 0
        let asked = 0
        for (const place of share.places)
          asked += askedBy(steps[place] as PlanStep, model, terms[place], share.perRow / share.places.length)
        share.perRow += newest * (asked - share.perRow)
      }
    }
  }

  #sharesOf(steps: Steps): readonly Share[] {
    const known = this.#shares.get(steps)
    if (known) return known
    const models = new Set(steps.flatMap(askedModels))
    const made = [...models].map((model): Share => {
      const counter = this.#counters.get(model) ?? { expected: 0 }
      this.#counters.set(model, counter)
      const places = steps.flatMap((step, place) => (askedModels(step).includes(model) ? [place] : []))
      // How often a second judge is asked is learnt from the rows.
      const perRow = places.reduce((sum, place) => {
        const { models, votes } = steps[place] as PlanStep
        return sum + (models.includes(model) ? votes.n : 0)
      }, 0)
      return { model, counter, places, perRow }
    })
    this.#shares.set(steps, made)
    return made
  }
}

/** How many questions a term cost one of its step's models. `usual`: where a failure does not say how many were asked. */
function askedBy(
  { models, votes, kind }: PlanStep,
  model: string,
  term: Outcome['terms'][number] | undefined,
  usual: number,
): number {
  if (!term || term.status === 'off') return 0
  if (!models.includes(model))
    return term.status === 'scored' && term.score.flags?.includes('escalated') ? votes.n : 0
  if (term.status !== 'scored') return kind === 'questions' || kind === 'group-questions' ? usual : votes.n
  const { flags } = term.score
  return flags?.includes('no_call') || flags?.includes('refused') ? 0 : term.draws / models.length
}
