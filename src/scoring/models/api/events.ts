import type { AskName } from '../../../contract/index.ts'
import type { FailureKind } from '../../../core/sample/sample.ts'

/** A call that came back, failed or was given up. */
export interface CallEnd {
  readonly model: string
  readonly instance: string
  /** `forward`: a client's own request; it ends with its reply's last byte. */
  readonly ask: AskName | 'forward'
  readonly ms: number
  /** `abandoned`: nobody waited for it any more. */
  readonly outcome: 'ok' | 'abandoned' | FailureKind
  readonly tokens: { readonly prompt: number; readonly completion: number }
}

/** What the model side tells of itself. Called synchronously on the hot path: count, and return. */
export interface ModelEvents {
  callStarted?(call: {
    readonly model: string
    readonly instance: string
    readonly ask: AskName | 'forward'
  }): void
  callEnded?(call: CallEnd): void
  /** A further call for a question whose last call failed with `kind`. */
  retried?(retry: { readonly model: string; readonly kind: FailureKind }): void
  /** No further call, because the retry budget is spent. */
  retryDenied?(retry: { readonly model: string }): void
  /** A second call for an answer that is late. */
  hedged?(hedge: { readonly model: string; readonly instance: string }): void
  /** A question had to wait this long for an instance. */
  queued?(wait: { readonly model: string; readonly ms: number }): void
  /** An instance takes no questions of a model any more, or takes them again. */
  ejected?(change: { readonly model: string; readonly instance: string; readonly reason: string }): void
  readmitted?(change: { readonly model: string; readonly instance: string }): void
  /** An address of an instances_file that may not join. */
  refused?(change: { readonly model: string; readonly instance: string; readonly reason: string }): void
  /** Questions begin to wait because no instance of the model can be asked; or one can be asked again. */
  parked?(change: { readonly model: string; readonly isParked: boolean }): void
  /** All instances of a model gave their GPU memory back, or took it again. */
  switched?(change: { readonly model: string; readonly state: 'awake' | 'asleep' }): void
  /** A server that did not do what it was told, or that is not trusted since it woke: why. */
  orderFailed?(failure: {
    readonly model: string
    readonly instance: string
    readonly order: 'sleep' | 'wake'
    readonly reason: string
  }): void
}
