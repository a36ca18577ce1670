import type { Json, Message } from '../../core/sample/sample.ts'
import { type Fields, isObject } from '../dataset/row.ts'

/** One row of a source, understood. */
export interface Reading {
  readonly dataSource: string
  readonly prompt: readonly Message[]
  readonly groundTruth: Json
  readonly extraInfo: Readonly<Record<string, Json>>
  /** Judge prompts: `rm_prompt_0`, `rm_prompt_1`, ... */
  readonly rmPrompts?: readonly string[]
  /** The whole text of a right answer; null: the source has none. */
  readonly gold: string | null
  /** The whole text of a wrong answer in the right form; null: none could be made. */
  readonly nearMiss: string | null
  /** What a right answer earns; absent: the upper end of its rule's range. */
  readonly fullMarks?: number
}

/** What a person chooses for all rows of a source. */
export interface FamilyOptions {
  /** In place of the family's own. */
  readonly dataSource?: string
  /** How NPG-Muse's rows pay. */
  readonly rewardType?: string
}

/** One kind of training data: how its sources are read, and what its answers are scored by. */
export interface Family {
  readonly name: string
  /** What a source's row holds, for people. */
  readonly source: string
  readonly ability: string
  /** Steps of the rm-config that scores the answers; rules only. */
  readonly steps: readonly Json[]
  /** SQL type of the ground truth, and of what extra_info holds beside what every family has. */
  readonly columns: { readonly groundTruth: string; readonly extraInfo: Readonly<Record<string, string>> }
  /** How many judge prompts a row may have. */
  readonly rmPrompts: number
  /** Throws Unusable where the row cannot be used. */
  read(row: Fields, options: FamilyOptions): Reading
}

/** Why a row of a source is dropped; the message is for people and groups the rows that have the same fault. */
export class Unusable extends Error {}

/** A text that is there and not blank. */
export function textOf(row: Fields, field: string): string {
  const value = row[field]
  if (typeof value === 'string' && value.trim() !== '') return value
  if (typeof value === 'string') throw new Unusable(`${field} is blank`)
  throw new Unusable(value === undefined || value === null ? `${field} is missing` : `${field} is no text`)
}

/** Messages of a conversation; a text is one message of the user. */
export function messagesOf(value: unknown, field: string): readonly Message[] {
  if (typeof value === 'string' && value.trim() !== '') return [{ role: 'user', content: value }]
  if (!Array.isArray(value) || value.length === 0) throw new Unusable(`${field} is missing`)
  return value.map((message: unknown) => {
    if (!isObject(message) || typeof message.role !== 'string' || typeof message.content !== 'string')
      throw new Unusable(`${field} holds a message without role and content`)
    return { role: message.role, content: message.content }
  })
}
