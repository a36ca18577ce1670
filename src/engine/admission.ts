import { GatewayError } from '../errors.ts'

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
