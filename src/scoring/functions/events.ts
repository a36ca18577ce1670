import type { Failure } from '../../core/sample/sample.ts'
import type { RestartReason } from './chunk-pool.ts'
import type { Call, CallResult, CallRow } from './function-host.ts'

/** Why a call of a function failed: its code threw, took too long, ended its process, or returned what is no verdict. */
export type FailureCause = 'threw' | 'timeout' | 'crash' | 'returned'

/** What the room reports; telemetry counts it. A listener must not throw. */
export type FunctionEvent =
  /** `ms` is the time in the author's code; 0 where the call never got there. */
  | {
      readonly type: 'call'
      readonly name: string
      readonly op: Call['op']
      readonly ms: number
      readonly status: CallResult['status']
    }
  | FunctionFailed
  /** `name`: the function whose job it was; '' where that is not known. */
  | { readonly type: 'worker_restarted'; readonly name: string; readonly why: RestartReason }

/** A call that failed by a fault of the function, not of its row or of the load. */
export interface FunctionFailed {
  readonly type: 'failed'
  readonly name: string
  readonly op: Call['op']
  readonly cause: FailureCause
  /** Its detail never quotes the sample. */
  readonly failure: Failure
  /** The author's message and stack; it may quote the sample, so it is for the author's eyes only. null: nothing was thrown. */
  readonly error: string | null
  readonly rows: readonly CallRow[]
  readonly answer: Call['answer']
}

/** Called at each event; must not throw. */
export type FunctionEvents = (event: FunctionEvent) => void
