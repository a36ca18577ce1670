import type { Outcome } from '../sample/outcome.ts'
import type { Sample } from '../sample/sample.ts'

/** A judge's question and what came of it, for the record and the inspector. */
export interface AskedEvent {
  readonly reward: string
  readonly step: string
  readonly sampleId: string
  readonly model: string
  readonly instance: string
  readonly source: 'call' | 'cache' | 'joined'
  readonly attempts: number
  readonly tokens: { readonly prompt: number; readonly completion: number }
  readonly ms: number
}

/** What happens in the engine, told as it happens. Listeners are synchronous, cheap and never throw. */
export interface EngineEvents {
  scored?(event: {
    readonly reward: string
    readonly run: string
    readonly trainingStep: number | null
    readonly sample: Sample
    readonly outcome: Outcome
  }): void
  asked?(event: AskedEvent): void
}
