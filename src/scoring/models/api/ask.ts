import type { Readable } from 'node:stream'
import type { AskName, Asks, Reply } from '../../../contract/index.ts'
import type { Failure, Message } from '../../../core/sample/sample.ts'
import type { Trace } from '../../../core/tracing/trace.ts'
import type { CancelToken } from './cancel-token.ts'

/** Measured: what stays of a question while it waits, beside its texts. */
export const questionBytes = 12_288

/** A rendered question: what the guard made of a prompt. Nothing in it is a template any more. */
export type Rendered = string | readonly Message[]

/** What each ask takes, rendered. */
export interface RenderedInput {
  generate: Rendered
  classify: Rendered
  rewards: Rendered
  embed: readonly string[]
  choose: { readonly question: Rendered; readonly labels: readonly string[] }
}

/** Sampling settings of generate and choose, by their OpenAI / vLLM names; absent: the server's default. */
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
  /** Over the model's own settings. */
  readonly sampling?: Sampling | undefined
  /** Identity of the question before fencing (with the function's version), hex; the pool adds model, sampling and draw. */
  readonly key: string
  /** Which of several draws of the same question this is, from 0; part of the question's identity. */
  readonly draw: number
  /** The constant beginning of the prompt, for prefix affinity; '' for none. Never text of a user alone. */
  readonly prefix: string
  /** The group whose answers share more of the prompt, for group affinity; it counts beside the prefix only. */
  readonly group?: string | undefined
  /** Where the first call for the question stands in a trace; absent: in none. Not part of its identity. */
  readonly trace?: Trace | undefined
  /** The only instance that is asked, whatever its state, beside the line: no cache, no sharing, no second call. */
  readonly instance?: string | undefined
  /** On the injected clock, milliseconds. */
  readonly deadline: number
  readonly signal: AbortSignal | CancelToken
}

/** How long somebody waits. `deadline`: on the injected clock, milliseconds. */
export type WaitLimits = Pick<AskRequest, 'deadline' | 'signal'>

/** An answer, where it came from and what it cost; `attempts` is 0 for a kept one. */
export interface Answered<A extends AskName = AskName> {
  readonly answer: Asks[A]['answer']
  readonly instance: string
  /** `joined`: another request's call in flight gave the answer. */
  readonly source: 'call' | 'cache' | 'joined'
  readonly attempts: number
  readonly tokens: { readonly prompt: number; readonly completion: number }
  /** Takes the answer out of the cache, because it turned out to say nothing; absent: it is not there. */
  readonly forget?: (() => void) | undefined
}

/** What `ask` rejects with: already in the words of a sample's failure. */
export class AskError extends Error {
  override readonly name = 'AskError' as const
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.detail)
    this.failure = failure
  }
}

/** A client's own request to a model, as it came. */
export interface ForwardRequest {
  /** `/v1/chat/completions`, ... */
  readonly path: string
  /** Its `model` is replaced by the name that the servers serve. */
  readonly body: { readonly [key: string]: unknown }
  readonly deadline: number
  readonly signal: AbortSignal
  /** Absent: the request is not traced. */
  readonly trace?: Trace | undefined
}

/** A server's reply as it comes; reading `body` to its end, or destroying it, gives the place back. */
export interface ForwardReply {
  readonly status: number
  readonly contentType: string
  /** The header as it came; '' where there was none. */
  readonly retryAfter: string
  readonly body: Readable
  readonly instance: string
}
