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
