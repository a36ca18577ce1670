/** The tasks that a model reward can ask for: what each takes, and what it answers. */

import type { Json } from '../core/sample/sample.ts'
import type { Decided, Decision } from './decision.ts'
import type { ChatPrompt, Prompt } from './prompt.ts'

/** A token with its log probability and the alternatives that the server reported. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly top: readonly { readonly token: string; readonly logprob: number }[]
}

/** A judge's complete reply. `finishReason` is the server's own word: 'stop', 'length', ... */
export interface Generation {
  readonly text: string
  readonly finishReason: string
  readonly logprobs?: readonly TokenLogprob[]
}

/** A question whose answer is one of `labels`. */
export interface Choice {
  readonly question: Prompt | ChatPrompt | string
  readonly labels: readonly string[]
}

/** How requests to a service become one. Places are JSON Pointers. */
export interface ServiceBatch {
  /** Where a body has its list of one entry. Bodies that are equal but for this entry may share a request. */
  readonly items: string
  /** Where a reply has its list, with an entry for each of the request's. `''`: the reply is the list. */
  readonly reply: string
  /**
   * The member of an entry that the service repeats in the entry of its reply: the gateway writes a number into it. If absent,
   * the entries of a reply are in the order of the request.
   */
  readonly key?: string | undefined
  /** The most entries of a request, 2 to 256. */
  readonly max: number
}

/** A request to a service that scores: a JSON body. `serviceRequest` makes it. */
export interface ServiceRequest {
  readonly kind: 'service'
  /** The body as JSON text. */
  readonly json: string
  /** If absent: it is sent alone. */
  readonly batch?: ServiceBatch
}

/**
 * The request to a service with this body. Where it is sent is written in gateway.yaml; no function decides that. Half of a
 * surrogate pair becomes U+FFFD: many servers fail on one. With `batch`, it may be sent together with others; the answer is
 * then the reply with one entry in its list.
 *
 * @example
 * ```ts
 * import { defineModelReward, NoVerdict, serviceRequest } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineModelReward({
 *   truth: z.string(),
 *   range: [0, 1],
 *   ask: 'service',
 *   rm_preprocess: ({ sample, truth }) => serviceRequest({ response: sample.response, answer: truth }),
 *   rm_postprocess({ reply }) {
 *     const { data } = z.object({ score: z.number() }).safeParse(reply)
 *     if (!data) throw new NoVerdict('the reply has no score')
 *     return data.score
 *   },
 * })
 * ```
 */
export const serviceRequest = (body: Json, batch?: ServiceBatch): ServiceRequest => ({
  kind: 'service',
  json: wellFormed(JSON.stringify(body) ?? 'null'),
  ...(batch && { batch }),
})

/** JSON.stringify writes half of a surrogate pair, and nothing else, as an escape that begins with `\ud`. */
const wellFormed = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (one) => (one.startsWith('\\ud') ? '\ufffd' : one))
    : json

/**
 * Throw this in rm_postprocess to say why an answer holds no verdict. The sample fails, whatever `on_unreadable` says. The
 * message is public: it quotes neither the answer nor the sample. `judge_rejected`: the server says that it has no verdict.
 *
 * @example
 * ```ts
 * import { NoVerdict } from 'reward-gateway/contract'
 *
 * export function passedOf(reply: { readonly passed?: number }): number {
 *   if (reply.passed === undefined) throw new NoVerdict('the reply does not count its tests')
 *   return reply.passed
 * }
 * ```
 */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict' as const
  readonly kind: 'judge_unparseable' | 'judge_rejected' | 'judge_out_of_range'

  constructor(message: string, kind: NoVerdict['kind'] = 'judge_unparseable') {
    super(message)
    this.kind = kind
  }
}

/**
 * The input and the answer of each task that a model reward can ask for. A plain string is allowed and
 * flagged `unguarded`.
 */
export interface Asks {
  generate: { input: Prompt | ChatPrompt | string; answer: Generation }
  /** The score of a scalar (Bradley-Terry) reward model. */
  classify: { input: Prompt | ChatPrompt | string; answer: number }
  /** A process reward model: one number per step of the response. */
  rewards: { input: Prompt | ChatPrompt | string; answer: readonly number[] }
  /** One vector per text, in the order of the texts. */
  embed: { input: readonly string[]; answer: readonly (readonly number[])[] }
  /** The probability of each label. They sum to 1. */
  choose: { input: Choice; answer: Readonly<Record<string, number>> }
  /** A decision model: the probability of each answer that the question allows. */
  decide: { input: Decision; answer: Decided }
  /** A service that scores. `reply`: the JSON of its reply with status 200, unchecked. */
  service: { input: ServiceRequest; answer: { readonly reply: Json } }
}

/** The name of a task. */
export type AskName = keyof Asks

/** Every task, for what no compiler has checked: users' files, messages of processes and configs. */
export const askNames = Object.keys({
  generate: true,
  classify: true,
  rewards: true,
  embed: true,
  choose: true,
  decide: true,
  service: true,
} satisfies Record<AskName, true>) as readonly AskName[]

/**
 * Structured output: one of these texts, a text that matches a pattern (in the server's dialect), or JSON of
 * a JSON Schema.
 */
export type Reply =
  | { readonly choice: readonly string[] }
  | { readonly regex: string }
  | { readonly schema: { readonly [key: string]: Json } }
