/**
 * How long the training steps of each run waited for their last reward, and for what. Memory is bounded by runs, steps and
 * models; a request costs one look at its last row.
 */
import type { Clock } from '../../core/clock.ts'
import type { FinishedRequest, StallShare, StepStall } from '../../core/stalls/step-stalls.ts'
import { StepStalls } from '../../core/stalls/step-stalls.ts'
import type { EngineEvents, RequestBegan, RequestDone } from '../../scoring/engine/events.ts'

/** Runs that are watched. A further one replaces a run that has been silent, or is not watched. */
const maxRuns = 16
const silentMs = 600_000
/** Bytes of a request's waits that may be held while its step is open. */
const mostHeld = 65_536
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
