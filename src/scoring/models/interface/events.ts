import type { AskName } from '../../../contract/index.ts'
import type { FailureKind } from '../../../core/sample/sample.ts'

/** A call that was answered, failed or was abandoned. */
export interface CallEnd {
  readonly model: string
  readonly instance: string
  /** `forward`: a client's own request, which ends with the last byte of its reply. `execute`: a program of a sandbox. */
  readonly ask: AskName | 'forward' | 'execute'
  readonly ms: number
  /** `abandoned`: nobody was waiting for it any more. */
  readonly outcome: 'ok' | 'abandoned' | FailureKind
  readonly tokens: { readonly prompt: number; readonly completion: number }
}

/** Events of models and their servers. Listeners run synchronously on the hot path: count and return. */
export interface ModelEvents {
  callStarted?(call: {
    readonly model: string
    readonly instance: string
    readonly ask: CallEnd['ask']
  }): void
  callEnded?(call: CallEnd): void
  /** A question is retried; its last call failed with `kind`. */
  retried?(retry: { readonly model: string; readonly kind: FailureKind }): void
  /** A question is not retried because the retry budget is spent. */
  retryDenied?(retry: { readonly model: string }): void
  /** A hedge: a second call for an answer that is late. */
  hedged?(hedge: { readonly model: string; readonly instance: string }): void
  /** A question waited this long for an instance. */
  queued?(wait: { readonly model: string; readonly ms: number }): void
  /** An instance stops taking a model's questions, or takes them again. */
  ejected?(change: { readonly model: string; readonly instance: string; readonly reason: string }): void
  readmitted?(change: { readonly model: string; readonly instance: string }): void
  /** An address in an instances_file is rejected. */
  refused?(change: { readonly model: string; readonly instance: string; readonly reason: string }): void
  /** Questions start to wait because no instance of the model can be asked, or one can be asked again. */
  parked?(change: { readonly model: string; readonly isParked: boolean }): void
  /** All instances of a model released their GPU memory, or one took it again. */
  switched?(change: { readonly model: string; readonly state: 'awake' | 'asleep' }): void
  /** A server failed to sleep or wake, or its answers are not trusted since it woke. */
  orderFailed?(failure: {
    readonly model: string
    readonly instance: string
    readonly order: 'sleep' | 'wake'
    readonly reason: string
  }): void
}
