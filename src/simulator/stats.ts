import type { FaultKind } from './faults.ts'

/** Counters of one server since its start. Plain JSON. */
export interface ServerStats {
  readonly requests: Readonly<Record<string, number>>
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  /** Sequences: one per choice, text or conversation. */
  readonly sequences: { readonly finished: number; readonly aborted: number }
  /** Requests that the server itself answered with an error, without faults. */
  readonly refused: number
  readonly running: number
  readonly waiting: number
  readonly peakRunning: number
  readonly inFlight: number
  readonly promptTokens: number
  readonly generationTokens: number
  /** Milliseconds of model time of all finished sequences. */
  readonly busyMs: number
  readonly prefixCache: { readonly queries: number; readonly hits: number }
  readonly isSleeping: boolean
  readonly sleeps: number
  readonly wakes: number
  /** What sleep has left of the weights. */
  readonly weights: 'sound' | 'zero' | 'garbage'
  /** The cause of death. null: none, or restarted since. */
  readonly diedOf: string | null
}

export class Counters {
  readonly requests = new Map<string, number>()
  readonly faults = new Map<FaultKind, number>()
  readonly finishReasons = new Map<string, number>()
  finished = 0
  aborted = 0
  refused = 0
  inFlight = 0
  promptTokens = 0
  generationTokens = 0
  busyMs = 0
  sleeps = 0
  wakes = 0
}

export function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
