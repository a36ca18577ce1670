/**
 * What the inspector page shows of scoring: reward distributions over time and a sample of recent rows. Counting costs a
 * few additions per row. Questions, answers and tests of programs are kept only while a page is open. Memory is bounded, whatever the traffic.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { bytesOf, type Sample, type Unreadable } from '../../../core/sample/sample.ts'
import { eachInSlices } from '../../../core/slices.ts'
import type {
  EngineEvents,
  ProgramBegan,
  ProgramTested,
  RequestDone,
  VoteEvent,
} from '../../../scoring/engine/events.ts'
import { EventsOfSamples, JudgeAnswers } from '../record/judge-answers.ts'
import type { TextPolicy } from '../record/text-policy.ts'
import { imagesToShow, KeptImages } from './kept-images.ts'
import { TrackedReward } from './series.ts'
import { detailOf, type KeptRow, type RowDetail, type RowSummary, summaryOf } from './shown-row.ts'

/** Options of a live view. */
interface LiveOptions {
  readonly clock: Clock
  /** Wall time of the clock's 0, in milliseconds since the epoch. Default: taken from the system's time now. */
  readonly epoch?: number
  /** The range of a plan's rewards; null if unknown. */
  rangeOf(plan: RequestDone['plan']): readonly [number, number] | null
  /** How much text may be shown. Called each time that something is shown, so a reload takes effect at once. */
  policy(): TextPolicy
}

const maxAnswersPerSample = 64
const maxAnswerBytes = 64 * 1024 * 1024
/** Programs of one sample whose tests are kept, and the memory of the tests of all. */
const maxProgramsPerSample = 8
const maxTestBytes = 32 * 1024 * 1024
/** Rows without a reward that one request adds to its recent rows. */
const maxInvalid = 4

