/**
 * What the record and the inspector keep of a rollout: its turns under the text policy, and counts of all of them. A long
 * rollout is cut, and says so.
 */
import { z } from 'zod'
import {
  type Message,
  type Part,
  rolloutStatuses,
  type Sample,
  type ToolCall,
} from '../../../core/sample/sample.ts'
import { isOnlyText, rolloutCounts } from '../../../trainers/chat/rollout.ts'
import { cutText, type RecordedText, type TextKeeper } from './text-policy.ts'

/** By the text policy: the text, its SHA-256 (of its JSON if it is not a string) and length, or null. */
export const recordedText: z.ZodType<RecordedText> = z.union([
  z.string(),
  z.object({ sha256: z.string(), chars: z.number() }),
  z.null(),
])

const recordedPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: recordedText }),
  z.object({ type: z.literal('refusal'), text: recordedText }),
  z.object({
    type: z.literal('image'),
    /** Of its bytes, or of its address if only that was sent. null if the policy keeps nothing. */
    sha256: z.string().nullable(),
    /** In bytes. 0 if only an address was sent. */
    size: z.number(),
    media_type: z.string().nullable(),
  }),
  /** Audio, a file or an unknown type; `value` is its JSON, cut. */
  z.object({ type: z.literal('other'), name: z.string(), value: recordedText }),
])

const recordedCall = z.object({
  id: z.string().optional(),
  name: recordedText,
  /** As JSON, or as sent if they are no object. */
  arguments: recordedText,
  malformed: z.literal(true).optional(),
})

const recordedTurn = z.object({
  role: z.string(),
  content: z.union([recordedText, z.array(recordedPart)]),
  reasoning: recordedText.optional(),
  tool_calls: z.array(recordedCall).optional(),
  /** The call that this message answers; kept with texts. */
  tool_call_id: z.string().optional(),
  name: recordedText.optional(),
  /** Further fields of the message, as JSON. */
  other: recordedText.optional(),
  /** The calls and parts that were not kept. */
  left_out: z.number().optional(),
})

/** What `sample` of a line holds besides texts. All is absent for a rollout that is only a text. */
export const recordedRollout = {
  status: z.enum(rolloutStatuses).optional(),
  tokens: z.object({ prompt: z.number().optional(), response: z.number().optional() }).optional(),
  policy_version: z
    .object({ first: z.union([z.string(), z.number()]), last: z.union([z.string(), z.number()]) })
    .optional(),
  environment: z.record(z.string(), z.number()).optional(),
  /** Of the whole rollout, also where `turns` is cut. */
  counts: z.object({ turns: z.number(), tool_calls: z.number(), malformed_calls: z.number() }).optional(),
  turns: z.array(recordedTurn).optional(),
  /** If the rollout came in several: the index of the turn with which each begins. */
  segments: z.array(z.int()).optional(),
  turns_left_out: z.number().optional(),
}

type RecordedRollout = z.output<z.ZodObject<typeof recordedRollout>>
/** A turn of a recorded rollout. */
export type RecordedTurn = z.output<typeof recordedTurn>
/** A piece of a recorded turn's content. */
export type RecordedPart = z.output<typeof recordedPart>

/** How much of the turns of one row is kept. */
export interface TurnLimits {
  /** Characters of all texts. A text, a call and a part count at least `leastCost`. */
  readonly chars: number
  /** Turns, and calls or parts of a turn. */
  readonly list: number
}

/** Bounds what thousands of tiny turns cost. */
const leastCost = 128
const longestId = 128
const longestValue = 2000
const mostRewards = 256

/** What the record keeps of a row: about half a million tokens. */
export const recordLimits: TurnLimits = { chars: 2 ** 21, list: 4096 }

/** The turns and facts of a sample, as far as it has any. */
export function recordRollout(sample: Sample, keep: TextKeeper, limits: TurnLimits): RecordedRollout {
  const { status, tokens, policyVersion, environment, turns, segments } = sample
  return {
    ...(status !== undefined && { status }),
    ...(tokens && { tokens }),
    ...(policyVersion && {
      policy_version: { first: shortId(policyVersion.first), last: shortId(policyVersion.last) },
    }),
    ...(environment && {
      environment: Object.fromEntries(
        Object.entries(environment)
          .slice(0, mostRewards)
          .map(([name, value]) => [shortId(name), value]),
      ),
    }),
    ...(turns && { counts: rolloutCounts(turns), ...new TurnRecorder(keep, limits).turns(turns) }),
    ...(segments && { segments: segments.slice(0, limits.list) }),
  }
}

