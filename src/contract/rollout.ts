/** What a reward function reads of a rollout: its turns, its tool calls, and all of it as a judge may read it. */
import { type AnsweredCall, isBlank, type Message, type Sample } from '../core/sample/sample.ts'
import type { Scope } from './modes.ts'
import { messagesWithoutText } from './question.ts'
import { shownTurn, type TranscriptOptions } from './shown-turn.ts'

type Rollout = Pick<Sample, 'response' | 'turns'>

/**
 * Everything that the rollout added to the prompt, in order. A response that was sent as a text is one turn of the
 * assistant.
 *
 * @example
 * ```ts
 * import { defineRule, turnsOf } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineRule({
 *   truth: z.unknown(),
 *   range: [-1, 0],
 *   score: ({ sample }) => -Math.min(1, turnsOf(sample).length / 20),
 * })
 * ```
 */
export const turnsOf = ({ response, turns }: Rollout): readonly Message[] =>
  turns ?? [{ role: 'assistant', content: response }]

/**
 * The texts that the policy wrote, in order: the reasoning and the text of each of its turns, with `calls` its calls of
 * tools as well. `final`: the text of its last turn. For rules about form, so that no turn is free of them.
 *
 * @example
 * ```ts
 * import { defineRule, policyTexts } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineRule({
 *   truth: z.unknown(),
 *   range: [-1, 0],
 *   score: ({ sample }) => -Number(policyTexts(sample, 'all').some((text) => text.includes('As an AI'))),
 * })
 * ```
 */
export function policyTexts(
  { response, turns }: Rollout,
  scope: Scope,
  { calls = false }: { readonly calls?: boolean } = {},
): readonly string[] {
  if (!turns || scope === 'final') return [response]
  const shown = turns
    .filter(({ role }) => role === 'assistant')
    .flatMap((turn) => shownTurn(turn, { tools: calls, reasoning: true }))
  return shown.flatMap(({ content }) => (isBlank(content) ? [] : [content]))
}

/**
 * All calls of the assistant's turns, in order, each with its result: the one that names the call's id, or else the next
 * one without an id.
 *
 * @example
 * ```ts
 * import { defineRule, toolCallsOf } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineRule({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   score: ({ sample }) => Number(toolCallsOf(sample).some(({ name }) => name === 'search')),
 * })
 * ```
 */
export function toolCallsOf({ turns = [] }: Pick<Sample, 'turns'>): readonly AnsweredCall[] {
  const calls: Writable<AnsweredCall>[] = []
  const all = new WaitingCalls(calls)
  const byId = new Map<string | undefined, WaitingCalls>()
  for (const [turn, message] of turns.entries()) {
    if (message.role === 'assistant') {
      for (const call of message.toolCalls ?? []) {
        const same = byId.get(call.id) ?? new WaitingCalls(calls)
        byId.set(call.id, same)
        same.add(calls.length)
        all.add(calls.length)
        calls.push({ ...call, turn, result: null })
      }
      continue
    }
    const id = message.toolCallId
    if (id === undefined && !resultRoles.includes(message.role)) continue
    const answered = id === undefined ? all.next() : (byId.get(id)?.next() ?? byId.get(undefined)?.next())
    if (answered) answered.result = message.content
  }
  return calls
}

const resultRoles: readonly string[] = ['tool', 'function', 'ipython']

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Calls that wait for their results, in order. Each is looked at once. */
class WaitingCalls {
  readonly #calls: readonly Writable<AnsweredCall>[]
  readonly #places: number[] = []
  #at = 0

  constructor(calls: readonly Writable<AnsweredCall>[]) {
    this.#calls = calls
  }

  add(place: number): void {
    this.#places.push(place)
  }

  /** The first call without a result. */
  next(): Writable<AnsweredCall> | undefined {
    while (this.#at < this.#places.length) {
      const call = this.#calls[this.#places[this.#at++] ?? -1]
      if (call?.result === null) return call
    }
    return undefined
  }
}

/**
 * The whole rollout for a judge, turn by turn, to be put into prompt`...`. The headings are the author's words: no turn can
 * imitate one.
 *
 * @example
 * ```ts
 * import { prompt, questionText, type Sample, transcript } from 'reward-gateway/contract'
 *
 * const question = (sample: Sample) =>
 *   prompt`Task: ${questionText(sample)}\nWhat the agent did: ${transcript(sample)}\nReply 1 if it was careful, else 0.`
 * ```
 */
export function transcript(sample: Rollout, options: TranscriptOptions = {}): readonly Message[] {
  const { results = true } = options
  const turns = turnsOf(sample).filter(({ role }) => results || role === 'assistant')
  return messagesWithoutText(
    turns.flatMap((turn) => shownTurn(turn, options)),
    'transcript(sample)',
  )
}

const none: readonly never[] = Object.freeze([])

/** A sample as users' functions read it: with its turns and calls, also where the rollout is one text. */
export const shownSample = (sample: Sample): Sample & { readonly toolCalls: readonly AnsweredCall[] } => ({
  ...sample,
  prompt:
    typeof sample.prompt === 'string' ? sample.prompt : messagesWithoutText(sample.prompt, 'sample.prompt'),
  turns: sample.turns ? messagesWithoutText(sample.turns, 'sample.turns') : turnsOf(sample),
  toolCalls: sample.turns ? toolCallsOf(sample) : none,
})
