/** A rollout that a trainer cut into segments, such as slime's list of samples, put together again. */
import { z } from 'zod'
import type { Message } from '../../core/sample/sample.ts'
import { messageList } from './rollout.ts'

const text = z.union([z.string(), messageList], { error: 'a text or a list of messages' })

type Text = z.output<typeof text>

/** `{ segments: [{ prompt, response }, ...] }`, in order. */
export const segmentList = z.strictObject({
  segments: z
    .array(
      z.strictObject({
        prompt: text.optional().describe('What the policy was shown in this segment.'),
        response: text.describe('What it added.'),
      }),
    )
    .min(1)
    .describe('One rollout in several pieces, in order.'),
})

type Segments = z.output<typeof segmentList>['segments']

/** A rollout that was put together. `starts`: the index of the turn with which each segment begins. */
interface Joined {
  readonly prompt: Text
  readonly turns: readonly Message[]
  readonly starts: readonly number[]
}

/**
 * The rollout of several segments. What a segment's prompt adds to what is known belongs to the rollout: results of tools,
 * messages of the environment, a summary. What it repeats does not. What it says in the policy's name, and no segment
 * wrote, is a turn of the environment. `prompt`: the row's own, '' or absent if it has none.
 */
export function joinSegments(segments: Segments, prompt: Text | undefined): Joined {
  const base = prompt === undefined || prompt.length === 0 ? (segments[0]?.prompt ?? '') : prompt
  const joined = new JoinedTurns(base)
  const starts: number[] = []
  for (const segment of segments) {
    starts.push(joined.turns.length)
    if (segment.prompt !== undefined) joined.show(segment.prompt)
    joined.add(segment.response)
  }
  return { prompt: base, turns: joined.turns, starts }
}

class JoinedTurns {
  readonly turns: Message[] = []
  readonly #known = new Map<string, number>()
  /** The text that a prompt begins with if it goes on where the last segment ended. */
  #said: string

  constructor(base: Text) {
    this.#said = typeof base === 'string' ? base : ''
    for (const message of messagesOf(base, 'user')) this.#count(message)
  }

  /** Adds what a prompt has beyond what is known. */
  show(prompt: Text): void {
    if (typeof prompt === 'string') {
      const rest = prompt.startsWith(this.#said) ? prompt.slice(this.#said.length) : prompt
      if (rest.trim() !== '') this.#push({ role: 'environment', content: rest })
      this.#said = prompt
      return
    }
    const repeated = new Map<string, number>()
    for (const message of prompt) {
      const key = keyOf(message)
      const times = (repeated.get(key) ?? 0) + 1
      repeated.set(key, times)
      if (times <= (this.#known.get(key) ?? 0)) continue
      if (message.role === 'assistant') this.turns.push({ ...message, role: 'environment' })
      else this.turns.push(message)
      this.#count(message)
    }
  }

  /** Adds what the policy said, and what came between. */
  add(response: Text): void {
    if (typeof response === 'string') this.#said += response
    for (const message of messagesOf(response, 'assistant')) this.#push(message)
  }

  #push(message: Message): void {
    this.turns.push(message)
    this.#count(message)
  }

  #count(message: Message): void {
    const key = keyOf(message)
    this.#known.set(key, (this.#known.get(key) ?? 0) + 1)
  }
}

const messagesOf = (given: Text, role: string): readonly Message[] =>
  typeof given === 'string' ? [{ role, content: given }] : given

/** Templates show reasoning once: a message that is repeated without it is the same. */
const keyOf = ({ role, content, parts, toolCalls = [] }: Message): string =>
  JSON.stringify([role, content, parts, toolCalls.map(({ name, arguments: given }) => [name, given])])
