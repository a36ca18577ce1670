/**
 * The stall of a training step: from the last arrival of its rows to its last outcome, split by cause along the critical path of the
 * row that was last. docs/stalls.md has the definition.
 */
import type { Spell, StallCause } from './request-times.ts'

/** A finished request of a step. Times are in milliseconds on one clock. */
export interface FinishedRequest {
  readonly arrived: number
  /** Its last outcome. */
  readonly ended: number
  /** What the row with the last outcome waited for. Called only for the last request of a step. */
  spells(): readonly Spell[]
}

/** Milliseconds of a stall by cause. `model`: the model or sandbox; '' for other causes. */
export interface StallShare {
  readonly cause: StallCause
  readonly model: string
  readonly ms: number
}

/** The stall of one step. */
export interface StepStall {
  /** null: the requests named no training step. */
  readonly step: number | null
  readonly ms: number
  /** The largest first. */
  readonly shares: readonly StallShare[]
}

/** No request of a step for so long, and none in progress: the step is over. */
export const quietMs = 30_000
/** Steps of a run that may be open at once; the one that has been quiet longest is closed. */
const maxOpen = 8

/** The stall of a step whose last row arrived at `arrived`, and whose last outcome came with the request `last`. */
export const stallOf = (step: number | null, arrived: number, last: FinishedRequest): StepStall => ({
  step,
  ms: Math.max(0, last.ended - arrived),
  shares: sharesOf(last.spells(), arrived),
})

/** The part of the spells after a time, by cause and model. */
function sharesOf(spells: readonly Spell[], since: number): readonly StallShare[] {
  const shares: StallShare[] = []
  for (const { cause, model, from, to } of spells) {
    const ms = to - Math.max(from, since)
    if (ms <= 0) continue
    const at = shares.findIndex((one) => one.cause === cause && one.model === model)
    if (at < 0) shares.push({ cause, model, ms })
    else shares[at] = { cause, model, ms: (shares[at] as StallShare).ms + ms }
  }
  return shares.sort((a, b) => b.ms - a.ms)
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
export class StepStalls {
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
  constructor(closed: (stall: StepStall) => void, isAwaited: (step: number | null) => boolean = () => false) {
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
