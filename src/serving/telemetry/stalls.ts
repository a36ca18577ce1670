/**
 * How long the training steps of each run waited for their last reward, and for what. Memory is bounded by runs, steps and
 * models; a request costs one look at its last row.
 */
import type { Clock } from '../../core/clock.ts'
import {
  type FinishedRequest,
  quietMs,
  type StallShare,
  type StepStall,
  stallOf,
} from '../../core/stalls/step-stalls.ts'
import type { EngineEvents, RequestBegan, RequestDone } from '../../scoring/engine/events.ts'

/** Runs that are watched. A further one replaces a run that has been silent, or is not watched. */
const maxRuns = 16
const silentMs = 600_000
/** Bytes of a request's waits that may be held while its step is open. */
const mostHeld = 65_536
/** Steps of a run that may be open at once; the one that has been quiet longest is closed. */
const maxOpen = 8
/** Steps of a run that the page shows. */
const keptSteps = 20

/** The stalls of one run so far. */
export interface RunStalls {
  readonly run: string
  /** Of all closed steps. */
  readonly shares: readonly StallShare[]
  /** The last closed steps, the newest first. */
  readonly steps: readonly StepStall[]
}

interface Watched {
  readonly steps: StepStalls
  /** By cause and model. */
  readonly shares: Map<string, StallShare>
  recent: readonly StepStall[]
  last: number
}

/** Listens to the engine. */
export class Stalls implements Required<Pick<EngineEvents, 'began' | 'done'>> {
  readonly #clock: Clock
  /** The least recently used first. */
  readonly #runs = new Map<string, Watched>()
  #newest: Watched | null = null
  /** Whether the queue has rollouts of a step that are not being scored: the step is not over then. */
  isAwaited: (run: string, step: number | null) => boolean = () => false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  began({ run, trainingStep }: RequestBegan): void {
    const now = this.#clock.now()
    this.#watched(run, now)?.steps.began(trainingStep, now)
  }

  done(event: RequestDone): void {
    const now = this.#clock.now()
    const watched = this.#watched(event.run, now)
    if (!watched) return
    const row = lastRow(event)
    watched.steps.ended(event.trainingStep, row < 0 ? null : finished(event, row), now)
  }

  /** Every watched run; steps that are over by now are counted. */
  runs(): readonly RunStalls[] {
    const now = this.#clock.now()
    return [...this.#runs].map(([run, watched]) => {
      watched.steps.closeQuiet(now)
      return { run, shares: [...watched.shares.values()], steps: watched.recent }
    })
  }

  #watched(run: string, now: number): Watched | null {
    const known = this.#runs.get(run)
    if (known) {
      known.last = now
      if (known === this.#newest) return known
      this.#newest = known
      this.#runs.delete(run)
      this.#runs.set(run, known)
      return known
    }
    if (this.#runs.size >= maxRuns) {
      const [oldest] = this.#runs
      if (!oldest || now - oldest[1].last < silentMs) return null
      this.#runs.delete(oldest[0])
    }
    const made: Watched = {
      steps: new StepStalls(
        (stall) => count(made, stall),
        (step) => this.isAwaited(run, step),
      ),
      shares: new Map(),
      recent: [],
      last: now,
    }
    this.#runs.set(run, made)
    return made
  }
}

/** What a step keeps of a request. The path of its last row is found when the step is over, unless that would hold much memory. */
function finished({ times, ms }: RequestDone, row: number): FinishedRequest {
  const rowMs = ms[row] ?? 0
  const find = () => times.spellsOf(row, rowMs)
  const found = times.bytes > mostHeld ? find() : null
  return { arrived: times.arrived, ended: times.began + rowMs, spells: found ? () => found : find }
}

function count(watched: Watched, stall: StepStall): void {
  watched.recent = [stall, ...watched.recent].slice(0, keptSteps)
  for (const { cause, model, ms } of stall.shares) {
    const key = `${cause} ${model}`
    const before = watched.shares.get(key)?.ms ?? 0
    watched.shares.set(key, { cause, model, ms: before + ms })
  }
}

/** The row with the last outcome that somebody waited for; -1 if there is none. */
function lastRow({ outcomes, ms }: RequestDone): number {
  let last = -1
  for (let row = 0; row < ms.length; row++) {
    if (last >= 0 && (ms[row] ?? 0) <= (ms[last] ?? 0)) continue
    const outcome = outcomes[row]
    if (outcome && (outcome.valid || outcome.failure.kind !== 'cancelled')) last = row
  }
  return last
}

interface OpenStep {
  readonly step: number | null
  inProgress: number
  /** When its last request began or ended. */
  touched: number
  /** Its last arrival. */
  arrived: number
  /** The request with its last outcome. */
  last: FinishedRequest | null
}

/** The steps of one run while it trains. Nothing here sets a timer: steps are closed when somebody looks. */
class StepStalls {
  /** The step that was touched last comes last. */
  readonly #open = new Map<number | null, OpenStep>()
  readonly #closed: (stall: StepStall) => void
  readonly #isAwaited: (step: number | null) => boolean
  /** The step that was touched last. */
  #newest: OpenStep | null = null

  /**
   * `closed` is called once for each step that is over. A step whose rows come again afterwards is closed again. `isAwaited`: rows of
   * the step have arrived that are not in progress yet.
   */
  constructor(closed: (stall: StepStall) => void, isAwaited: (step: number | null) => boolean) {
    this.#closed = closed
    this.#isAwaited = isAwaited
  }

  began(step: number | null, now: number): void {
    this.closeQuiet(now)
    this.#touch(step, now).inProgress += 1
  }

  /** `request` null: it brought no outcome that a trainer waited for. */
  ended(step: number | null, request: FinishedRequest | null, now: number): void {
    const open = this.#touch(step, now)
    open.inProgress = Math.max(0, open.inProgress - 1)
    if (!request) return
    if (request.arrived > open.arrived) open.arrived = request.arrived
    if (!open.last || request.ended > open.last.ended) open.last = request
  }

  /** Closes the steps that have been quiet for long enough. */
  closeQuiet(now: number): void {
    for (const [step, { inProgress, touched }] of this.#open) {
      if (now - touched < quietMs) return
      if (inProgress === 0 && !this.#isAwaited(step)) this.#close(step)
    }
  }

  #touch(step: number | null, now: number): OpenStep {
    if (this.#newest && this.#newest.step === step) {
      this.#newest.touched = now
      return this.#newest
    }
    const known = this.#open.get(step) ?? {
      step,
      inProgress: 0,
      touched: now,
      arrived: Number.NEGATIVE_INFINITY,
      last: null,
    }
    known.touched = now
    this.#open.delete(step)
    this.#open.set(step, known)
    this.#newest = known
    if (this.#open.size > maxOpen) {
      const [oldest] = this.#open.keys()
      this.#close(oldest ?? null)
    }
    return known
  }

  #close(step: number | null): void {
    const open = this.#open.get(step)
    this.#open.delete(step)
    if (open === this.#newest) this.#newest = null
    if (!open?.last) return
    const { arrived, last } = open
    this.#closed(stallOf(step, arrived, last))
  }
}
