import type { Json, Message } from '../../core/sample/sample.ts'
import { type Fields, isObject } from '../dataset/row.ts'

/** A source row after parsing. */
export interface ParsedRow {
  readonly dataSource: string
  readonly prompt: readonly Message[]
  readonly groundTruth: Json
  readonly extraInfo: Readonly<Record<string, Json>>
  /** Judge prompts: `rm_prompt_0`, `rm_prompt_1`, ... */
  readonly rmPrompts?: readonly string[]
  /** The complete text of a right answer. null if the source has none. */
  readonly gold: string | null
  /** The complete text of a wrong answer in the right format. null if none could be made. */
  readonly nearMiss: string | null
  /** The reward of a right answer. Default: the upper end of its rule's range. */
  readonly fullMarks?: number
}

/** Options for all rows of a source. */
export interface FamilyOptions {
  /** Replaces the family's own data source. */
  readonly dataSource?: string
  /** NPG-Muse's reward type. */
  readonly rewardType?: string
}

/** A kind of training data: how its sources are parsed and how its answers are scored. */
export interface Family {
  readonly name: string
  /** Describes the fields of a source row, for help texts. */
  readonly source: string
  readonly ability: string
  /** The rule steps of the rm-config that scores the answers. */
  readonly steps: readonly Json[]
  /** SQL types of the ground truth and of the family's own fields in extra_info. */
  readonly columns: { readonly groundTruth: string; readonly extraInfo: Readonly<Record<string, string>> }
  /** The maximum number of judge prompts in a row. */
  readonly rmPrompts: number
  /** Throws Unusable if the row must be dropped. */
  read(row: Fields, options: FamilyOptions): ParsedRow
}

/** Why a source row is dropped. Rows are counted by message. */
export class Unusable extends Error {}

/** A field's text. Throws Unusable if it is missing or blank. */
export function textOf(row: Fields, field: string): string {
  const value = row[field]
  if (typeof value === 'string' && value.trim() !== '') return value
  if (typeof value === 'string') throw new Unusable(`${field} is blank`)
  throw new Unusable(
    value === undefined || value === null ? `${field} is missing` : `${field} is not a string`,
  )
}

/** The messages of a conversation of texts. A text becomes a user message. Nothing is left out: throws Unusable for other content. */
export function messagesOf(value: unknown, field: string): readonly Message[] {
  if (typeof value === 'string' && value.trim() !== '') return [{ role: 'user', content: value }]
  if (!Array.isArray(value) || value.length === 0) throw new Unusable(`${field} is missing`)
  return value.map((message: unknown) => {
    if (!isObject(message) || typeof message.role !== 'string' || typeof message.content !== 'string')
      throw new Unusable(`${field} has a message without role or content`)
    if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0)
      throw new Unusable(`${field} has calls of tools apart from its texts`)
    return { role: message.role, content: message.content }
  })
}
