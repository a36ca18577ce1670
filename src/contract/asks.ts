/** The tasks that a model reward can ask for: what each takes, and what it answers. */

import type { Json } from '../core/sample/sample.ts'
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
} satisfies Record<AskName, true>) as readonly AskName[]

/**
 * Structured output: one of these texts, a text that matches a pattern (in the server's dialect), or JSON of
 * a JSON Schema.
 */
export type Reply =
  | { readonly choice: readonly string[] }
  | { readonly regex: string }
  | { readonly schema: { readonly [key: string]: Json } }
