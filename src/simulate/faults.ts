import { uniform } from './hash.ts'

/** What can go wrong on cue. `wrong-model` refuses requests that name a model, and lists another in /v1/models. */
export const faultKinds = [
  'slow',
  'hang',
  '500',
  '503',
  '429',
  'reset',
  'garbage',
  'half-body',
  'stall',
  'wrong-model',
  'empty-choices',
  'nan',
  'wrong-type',
  'error-body',
  'length',
  'null-content',
  'tool-call',
  'refusal',
] as const

/** One of them. */
export type FaultKind = (typeof faultKinds)[number]

/** A fault and when it strikes. Without `rate` and `next`: every matching request. */
export interface Fault {
  readonly kind: FaultKind
  /** Share of the matching requests, 0 to 1. */
  readonly rate?: number
  /** Strikes so many times, then no more. */
  readonly next?: number
  /** Matching requests to let pass first. */
  readonly skip?: number
  /** Beginning of the path; without it, every path that asks the model for something (so not /health). */
  readonly path?: string
  /** `slow`: how many times slower (10). */
  readonly factor?: number
  /** `slow`: milliseconds on top (0). */
  readonly ms?: number
  /** `503`, `429`: the Retry-After header in seconds; absent: no header. */
  readonly retryAfterS?: number
}

interface Armed {
  readonly fault: Fault
  left: number
  toSkip: number
}

/** The faults in force, and which request meets which. The same seed and order of requests gives the same faults. */
export class FaultScript {
  readonly #seed: string | number
  #armed: Armed[] = []
  #drawn = 0

  constructor(seed: string | number, faults: readonly Fault[] = []) {
    this.#seed = seed
    this.set(faults)
  }

  /** Replaces all faults. */
  set(faults: readonly Fault[]): void {
    this.#armed = faults.map((fault) => ({
      fault,
      left: fault.next ?? Number.POSITIVE_INFINITY,
      toSkip: fault.skip ?? 0,
    }))
  }

  /** The first fault that strikes this request, or null. `asksModel`: false for probes and control paths. */
  strike(path: string, asksModel: boolean): Fault | null {
    for (const armed of this.#armed) {
      const { fault } = armed
      if (fault.path === undefined ? !asksModel : !path.startsWith(fault.path)) continue
      if (armed.left <= 0) continue
      if (armed.toSkip > 0) {
        armed.toSkip -= 1
        continue
      }
      if (fault.rate !== undefined && uniform(this.#seed, 'fault', this.#drawn++) >= fault.rate) continue
      armed.left -= 1
      return fault
    }
    return null
  }
}
