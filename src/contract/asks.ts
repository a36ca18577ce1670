import type { Json } from '../core/sample/json.ts'
import type { ChatPrompt, Prompt } from './prompt.ts'

/** One token's choice, with the alternatives that the server was asked to report. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly top: readonly { readonly token: string; readonly logprob: number }[]
}

/** A judge's whole text. `finishReason` is the server's word: 'stop', 'length', ... */
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

/** What a model reward asks of its model, and what comes back. A plain string is legal and flagged `unguarded`. */
export interface Asks {
  /** A judge's text. */
  generate: { input: Prompt | ChatPrompt | string; answer: Generation }
  /** A scalar (Bradley-Terry) reward model's number. */
  classify: { input: Prompt | ChatPrompt | string; answer: number }
  /** A process reward model: one number a step of the response. */
  rewards: { input: Prompt | ChatPrompt | string; answer: readonly number[] }
  /** One vector a text, in the order of the texts. */
  embed: { input: readonly string[]; answer: readonly (readonly number[])[] }
  /** Probability of each label; sums to 1. */
  choose: { input: Choice; answer: Readonly<Record<string, number>> }
}

/** What a model can be asked for. */
export type AskName = keyof Asks

/** Structured output: one of these texts, a text of this pattern (the server's dialect), or JSON of this JSON Schema. */
export type Reply =
  | { readonly choice: readonly string[] }
  | { readonly regex: string }
  | { readonly schema: { readonly [key: string]: Json } }
