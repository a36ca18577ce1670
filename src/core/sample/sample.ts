/** Any JSON value, frozen by type. Integers beyond 2^53 never reach it: the border refuses or keeps them as text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A verdict with more than a number. */
export interface Score {
  /** Finite, in the function's range. */
  readonly value: number
  /** Named components, reported and never added; only names that the function declared. */
  readonly parts?: Readonly<Record<string, number>>
  /** `reason`, `extracted`, ...: for people. */
  readonly details?: Readonly<Record<string, Json>>
  /** Short words about this sample, for metrics and records; at most 32. */
  readonly flags?: readonly string[]
}

/** Why a sample has no reward. Public words: trainers and alert rules match on them. */
export const failureKinds = [
  'judge_unreachable',
  'judge_timeout',
  'judge_rejected',
  'judge_truncated',
  'judge_unparseable',
  'judge_out_of_range',
  'prompt_too_long',
  'rule_error',
  'rule_timeout',
  'function_error',
  'formula_error',
  'bad_sample',
  'policy_failed',
  'group_incomplete',
  'deadline',
  'overloaded',
  'cancelled',
] as const

/** One of them; public, trainers branch on it. */
export type FailureKind = (typeof failureKinds)[number]

/** One failed try of an upstream call. */
export interface Attempt {
  readonly instance: string
  readonly ms: number
  readonly error: string
}

/** Why a sample has no reward. Data, never thrown by itself. */
export interface Failure {
  readonly kind: FailureKind
  /** True where sending the same sample again may succeed. */
  readonly retryable: boolean
  readonly step?: string
  /** One sentence for people; never holds text of the prompt or the response. */
  readonly detail: string
  readonly attempts?: readonly Attempt[]
}

/** One step's share in a sample's outcome. */
export type Term = { readonly name: string; readonly weight: number } & (
  | {
      readonly status: 'scored'
      readonly score: Score
      /** How many verdicts were drawn, and their population standard deviation. */
      readonly draws: number
      readonly spread: number
      /** What it added to the reward; null until combined, and where the reward is no plain sum. */
      readonly contribution: number | null
    }
  | { readonly status: 'text'; readonly texts: readonly string[] }
  | { readonly status: 'off'; readonly why: OffReason }
  | { readonly status: 'failed'; readonly failure: Failure }
)

/** Why a step took no part; none of them is a failure. */
export type OffReason = 'gate' | 'when' | 'data_source' | 'not_applicable' | 'skipped'

/** The gateway's answer for one sample: a finite reward, or the reason why there is none. */
export type Outcome = {
  readonly id: string
  readonly terms: readonly Term[]
  readonly flags: readonly string[]
} & (
  | { readonly valid: true; readonly reward: number }
  | { readonly valid: false; readonly failure: Failure; readonly substitute: number | null }
)

/** One turn of a conversation. `content` is plain text: the border joins content parts. */
export interface Message {
  readonly role: string
  readonly content: string
}

/** The answers to one prompt belong together: `size` answers, this one at `index` (0-based). */
export interface GroupMembership {
  readonly id: string
  readonly size?: number
  readonly index?: number
}

/** One rollout to be scored. Everything in it comes from outside and is untrusted. */
export interface Sample {
  readonly id: string
  readonly prompt: string | readonly Message[]
  readonly response: string
  /** null: none was sent. */
  readonly groundTruth: Json
  readonly dataSource?: string
  /** The row's own judge prompt, for every step that has none in `rmPrompts`; a function finds its step's prompt here. */
  readonly rmPrompt?: string
  /** Judge prompts by step name. */
  readonly rmPrompts: Readonly<Record<string, string>>
  readonly group?: GroupMembership
  readonly extraInfo: Readonly<Record<string, Json>>
  /** True where the row sent no extra_info at all; some published rewards refuse that and accept an empty one. */
  readonly lacksExtraInfo?: true
  /** Marks that reading left (`non_finite_input`, ...); they come back in the outcome. */
  readonly flags?: readonly string[]
}

/** A row that could not be read as a sample; it keeps its place and gets its failure. */
export interface Unreadable {
  readonly id: string
  readonly failure: Failure
}

/** A prompt as one text: what its turns say, without their roles, a line apart. */
export const promptText = (prompt: string | readonly Message[]): string =>
  typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n')
