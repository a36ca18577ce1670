/** Any JSON value, read-only by type. Integers beyond 2^53 never appear: they are refused or kept as text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The reward of a part of a rollout. */
export interface StepReward {
  /** The index of its turn among the rollout's. A response that is one text is turn 0. */
  readonly turn: number
  /**
   * Where the part ends in the turn's text, in Unicode code points as Python counts them. A part begins where the one before
   * it ended.
   */
  readonly end: number
  /** Finite. */
  readonly value: number
}

/** A verdict with details. */
export interface Score {
  /** Finite and within the function's range. */
  readonly value: number
  /** Named components, reported but never summed. Only names that the function declared. */
  readonly parts?: Readonly<Record<string, number>>
  /** `reason`, `extracted`, ...: for people. */
  readonly details?: Readonly<Record<string, Json>>
  /** Short labels for metrics and records, at most 32. */
  readonly flags?: readonly string[]
  /** Rewards of parts of the rollout. Their turns and ends rise. */
  readonly steps?: readonly StepReward[]
}

/** Why a sample has no reward. Public: trainers and alert rules match these words. */
export const failureKinds = [
  'judge_unreachable',
  'judge_timeout',
  'judge_rejected',
  'judge_truncated',
  'judge_unparseable',
  'judge_out_of_range',
  'sandbox_unreachable',
  'sandbox_timeout',
  'prompt_too_long',
  'rule_error',
  'rule_timeout',
  'function_error',
  'formula_error',
  'bad_sample',
  'unseen_content',
  'truncated',
  'aborted',
  'tool_limit',
  'env_error',
  'policy_failed',
  'group_incomplete',
  'deadline',
  'overloaded',
  'cancelled',
] as const

export type FailureKind = (typeof failureKinds)[number]

/** One failed attempt of an upstream call. */
export interface Attempt {
  readonly instance: string
  readonly ms: number
  readonly error: string
}

/** Why a sample has no reward. This is data and never thrown. */
export interface Failure {
  readonly kind: FailureKind
  /** True if sending the same sample again may succeed. */
  readonly retryable: boolean
  readonly step?: string
  /** One sentence for people. Never holds text of the prompt or the response. */
  readonly detail: string
  readonly attempts?: readonly Attempt[]
}

/** One step's contribution to a sample's outcome. */
export type Term = { readonly name: string; readonly weight: number } & (
  | {
      readonly status: 'scored'
      readonly score: Score
      /** Number of verdicts, and their population standard deviation. */
      readonly draws: number
      readonly spread: number
      /** What the step added to the reward. null until combined, and if the reward is not a plain sum. */
      readonly contribution: number | null
    }
  | { readonly status: 'text'; readonly texts: readonly string[] }
  | { readonly status: 'off'; readonly why: OffReason }
  | { readonly status: 'failed'; readonly failure: Failure }
)

/** Why a step did not take part. None of these is a failure. */
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

/** One turn of a conversation: a chat message, or the Responses items that make up a turn. */
export interface Message {
  /** As sent: `system`, `user`, `assistant`, `tool`, `environment`, ... */
  readonly role: string
  /** The texts of the text parts, joined without a separator as chat templates do. '' if there is none. */
  readonly content: string
  /** All parts in order, text included. Absent if the content is only text. */
  readonly parts?: readonly Part[]
  /** The calls of this turn, in order. */
  readonly toolCalls?: readonly ToolCall[]
  /** The call that this message answers. */
  readonly toolCallId?: string
  readonly name?: string
  /** What a reasoning parser took out of the content. */
  readonly reasoning?: string
  /** Further fields of the message that are not empty, as sent. */
  readonly other?: Readonly<Record<string, Json>>
}

/** A piece of a message's content. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | ImagePart
  /** A part of another type, as sent: audio, a file, or a type that the gateway does not know. */
  | { readonly type: 'other'; readonly name: string; readonly value: Json }

/** An image, known by its content. Its bytes are not kept. */
export interface ImagePart {
  readonly type: 'image'
  /** SHA-256 in hex: of the bytes if they were sent, otherwise of the address or path. */
  readonly sha256: string
  /** The number of bytes. 0 if only an address, a path or nothing was sent. */
  readonly size: number
  /** What a data URL says, such as `image/png`. */
  readonly mediaType?: string
  /** The address or path, if no bytes were sent. */
  readonly url?: string
  readonly detail?: string
  /** Further fields of the part that are not empty, as sent. */
  readonly other?: Readonly<Record<string, Json>>
}

/** A tool call of an assistant turn. */
export interface ToolCall {
  readonly id?: string
  readonly name: string
  /** An object. A text if the tool takes free text, or, with `malformed`, what was sent in place of an object. */
  readonly arguments: Readonly<Record<string, Json>> | string
  /** The call cannot be read as a name with an object of arguments. */
  readonly malformed?: true
}

/** A tool call with the result that answers it. */
export interface AnsweredCall extends ToolCall {
  /** The index of its turn among the rollout's. */
  readonly turn: number
  /** The text of the result. null if no result answers the call. */
  readonly result: string | null
}

/**
 * How a rollout ended. `truncated`: the policy ran into its token limit. `tool_limit`: into its limit of turns or calls.
 * `aborted`: the trainer stopped it. `env_error`: its environment or a tool failed.
 */
