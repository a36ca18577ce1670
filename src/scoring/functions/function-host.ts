import type {
  AskName,
  Asks,
  Execution,
  ExecutionResult,
  FunctionKind,
  Range,
  Reply,
  Thinking,
} from '../../contract/index.ts'
import type { Finding, PartQuestions } from '../../contract/questions.ts'
import type { Earlier } from '../../contract/row.ts'
import type { Failure, Json, Sample, Score } from '../../core/sample/sample.ts'

/** What the main thread knows about a function. The executor that loaded it sends this. */
export interface FunctionDescription {
  readonly name: string
  readonly kind: FunctionKind
  /** null for rules. */
  readonly ask: AskName | null
  /** True if the function has no rm_postprocess: the judge's text is for later steps. */
  readonly critique: boolean
  /** JSON Schemas of the inputs; null if a schema has no JSON Schema form. */
  readonly truthSchema: Json
  readonly optionsSchema: Json
  readonly file: string
  /** SHA-256 of the source file, hex. */
  readonly hash: string
}

/** A function with the options of one step, and what depends on these. */
export interface BoundFunction {
  readonly name: string
  /** As written in the config, without defaults. Sent with each call. */
  readonly options: Json
  readonly range: Range
  readonly parts: readonly string[]
  readonly reply?: Reply
  /** The question shows the final answer only: a response without one is refused. */
  readonly thinking?: Thinking
  /** Advice for the author of the options: a sentence without its full stop. */
  readonly warning?: string
}

/** A row for a function. The executor parses its ground truth and options. */
export interface CallRow {
  readonly sample: Sample
  readonly earlier: Readonly<Record<string, Earlier>>
  /** The row's index in its request; absent outside of requests. */
  readonly place?: number
}

/** One call of an author's hook. `rows`: one for a rule or a judge, two for a pair, otherwise the whole group. */
export interface Call {
  readonly op: 'score' | 'preprocess' | 'postprocess' | 'combine'
  readonly function: BoundFunction
  readonly rows: readonly CallRow[]
  /** The model's answer, or what became of a program; `postprocess` only. */
  readonly answer?: Asks[AskName]['answer'] | ExecutionResult
  /** Which of several questions the answer is of. */
  readonly at?: number
  /** What was found, question by question; `combine` only. */
  readonly found?: readonly (readonly Finding[])[]
  /** The request that waits for the result. If it is over before the call begins, the call fails as `cancelled`. */
  readonly request?: { readonly isOver: boolean }
}

/**
 * `verdicts` has one entry for each row, one P(a is better) for a pair, or the scores of one of several questions, of which
 * none is readable if there are none. null: not applicable, or not readable.
 */
export type CallResult =
  | { readonly status: 'verdicts'; readonly verdicts: readonly (Score | null)[] }
  | { readonly status: 'question'; readonly question: Asks[AskName]['input'] }
  | { readonly status: 'questions'; readonly questions: PartQuestions }
  /** `combine` needs the next stage. */
  | { readonly status: 'undecided' }
  | { readonly status: 'execution'; readonly execution: Execution }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Runs reward functions by name. */
export interface FunctionHost {
  /** All functions that were found, loaded or not. */
  readonly names: readonly string[]
  /** Loads the function once. Rejects with RG_FUNCTION_INVALID if there is none of this name or its file has mistakes. */
  describe(name: string): Promise<FunctionDescription>
  /** Parses the options. Rejects with RG_OPTIONS_INVALID and a problem for each mistake. */
  bind(name: string, options: Json): Promise<BoundFunction>
  /** Has a rule of the package score a row of the gateway's own, in no metric. Users' functions are left alone. Never rejects. */
  warm(rule: BoundFunction): Promise<void>
  /** Never rejects. A verdict that is out of range, not finite or has an undeclared part is a failure. */
  call(call: Call): Promise<CallResult>
  /**
   * The same without a promise, for the path of each sample; calls `done` once, which must not throw. With promises a batch of rules
   * costs 6 % more (`npm run against`). It stays, small as it is: see Speed in docs/architecture.md.
   */
  run(call: Call, done: (result: CallResult) => void): void
  /** Ends the executors after their running work. Later calls fail as `cancelled`. */
  close(): Promise<void>
}

/** Why a call failed: the code threw, took too long, killed its process, or returned something that is not a verdict. */
export type FailureCause = 'threw' | 'timeout' | 'crash' | 'returned'

/** Why an executor was replaced: a job took too long, it died, or a slow job made room for others of its function. */
export type RestartReason = 'timeout' | 'crash' | 'preempted'

/** A call that failed because of the function, not because of its row or of load. */
export interface FunctionFailed {
  readonly name: string
  readonly op: Call['op']
  readonly cause: FailureCause
  /** Its detail never quotes the sample. */
  readonly failure: Failure
  /** The author's message and stack; null: nothing was thrown. It may quote the sample: show it to the author only. */
  readonly error: string | null
  readonly rows: readonly CallRow[]
  readonly answer: Call['answer']
}

/** What reward functions report; telemetry counts it. Listeners must not throw. */
export interface FunctionEvents {
  /** `ms`: time in the author's code; 0 if the call never began. */
  called?(call: {
    readonly name: string
    readonly op: Call['op']
    readonly ms: number
    readonly status: CallResult['status']
  }): void
  failed?(failure: FunctionFailed): void
  /** `name`: the function that ran; '' if unknown. */
  restarted?(restart: { readonly name: string; readonly why: RestartReason }): void
}
