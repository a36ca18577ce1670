/**
 * A plan is a resolved rm-config: names looked up, expressions compiled, defaults filled in. The engine works with plans
 * only. Plans are immutable.
 */
import type { AskName, FunctionKind } from '../../contract/index.ts'
import type { Json, RolloutStatus } from '../../core/sample/sample.ts'
import type { BoundFunction } from '../functions/function-host.ts'
import type { Sampling } from '../models/interface/ask.ts'
import type { GuardConfig, ImageConfig } from '../models/interface/model-config.ts'
import type { Expression } from './expression.ts'

/** One reward, ready to run. */
export interface Plan {
  readonly name: string
  /** 16 hex digits that change with the config, its functions' sources, its models and the package. */
  readonly version: string
  readonly description: string
  /** In fold order. */
  readonly steps: readonly PlanStep[]
  /** Gated steps are off unless it holds. */
  readonly gate: Expression<boolean> | null
  /** Replaces the fold. */
  readonly formula: Expression<number> | null
  readonly onInvalid: OnInvalid
  readonly onStatus: OnStatus
  readonly arithmetic: 'strict' | 'published'
  readonly group: GroupSettings
  /** Time limit of a request for this reward; null: the gateway's. */
  readonly deadlineMs: number | null
  /** The resolved rm-config, without secrets, for /v1/rewards/{name}. */
  readonly config: Json
}

/** One use of a reward function. */
export interface PlanStep {
  readonly name: string
  readonly function: BoundFunction
  readonly kind: FunctionKind
  /** null: a rule. */
  readonly ask: AskName | null
  /** True if the judge's text is for later steps and gives no score. */
  readonly critique: boolean
  /** Global names. Several are a panel; rules have none. */
  readonly models: readonly string[]
  /** The model that is asked again where a decision's most likely answer has less than `below`; null: none. */
  readonly escalate: Escalation | null
  /** Where its programs run; null unless it is a program reward, and where its config goes without a sandbox. */
  readonly sandbox: string | null
  /** Model -> settings of its guard. */
  readonly guards: ReadonlyMap<string, GuardConfig>
  /** Model -> what it takes of images. */
  readonly images: ReadonlyMap<string, ImageConfig>
  /** Overrides the model's sampling. */
  readonly sampling?: Sampling
  readonly op: 'add' | 'mul'
  /** Always finite. `undefined`: the request sent no training step. */
  weight(trainingStep: number | undefined): number
  readonly when: Expression<boolean> | null
  readonly dataSource: SourcePattern | null
  /** True if a closed gate turns the step off. Default: true for model steps. */
  readonly gated: boolean
  readonly onUnreadable: OnUnreadable
  readonly votes: Votes
  /** The possible replies whose probabilities give the score; null: the judge's text does. */
  readonly labels: readonly string[] | null
  readonly pairs: PairSettings
  /** Model -> limit of its prompts, for models that have one. */
  readonly budgets: ReadonlyMap<string, PromptBudget>
  /** Types of parts that the step does not need to see, such as `image`. */
  readonly ignore: ReadonlySet<string>
  /** Steps whose scores and texts the function gets in `earlier`. */
  readonly after: readonly string[]
  /** Steps that must finish first: those of `after`, of `when` and, if gated, of the gate. */
  readonly needs: readonly string[]
  /** Timeout of one question with all its retries; Infinity: only the request's deadline. */
  readonly timeoutMs: number
  /** Hash of the function's source and options, so that equal questions of different functions stay apart. */
  readonly identity: string
}

/** A second judge for the decisions that a first one is not sure of. */
export interface Escalation {
  readonly below: number
  readonly model: string
}

/** Every model that a step may ask. */
export const askedModels = ({
  models,
  escalate,
}: Pick<PlanStep, 'models' | 'escalate'>): readonly string[] =>
  escalate ? [...models, escalate.model] : models

/** For a judge's text without a verdict: the sample fails, the term is off, or the score is this number. */
export type OnUnreadable = 'fail' | 'skip' | number

/** What an invalid sample becomes for trainers that have no such notion. `fail`: the whole request is refused. */
export type OnInvalid =
  | { readonly kind: 'null' }
  | { readonly kind: 'fail' }
  | { readonly kind: 'number'; readonly value: number }
  /** The mean of the group's valid answers; `fallback` if there are none, null: no number. */
  | { readonly kind: 'group_mean'; readonly fallback: number | null }

/** What becomes of a rollout that did not end well. */
export type OnStatus = Readonly<Record<Exclude<RolloutStatus, 'completed'>, 'score' | 'invalid'>>

/** `n` votes from each model. Fewer than `min` valid votes, over all models, are a failure. */
export interface Votes {
  readonly n: number
  readonly aggregate: 'mean' | 'median' | 'lower_median' | 'majority' | 'quorum'
  readonly min: number
  /** Whether to skip votes that cannot change the aggregate any more. */
  readonly earlyStop: boolean
}

/** How a pair reward compares the answers of a group. */
export interface PairSettings {
  readonly scheme: 'ring' | 'all'
  /** For `ring`: with how many of the next answers each one is compared. */
  readonly neighbours: number
  /** Whether to ask about each pair in both orders. */
  readonly swap: boolean
  readonly aggregate: 'bradley_terry' | 'mean_wins'
}

/** What a step over a group waits for. */
export interface GroupSettings {
  /** Minimum answers; null: the whole group. */
  readonly min: number | null
  /** Wait after the first answer; Infinity: only the request's deadline. */
  readonly waitMs: number
}

/** The limit of a model's prompts in tokens, and what happens to longer ones. */
export interface PromptBudget {
  readonly maxTokens: number
  readonly onLong: 'fail' | 'truncate_middle'
}

/** `data_source:` of a step, such as `openai/*`. */
export interface SourcePattern {
  readonly patterns: readonly string[]
  matches(dataSource: string | undefined): boolean
}