export const rolloutStatuses = ['completed', 'truncated', 'aborted', 'tool_limit', 'env_error'] as const

export type RolloutStatus = (typeof rolloutStatuses)[number]

/** The group of answers to one prompt: it has `size` answers, and this one is at `index` (0-based). */
export interface GroupMembership {
  readonly id: string
  readonly size?: number
  readonly index?: number
}

/** One rollout to score. All of it comes from outside and is untrusted. */
export interface Sample {
  readonly id: string
  readonly prompt: string | readonly Message[]
  /** The text of the policy's last turn. '' if that turn has none. */
  readonly response: string
  /**
   * All that the rollout added to the prompt, in order: turns of the assistant, results of tools, turns of an environment.
   * Absent: the response is all of it.
   */
  readonly turns?: readonly Message[]
  /** Of a rollout that came in several segments: the index of the turn with which each begins. */
  readonly segments?: readonly number[]
  /** Absent if the trainer did not say. */
  readonly status?: RolloutStatus
  /** Token counts, as far as the trainer knows them. */
  readonly tokens?: { readonly prompt?: number; readonly response?: number }
  /** The versions of the policy that wrote the first and the last token. */
  readonly policyVersion?: { readonly first: string | number; readonly last: string | number }
  /** The step of training that the request names. Only functions that ask a service are given it. */
  readonly trainingStep?: number
  /** Rewards that the environment gave, by name. */
  readonly environment?: Readonly<Record<string, number>>
  /** null if none was sent. */
  readonly groundTruth: Json
  readonly dataSource?: string
  /**
   * The row's own judge prompt, for every step without one in `rmPrompts`. A function finds its step's prompt
   * here.
   */
  readonly rmPrompt?: string
  /** Judge prompts by step name. */
  readonly rmPrompts: Readonly<Record<string, string>>
  readonly group?: GroupMembership
  readonly extraInfo: Readonly<Record<string, Json>>
  /**
   * False if the row sent no extra_info at all; absent otherwise. Some published rewards refuse a row without it
   * but accept an empty one.
   */
  readonly hasExtraInfo?: false
  /** Flags set while reading the row (`non_finite_input`, ...). The outcome repeats them. */
  readonly flags?: readonly string[]
}

/** A row that could not be read as a sample. It keeps its place and gets its failure. */
export interface Unreadable {
  readonly id: string
  readonly failure: Failure
}

/** What most samples are: a question and an answer that are one text each. */
export const isTextOnly = ({ prompt, turns }: Pick<Sample, 'prompt' | 'turns'>): boolean =>
  typeof prompt === 'string' && turns === undefined

/** A prompt as one text: the contents of its messages without roles, joined with newlines. */
export const promptText = (prompt: string | readonly Message[]): string =>
  typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n')

/** Per object or list, without its contents. */
const containerBytes = 48
const entryBytes = 16
/** Values counted per tree. Larger values are held only as long as their request. */
const maxCountedValues = 1_000_000
const maxDepth = 256

/**
 * Estimated memory of a value, used to bound what waits. Strings count two bytes per character. Shared parts
 * count each time.
 */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return entryBytes + 2 * value.length
  if (typeof value !== 'object' || value === null) return entryBytes
  return new SizeCount().of(value, 0)
}

class SizeCount {
  #left = maxCountedValues

  of(value: unknown, depth: number): number {
    if (typeof value === 'string') return entryBytes + 2 * value.length
    if (typeof value !== 'object' || value === null || depth > maxDepth) return entryBytes
    let bytes = containerBytes
    if (ArrayBuffer.isView(value)) return bytes + value.byteLength
    if (Array.isArray(value)) {
      for (const item of value) {
        if (--this.#left < 0) break
        bytes += this.of(item, depth + 1)
      }
      return bytes
    }
    for (const key in value) {
      if (--this.#left < 0) break
      // Field names are shared, but names that a sample brings along are not.
      bytes += 2 * key.length + this.of((value as Record<string, unknown>)[key], depth + 1)
    }
    return bytes
  }
}

/** Letters and symbols without a shape: fillers and the blank signs of Braille, hieroglyphs and music. */
const shapeless = '\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{13441}\\u{13442}\\u{1d159}'

/**
 * A letter, digit, punctuation mark or symbol that has a shape of its own. Not white space, controls, fillers, joiners,
 * variation selectors, tag characters, combining marks without a letter, private or unassigned characters.
 */
const visible = new RegExp(`[[\\p{L}\\p{N}\\p{P}\\p{S}]--[${shapeless}]]`, 'v')

/** True for a text that is empty or has only white space and invisible characters. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0)
  // Fast path: most texts start with a visible ASCII character.
  return !(first > 0x20 && first < 0x7f) && !visible.test(text)
}

/** Placeholders for images and other media in prompts. */
const placeholder =
  /<(?:image|img|video|audio|start_of_image|end_of_image)>|<\|(?:vision|image|img|video|audio)[a-z_\d]{0,24}\|>|\[IMG\]/g
/** Longer texts always contain words. */
const maxPlaceholderText = 512

/** True for a text that is blank or holds only image placeholders. */
export function isWordless(text: string): boolean {
  if (isBlank(text)) return true
  const first = text[0] ?? ''
  if (text.length > maxPlaceholderText || (first > ' ' && first < '\x7f' && first !== '<' && first !== '['))
    return false
  return isBlank(text.replace(placeholder, ''))
}
