import type { Readable } from 'node:stream'
import type { AskName, Asks, DecisionQuestion, Reply, ServiceRequest } from '../../../contract/index.ts'
import type { Failure, Message } from '../../../core/sample/sample.ts'
import type { QuestionTimes } from '../../../core/stalls/request-times.ts'
import type { Trace } from '../../../core/tracing/open-tracing.ts'
import type { CancelToken } from './cancel-token.ts'

/** Memory that a waiting question takes in addition to its texts (measured). */
export const questionBytes = 12_288

/** A question rendered by the guard. It contains no template syntax. */
export type Rendered = string | readonly Message[]

/** The rendered input of each ask. */
export interface RenderedInput {
  generate: Rendered
  classify: Rendered
  rewards: Rendered
  embed: readonly string[]
  choose: { readonly question: Rendered; readonly labels: readonly string[] }
  /** `about` is one user message. */
  decide: { readonly about: readonly Message[]; readonly asked: DecisionQuestion }
  service: ServiceRequest
}

/** Sampling settings of generate and choose, with their OpenAI and vLLM names; absent means the server's default. */
export interface Sampling {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly min_p?: number
  readonly max_tokens?: number
  readonly seed?: number
  readonly stop?: readonly string[]
  /** Whether the text keeps the stop that ended it. */
  readonly include_stop_str_in_output?: boolean
  readonly logprobs?: number
  readonly thinking?: boolean
}

/** One question to one model. */
export interface AskRequest<A extends AskName = AskName> {
  readonly model: string
  readonly ask: A
  readonly input: RenderedInput[A]
  readonly reply?: Reply | undefined
  /** Overrides the model's own settings. */
  readonly sampling?: Sampling | undefined
  /** Hex hash of the question before fencing and of the function's version. The model adds itself, sampling and draw. */
  readonly key: string
  /** Which of several draws of the same question this is, from 0. Part of the cache key. */
  readonly draw: number
  /** The constant beginning of the prompt, for prefix affinity; '' for none. Never only a user's text. */
  readonly prefix: string
  /** The group whose answers share more of the prompt, for group affinity. Only used together with `prefix`. */
  readonly group?: string | undefined
  /** The trace that the calls belong to, if any. Not part of the cache key. */
  readonly trace?: Trace | undefined
  /** Learns what the question waits for; absent: nobody asks. */
  readonly times?: QuestionTimes | undefined
  /** Answers that the rollout received before a restart; new ones are added. Absent: none are kept. */
  readonly answers?: KeptAnswers | undefined
  /** Asks only this instance, whatever its state, and bypasses queue, cache, sharing and retries. */
  readonly instance?: string | undefined
  /** On the injected clock, milliseconds. */
  readonly deadline: number
  readonly signal: AbortSignal | CancelToken
}

/** What a model said, and what it cost. */
export interface KeptAnswer {
  readonly answer: Asks[AskName]['answer']
  readonly instance: string
  readonly prompt: number
  readonly completion: number
}

/** Answers by the key of their question, kept for one rollout or one group across restarts. */
export interface KeptAnswers {
  get(key: string): KeptAnswer | undefined
  add(key: string, answer: KeptAnswer): void
}

/** How long a caller waits. `deadline` is in milliseconds on the injected clock. */
export type WaitLimits = Pick<AskRequest, 'deadline' | 'signal'>

/** An answer, where it came from and what it cost. `attempts` is 0 for a cached one. */
export interface Answered<A extends AskName = AskName> {
  readonly answer: Asks[A]['answer']
  readonly instance: string
  /** `joined`: the answer came from a call that another request had in flight. */
  readonly source: 'call' | 'cache' | 'joined'
  readonly attempts: number
  readonly tokens: { readonly prompt: number; readonly completion: number }
  /** Removes the answer from the cache if it turns out to be unusable; absent if it is not cached. */
  readonly forget?: (() => void) | undefined
}

/** What `ask` rejects with. It carries the failure that the sample reports. */
export class AskError extends Error {
  override readonly name = 'AskError' as const
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.detail)
    this.failure = failure
  }
}

/** A client's own request to a model, unchanged. */
export interface ForwardRequest {
  /** `/v1/chat/completions`, ... */
  readonly path: string
  /** `model` is replaced by the name that the servers serve. */
  readonly body: { readonly [key: string]: unknown }
  readonly deadline: number
  readonly signal: AbortSignal
  /** Absent: the request is not traced. */
  readonly trace?: Trace | undefined
}

/** A server's reply as it streams in. Read `body` to its end or destroy it to free the slot. */
export interface ForwardReply {
  readonly status: number
  readonly contentType: string
  /** The raw header; '' if there was none. */
  readonly retryAfter: string
  readonly body: Readable
  readonly instance: string
}
