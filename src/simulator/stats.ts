import type { FaultKind } from './faults.ts'

/** Counters of one server since it started. Plain JSON. */
export interface ServerStats {
  readonly requests: Readonly<Record<string, number>>
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  /** Sequences: one a choice, a text or a conversation. */
  readonly sequences: { readonly finished: number; readonly aborted: number }
  /** Requests answered with an error by the server itself, faults apart. */
  readonly refused: number
  readonly running: number
  readonly waiting: number
  readonly peakRunning: number
  readonly inFlight: number
  readonly promptTokens: number
  readonly generationTokens: number
  /** Milliseconds of model time, all finished sequences together. */
  readonly busyMs: number
  readonly prefixCache: { readonly queries: number; readonly hits: number }
  readonly isSleeping: boolean
  readonly sleeps: number
  readonly wakes: number
  /** What sleep has left of the weights. */
  readonly weights: 'sound' | 'zero' | 'garbage'
  /** What the server died of; null: it did not, or was started again. */
  readonly diedOf: string | null
}

/** The counters that requests move. */
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

/** Adds one to a key's count. */
export function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