/**
 * A prompt as one text: JSON if it is a conversation. Its hash tells images apart; where texts are kept, an image is its
 * hash, size and type as in a turn.
 */
export function recordPrompt({ prompt }: Sample, keep: TextKeeper, limits: TurnLimits): RecordedText {
  if (typeof prompt === 'string') return keep.prompt(prompt)
  if (keep.policy !== 'full' || prompt.every(isOnlyText)) return keep.prompt(JSON.stringify(prompt))
  const { turns, turns_left_out: left } = new TurnRecorder(keep, limits).turns(prompt)
  const note = left === undefined ? [] : [{ role: 'note', content: `[${left} more turns]` }]
  return JSON.stringify([...turns, ...note])
}

const shortId = <T extends string | number>(id: T): T =>
  (typeof id === 'string' ? id.slice(0, longestId) : id) as T

class TurnRecorder {
  readonly #keep: TextKeeper
  readonly #list: number
  #left: number

  constructor(keep: TextKeeper, { chars, list }: TurnLimits) {
    this.#keep = keep
    this.#list = list
    this.#left = chars
  }

  turns(messages: readonly Message[]): { turns: RecordedTurn[]; turns_left_out?: number } {
    const turns: RecordedTurn[] = []
    for (const message of messages) {
      if (this.#left <= 0 || turns.length === this.#list) break
      turns.push(this.#turn(message))
    }
    const left = messages.length - turns.length
    return left > 0 ? { turns, turns_left_out: left } : { turns }
  }

  #turn(message: Message): RecordedTurn {
    const { role, content, parts, toolCalls = [], toolCallId, name, reasoning, other } = message
    const said = reasoning === undefined ? undefined : this.#text(reasoning)
    const keptParts = parts && this.#each(parts, (part) => this.#part(part))
    const text = keptParts ?? this.#text(content)
    const calls = this.#each(toolCalls, (call) => this.#call(call))
    const left = toolCalls.length - calls.length + (parts?.length ?? 0) - (keptParts?.length ?? 0)
    return {
      role: shortId(role),
      content: text,
      ...(said !== undefined && { reasoning: said }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(toolCallId !== undefined && this.#keep.policy === 'full' && { tool_call_id: shortId(toolCallId) }),
      ...(name !== undefined && { name: this.#text(name) }),
      ...(other && { other: this.#value(other) }),
      ...(left > 0 && { left_out: left }),
    }
  }

  #each<T, R>(list: readonly T[], record: (one: T) => R): R[] {
    const kept: R[] = []
    for (const one of list) {
      if (this.#left <= 0 || kept.length === this.#list) break
      kept.push(record(one))
    }
    return kept
  }

  /** Names and arguments are the policy's words. */
  #call({ id, name, arguments: given, malformed }: ToolCall): z.output<typeof recordedCall> {
    return {
      ...(id !== undefined && this.#keep.policy === 'full' && { id: shortId(id) }),
      name: this.#text(name),
      arguments: this.#text(typeof given === 'string' ? given : JSON.stringify(given)),
      ...(malformed && { malformed }),
    }
  }

  #part(part: Part): RecordedPart {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return { type: part.type, text: this.#text(part.text) }
      case 'image': {
        this.#left -= leastCost
        const { sha256, size, mediaType } = part
        return {
          type: 'image',
          sha256: this.#keep.policy === 'none' ? null : sha256,
          size,
          media_type: mediaType ?? null,
        }
      }
      case 'other':
        return { type: 'other', name: shortId(part.name), value: this.#value(part.value) }
    }
  }

  /** Base64 of audio and files is of no use to a reader. */
  #value(value: unknown): RecordedText {
    const kept = this.#text(JSON.stringify(value))
    return typeof kept === 'string' ? cutText(kept, longestValue) : kept
  }

  #text(text: string): RecordedText {
    const kept = this.#keep.text(text)
    const room = Math.max(0, this.#left)
    this.#left -= Math.max(leastCost, typeof kept === 'string' ? kept.length : 0)
    return typeof kept === 'string' ? cutText(kept, room) : kept
  }
}
