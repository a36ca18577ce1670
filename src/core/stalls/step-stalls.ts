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
