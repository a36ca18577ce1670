import { GatewayError } from '../errors.ts'
import type { Models } from '../models/models.ts'
import type { Plan } from '../plan/plan.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'

/** Counts rows in work, so that what does not fit is refused before work is done on it. */
export interface Admission {
  readonly inFlight: number
  /** Throws RG_OVERLOADED; the returned function gives the places back. Call it once. */
  enter(rows: number): () => void
  /** Resolves once nothing is in work. */
  idle(): Promise<void>
}

/** A request of more rows than `limit` is let in when nothing else is in work: it could never fit otherwise. */
export function openAdmission(limit: number): Admission {
  let inFlight = 0
  let waiting: (() => void)[] = []
  return {
    get inFlight() {
      return inFlight
    },
    enter(rows) {
      if (inFlight > 0 && inFlight + rows > limit) {
        throw new GatewayError(
          'RG_OVERLOADED',
          `${inFlight} samples are in work and ${limit} fit; send these ${rows} later`,
        )
      }
      inFlight += rows
      return () => {
        inFlight -= rows
        if (inFlight > 0) return
        for (const wake of waiting) wake()
        waiting = []
      }
    },
    idle: () => (inFlight === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}

/**
 * Throws RG_OVERLOADED, with when to come again, where a model that these rows may ask has a full line, or one in which
 * their questions would wait longer than the model's config, or their own patience (milliseconds), allows.
 */
export function refuseLate(
  models: Pick<Models, 'line'>,
  { plan, rows }: { readonly plan: Plan; readonly rows: readonly (Sample | Unreadable)[] },
  patienceMs: number,
): void {
  for (const { models: names, dataSource } of plan.steps) {
    if (names.length === 0) continue
    if (dataSource && !rows.some((row) => 'prompt' in row && dataSource.matches(row.dataSource))) continue
    for (const name of names) {
      const { isFull, waitMs, maxWaitMs } = models.line(name)
      const most = Math.min(maxWaitMs, patienceMs)
      if (!isFull && waitMs <= most) continue
      const line = isFull ? 'as many questions as may' : `questions for ${Math.round(waitMs / 1000)} s`
      const retryAfterS = Math.max(1, Math.ceil((waitMs - most) / 1000))
      throw new GatewayError('RG_OVERLOADED', `${line} wait for the model '${name}'; send these later`, {
        retryAfterS,
      })
    }
  }
}
