/**
 * What an rm-config means once it is understood: names resolved, expressions compiled, defaults filled in. The engine
 * works with plans alone; nothing in one changes while it is served.
 */
import type { AskName, FunctionKind } from '../../contract/index.ts'
import type { Json } from '../../core/sample/sample.ts'
import type { BoundFunction } from '../functions/function-host.ts'
import type { Sampling } from '../models/api/ask.ts'
import type { GuardConfig } from '../models/api/model-config.ts'
import type { Expression } from './expression.ts'

/** One reward, ready to run. */
export interface Plan {
  readonly name: string
  /** 16 hex digits: changes with the config, with any of its functions' sources and with the package. */
  readonly version: string
  readonly description: string
  /** In the order of the fold. */
  readonly steps: readonly PlanStep[]
  /** Where it does not hold, gated steps are off. */
  readonly gate: Expression<boolean> | null
  /** In place of the fold. */
  readonly formula: Expression<number> | null
  readonly onInvalid: OnInvalid
  readonly arithmetic: 'strict' | 'published'
  readonly group: GroupSettings
  /** The longest a request for this reward may take; null: the gateway's own limit. */
  readonly deadlineMs: number | null
  /** The rm-config as it was resolved, for /v1/rewards/{name}; holds no secrets. */
  readonly config: Json
}

/** One use of a reward function. */
export interface PlanStep {
  readonly name: string
  readonly function: BoundFunction
  readonly kind: FunctionKind
  /** null for rules. */
  readonly ask: AskName | null
  /** True where the judge's text is for later steps and gives no score. */
  readonly critique: boolean
  /** Global names; several are a panel, none for rules. */
  readonly models: readonly string[]
  /** The guard before each of the models. */
  readonly guards: ReadonlyMap<string, GuardConfig>
  /** Over the model's own. */
  readonly sampling?: Sampling
  readonly op: 'add' | 'mul'
  /** Finite. `undefined`: no training step was sent. */
  weight(trainingStep: number | undefined): number
  readonly when: Expression<boolean> | null
  readonly dataSource: SourcePattern | null
  /** True where a closed gate turns the step off: model steps, unless the config says otherwise. */
  readonly gated: boolean
  readonly onUnreadable: OnUnreadable
  readonly votes: Votes
  /** The replies whose probabilities make the score; null: the judge's text does. */
  readonly labels: readonly string[] | null
  readonly pairs: PairSettings
  /** Of those models whose config limits the prompt. */
  readonly budgets: ReadonlyMap<string, PromptBudget>
  /** Steps whose scores and texts the function's rows carry in `earlier`. */
  readonly after: readonly string[]
  /** Every step that must be done first: those of `after`, of `when` and, where gated, of the gate. */
  readonly needs: readonly string[]
  /** For one question with all its retries; Infinity: only the request's deadline ends it. */
  readonly timeoutMs: number
  /** Hex: the function's source and options, so that equal questions of different functions stay apart. */
  readonly identity: string
}

/** A judge's text without a verdict: the sample fails, the term is off, or the number stands. */
export type OnUnreadable = 'fail' | 'skip' | number

/** What a trainer that knows no 'invalid' is given. `fail`: the whole request is refused. */
export type OnInvalid =
  | { readonly kind: 'null' }
  | { readonly kind: 'fail' }
  | { readonly kind: 'number'; readonly value: number }
  /** The mean of the group's valid siblings; `fallback` where there are none, null: no number. */
  | { readonly kind: 'group_mean'; readonly fallback: number | null }

/** `n` draws of each model; fewer than `min` valid ones (over all models) are a failure. */
export interface Votes {
  readonly n: number
  readonly aggregate: 'mean' | 'median' | 'majority' | 'quorum'
  readonly min: number
  /** Whether draws that cannot change the aggregate any more are not asked for. */
  readonly earlyStop: boolean
}

/** How a pair reward compares the answers of a group; unused by other kinds. */
export interface PairSettings {
  readonly scheme: 'ring' | 'all'
  /** Of `ring`: how many of the next answers each one is compared with. */
  readonly neighbours: number
  /** Whether each pair is asked about in both orders. */
  readonly swap: boolean
  readonly aggregate: 'bradley_terry' | 'mean_wins'
}

/** What a step over a group waits for. */
export interface GroupSettings {
  /** Answers that must be there; null: all of the group. */
  readonly min: number | null
  /** From the first one that is ready; Infinity: only the request's deadline ends it. */
  readonly waitMs: number
}

/** How long a model's prompts may be, in tokens, and what becomes of a longer one. */
export interface PromptBudget {
  readonly maxTokens: number
  readonly onLong: 'fail' | 'truncate_middle'
}

/** `data_source:` of a step, such as `openai/*`. */
export interface SourcePattern {
  readonly patterns: readonly string[]
  matches(dataSource: string | undefined): boolean
}
