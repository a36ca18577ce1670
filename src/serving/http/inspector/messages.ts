import type { RowSummary } from '../../telemetry/live/row-summary.ts'
import type { ShownReward } from '../../telemetry/live/shown-series.ts'
import type { RunHistory } from '../../telemetry/monitors/history.ts'
import type { RunStats } from '../../telemetry/monitors/stats.ts'
import type { ShownModel } from './shown-model.ts'

/** `event: served`: what holds as long as the configs stay as they are. */
export interface Served {
  readonly version: string
  readonly text: 'full' | 'hash' | 'none'
  /** Whether any key may do what the admin API does. */
  readonly has_admin: boolean
  readonly rewards: readonly ServedReward[]
}

/** A reward as its config has it. */
export interface ServedReward {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly gate: string | null
  readonly formula: string | null
  readonly arithmetic: 'strict' | 'published'
  readonly steps: readonly ServedStep[]
}

/** A step as the page shows it. */
export interface ServedStep {
  readonly name: string
  readonly function: string
  readonly kind: string
  readonly models: readonly string[]
  readonly op: 'add' | 'mul'
  /** Of a request that names no training step. */
  readonly weight: number
  /** null: no end. */
  readonly range: readonly (number | null)[]
  readonly when: string | null
  readonly gated: boolean
}

/** `event: standing`: how pools and runs stand. */
export interface PoolStatus {
  readonly in_flight: number
  readonly models: readonly ShownModel[]
  readonly runs: readonly ShownRun[]
  readonly missing: readonly string[]
  readonly suspects: readonly { readonly model: string; readonly instance: string }[]
}

/** A run's figures and their course. */
export type ShownRun = RunStats & RunHistory & { readonly reward: string }

/** `event: scored`: slots that were touched and rows that came since the last one; in the first one, all that is kept. */
export interface Scored {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly rewards: Readonly<Record<string, ShownReward>>
  /** The newest first. */
  readonly rows: readonly RowSummary[]
}

/** What a key allows. */
export interface Access {
  readonly read: boolean
  readonly score: boolean
  readonly admin: boolean
}