/** Listens to the engine and keeps what the page shows. */
export class LiveView implements Required<Pick<EngineEvents, 'voted' | 'running' | 'tested' | 'done'>> {
  /** Rewards that have scored something, by name. */
  readonly rewards = new Map<string, TrackedReward>()
  readonly #options: LiveOptions
  readonly #epoch: number
  readonly #answers = new JudgeAnswers(maxAnswerBytes, maxAnswersPerSample)
  readonly #tests = new EventsOfSamples<ProgramTested>(
    ({ tests }) => bytesOf(tests),
    maxTestBytes,
    maxProgramsPerSample,
  )
  readonly #images = new KeptImages()
  readonly #rows = new RecentRows((row) => this.#forget(row))
  #watchers = 0

  constructor(options: LiveOptions) {
    this.#options = options
    this.#epoch = options.epoch ?? Date.now() - options.clock.now()
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#epoch + this.#options.clock.now()
  }

  get policy(): TextPolicy {
    return this.#options.policy()
  }

  voted(event: VoteEvent): void {
    if (this.#watchers > 0) this.#answers.add(event)
  }

  running(event: ProgramBegan): void {
    if (this.#watchers > 0) event.follow()
  }

  tested(event: ProgramTested): void {
    this.#tests.add(event)
  }

  done(event: RequestDone): Promise<void> | null {
    const tracked = this.#trackedOf(event.plan)
    const now = this.now()
    const invalid: number[] = []
    // Counting many rows goes on after the engine has released the images.
    const images = this.policy === 'full' ? imagesToShow(event.rows) : null
    const count = (index: number): void => {
      const outcome = event.outcomes[index]
      if (!outcome) return
      tracked.count(outcome, now)
      if (!outcome.valid && invalid.length < maxInvalid) invalid.push(index)
    }
    const keepSome = (): void => {
      const id = event.requestId ?? randomUUID()
      const kept = this.#rows.take(event, id, now, invalid, Math.random())
      for (let index = 0; index < event.rows.length; index++) {
        const row = event.rows[index]
        if (!row) continue
        const found = images?.get(row)
        if (!kept.includes(index)) this.#forget(row)
        // A large row may be gone again, for a larger one of its request.
        else if (found && this.#rows.get(`${id}:${index}`)) this.#images.keep(row, found)
      }
    }
    return eachInSlices(event.outcomes.length, count, keepSome)
  }

  /** Keeps questions and answers of judges, and tests of programs, until the returned function is called. */
  watch(): () => void {
    this.#watchers += 1
    let isOver = false
    return () => {
      this.#watchers -= isOver ? 0 : 1
      isOver = true
    }
  }

  /** The serial of the newest row. */
  get newest(): number {
    return this.#rows.newest
  }

  /** When the oldest row that is kept was scored, in milliseconds since the epoch; null if there is none. */
  get oldest(): number | null {
    return this.#rows.oldest
  }

  /** Up to `limit` rows after a serial, the newest first. */
  summaries(since: number, limit: number): readonly RowSummary[] {
    const { policy } = this
    const newest = this.#rows.since(since).slice(-limit).reverse()
    return newest.map((row) => summaryOf(row, policy))
  }

  /** null if the row is no longer kept. */
  detail(id: string): RowDetail | null {
    const row = this.#rows.get(id)
    if (!row) return null
    const sample = row.event.rows[0]
    const answers = sample && 'response' in sample ? this.#answers.of(sample) : []
    const images = sample && this.policy === 'full' ? this.#images.of(sample) : []
    const tests = sample && 'response' in sample ? this.#tests.of(sample) : []
    return { ...detailOf(row, { answers, tests }, this.policy), images }
  }

  /** An image of a row that is kept; null if there is none with this hash, or if texts may not be shown. */
  image(sha256: string): ReturnType<KeptImages['get']> {
    return this.policy === 'full' ? this.#images.get(sha256) : null
  }

  /** A new version of a reward starts with empty series. */
  #trackedOf(plan: RequestDone['plan']): TrackedReward {
    let tracked = this.rewards.get(plan.name)
    if (tracked?.version !== plan.version) {
      tracked = new TrackedReward(plan, this.#options.rangeOf(plan))
      this.rewards.set(plan.name, tracked)
    }
    return tracked
  }

  #forget(row: RequestDone['rows'][number]): void {
    if ('failure' in row) return
    this.#answers.forget(row)
    this.#tests.forget(row)
    this.#images.forget(row)
  }
}

/** A recently scored row. */
interface RecentRow extends KeptRow {
  /** Increases with each row. */
  readonly serial: number
}

/** Rows that are kept, and the bytes of all their fields. */
export const maxRows = 400
const maxBytes = 32 * 1024 * 1024
/** Rows kept of one request: a run of neighbours, so that groups stay complete, and rows without a reward. */
const neighbours = 16
const failures = 4
/** Sustained rate; more rows would be gone before anybody has seen them. */
const rowsPerSecond = 40

/**
 * A bounded sample of recent rows, at constant cost per request. Under load most requests leave no row here: keeping some
 * rows of every request for a moment made garbage collection a quarter of the cost of a rule (`npm run rules` in bench/).
 */
export class RecentRows {
  readonly #rows = new Map<string, RecentRow & { readonly bytes: number }>()
  #bytes = 0
  #serial = 0
  readonly #scored = new TokenBucket()
  readonly #failed = new TokenBucket()
  readonly #dropped: (row: Sample | Unreadable) => void

  /** `dropped` is called with each row that is no longer kept. */
  constructor(dropped: (row: Sample | Unreadable) => void) {
    this.#dropped = dropped
  }

  /** `invalid`: indices of rows without a reward. `random`: in [0, 1), chooses the neighbours. Returns the indices of the kept rows. */
  take(
    event: RequestDone,
    id: string,
    at: number,
    invalid: readonly number[],
    random: number,
  ): readonly number[] {
    const kept: number[] = []
    const count = event.rows.length
    const first = neighbours * Math.floor(random * Math.ceil(count / neighbours))
    const last = this.#scored.take(at, Math.min(count, neighbours))
      ? Math.min(count, first + neighbours)
      : first
    for (const index of invalid.slice(0, failures))
      if ((index < first || index >= last) && this.#failed.take(at, 1)) kept.push(index)
    for (let index = first; index < last; index += 1) kept.push(index)
    for (const index of kept) this.#add(event, id, at, index)
    return kept
  }

  get(id: string): RecentRow | null {
    return this.#rows.get(id) ?? null
  }

  /** Rows after a serial, oldest first. */
  since(serial: number): RecentRow[] {
    return serial >= this.#serial ? [] : [...this.#rows.values()].filter((row) => row.serial > serial)
  }

  get newest(): number {
    return this.#serial
  }

  get oldest(): number | null {
    const [first] = this.#rows.values()
    return first?.at ?? null
  }

  #add(event: RequestDone, request: string, at: number, index: number): void {
    const id = `${request}:${index}`
    const row = event.rows[index]
    if (!row) return
    this.#drop(id)
    const bytes = bytesOf(row) + bytesOf(event.outcomes[index])
    this.#rows.set(id, { id, serial: ++this.#serial, at, event: onlyRow(event, index), bytes })
    this.#bytes += bytes
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size === 1 || (this.#rows.size <= maxRows && this.#bytes <= maxBytes)) break
      this.#drop(oldest)
    }
  }

  #drop(id: string): void {
    const known = this.#rows.get(id)
    if (!known) return
    this.#bytes -= known.bytes
    this.#rows.delete(id)
    const [row] = known.event.rows
    if (row) this.#dropped(row)
  }
}

const onlyRow = (event: RequestDone, index: number): RequestDone => ({
  ...event,
  rows: event.rows.slice(index, index + 1),
  outcomes: event.outcomes.slice(index, index + 1),
  ms: event.ms.slice(index, index + 1),
  times: event.times.ofRow(index, event.ms[index] ?? 0),
})

/** Limits the rows taken per second; the burst is the number of rows that are kept. */
class TokenBucket {
  #rows = maxRows
  #filledAt = 0

  /** False if too few tokens are left. `now`: milliseconds since the epoch. */
  take(now: number, rows: number): boolean {
    const since = Math.max(0, now - this.#filledAt)
    this.#filledAt = now
    this.#rows = Math.min(maxRows, this.#rows + (rowsPerSecond * since) / 1000)
    if (this.#rows < rows) return false
    this.#rows -= rows
    return true
  }
}
