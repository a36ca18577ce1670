import type { Earlier } from '../../contract/define.ts'
import type { AskName, Asks, FunctionKind, Range, Reply } from '../../contract/index.ts'
import type { Failure, Json, Sample, Score } from '../../core/sample/sample.ts'

/** What the main thread knows of a function; sent by the worker that loaded it. */
export interface FunctionDescription {
  readonly name: string
  readonly kind: FunctionKind
  /** null for rules. */
  readonly ask: AskName | null
  /** True where rm_postprocess is absent: the judge's text is for later steps. */
  readonly critique: boolean
  /** JSON Schemas (input side); null where a schema cannot be expressed. */
  readonly truthSchema: Json
  readonly optionsSchema: Json
  readonly file: string
  /** SHA-256 of the source file, hex. */
  readonly hash: string
}

/** A function with the options of one step: what depends on them. */
export interface BoundFunction {
  readonly name: string
  /** As written in the config, defaults not filled in; sent with each call. */
  readonly options: Json
  readonly range: Range
  readonly parts: readonly string[]
  readonly reply?: Reply
  /** What whoever wrote the options should know; a sentence without its full stop. */
  readonly warning?: string
}

/** A row on its way to a worker; truth and options are parsed there. */
export interface CallRow {
  readonly sample: Sample
  readonly earlier: Readonly<Record<string, Earlier>>
}

/** One unit of author's code. `rows`: one for a rule or a judge, two for a pair, all of the group otherwise. */
export interface Call {
  readonly op: 'score' | 'preprocess' | 'postprocess'
  readonly function: BoundFunction
  readonly rows: readonly CallRow[]
  /** The model's answer; only with `postprocess`. */
  readonly answer?: Asks[AskName]['answer']
  /** What waits for the result; where it is over before the call has begun, the call is dropped as `cancelled`. */
  readonly request?: { readonly isOver: boolean }
}

/** `verdicts` has one entry a row (a pair: one, P(a is better)); null: not applicable, or no readable verdict. */
export type CallResult =
  | { readonly status: 'verdicts'; readonly verdicts: readonly (Score | null)[] }
  | { readonly status: 'question'; readonly question: Asks[AskName]['input'] }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Reward functions by name, run in workers. */
export interface FunctionHost {
  /** Of every function that was found, whether it is loaded or not. */
  readonly names: readonly string[]
  /** Loads the function unless that is done. Rejects with RG_FUNCTION_INVALID: no such name, or what is wrong with its file. */
  describe(name: string): Promise<FunctionDescription>
  /** Parses the options in a worker; throws RG_OPTIONS_INVALID with a problem for each mistake. */
  bind(name: string, options: Json): Promise<BoundFunction>
  /** Never rejects. A verdict out of range, not finite or with an undeclared part is a failure. */
  call(call: Call): Promise<CallResult>
  /** The same without a promise, for what is called once a sample: `done` is called once, and must not throw. */
  run(call: Call, done: (result: CallResult) => void): void
  /** Ends the workers after what is running; calls made later fail as `cancelled`. */
  close(): Promise<void>
}

/** Why a call of a function failed: its code threw, took too long, ended its process, or returned what is no verdict. */
export type FailureCause = 'threw' | 'timeout' | 'crash' | 'returned'

/** Why an executor was ended: its job took too long, it died, or its job makes room for others of its function. */
export type RestartReason = 'timeout' | 'crash' | 'preempted'

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
