import type { Call, CallResult } from './function-host.ts'

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
  /** `error` is the author's message and stack; it may quote the sample, so it is for the author's eyes only. */
  | { readonly type: 'threw'; readonly name: string; readonly op: Call['op']; readonly error: string }
  | { readonly type: 'worker_restarted'; readonly name: string; readonly why: 'timeout' | 'crash' }

/** Called at each event; must not throw. */
export type FunctionEvents = (event: FunctionEvent) => void
