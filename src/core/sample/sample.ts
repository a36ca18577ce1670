import type { Failure } from './failure.ts'
import type { Json } from './json.ts'

/** One turn of a conversation. `content` is plain text: the border joins content parts. */
export interface Message {
  readonly role: string
  readonly content: string
}

/** The answers to one prompt belong together: `size` answers, this one at `index` (0-based). */
export interface GroupMembership {
  readonly id: string
  readonly size?: number
  readonly index?: number
}

/** One rollout to be scored. Everything in it comes from outside and is untrusted. */
export interface Sample {
  readonly id: string
  readonly prompt: string | readonly Message[]
  readonly response: string
  /** null: none was sent. */
  readonly groundTruth: Json
  readonly dataSource?: string
  /** The row's own judge prompt, for every step that has none in `rmPrompts`; a function finds its step's prompt here. */
  readonly rmPrompt?: string
  /** Judge prompts by step name. */
  readonly rmPrompts: Readonly<Record<string, string>>
  readonly group?: GroupMembership
  readonly extraInfo: Readonly<Record<string, Json>>
  /** True where the row sent no extra_info at all; some published rewards refuse that and accept an empty one. */
  readonly lacksExtraInfo?: true
  /** Marks that reading left (`non_finite_input`, ...); they come back in the outcome. */
  readonly flags?: readonly string[]
}

/** A row that could not be read as a sample; it keeps its place and gets its failure. */
export interface Unreadable {
  readonly id: string
  readonly failure: Failure
}
