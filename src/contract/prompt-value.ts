import { isBlank } from '../core/sample/blank.ts'
import type { Message } from '../core/sample/sample.ts'
import { QuestionError } from './question-error.ts'

/** A value that may be empty; `optional` makes it. */
export interface Optional {
  readonly kind: 'optional'
  readonly value: string | readonly Message[]
}

/** What can stand in a prompt's place for a value. Messages are shown turn by turn. */
export type PromptValue = string | number | boolean | bigint | readonly Message[] | Optional

/**
 * A value that may be empty. Every other one that is empty is flagged `empty_value`, and fails the sample where the row
 * has no question: no text in its prompt, and no `rm_prompt`.
 */
export function optional(value: string | readonly Message[]): Optional {
  if (typeof value !== 'string' && !isMessages(value))
    throw new QuestionError(refusal('optional(...)', value), optional)
  return { kind: 'optional', value }
}

/** Gathers a prompt's literals and values, as many of each as its values turn out to be. */
export class Parts {
  readonly literals: string[] = ['']
  readonly values: string[] = []
  readonly mayBeEmpty: number[] = []

  literal(text: string): void {
    this.literals[this.literals.length - 1] += text
  }

  /** Throws where the value is none; `place` says which, `maker` whose call it was. */
  value(value: unknown, place: string, maker: (...given: never[]) => unknown): void {
    if (typeof value === 'string') this.#add(value, false)
    else if (isSimple(value)) this.#add(String(value), false)
    else if (isMessages(value)) this.#addMessages(value, false)
    else if (isOptional(value)) {
      if (typeof value.value === 'string') this.#add(value.value, true)
      else this.#addMessages(value.value, true)
    } else throw new QuestionError(refusal(place, value), maker)
  }

  #add(value: string, isOptional: boolean): void {
    if (isOptional) this.mayBeEmpty.push(this.values.length)
    this.values.push(value)
    this.literals.push('')
  }

  /** One message is its text. Several have their roles before them, as literals, so that no content can imitate one. */
  #addMessages(messages: readonly Message[], isOptional: boolean): void {
    const [only] = messages
    if (messages.length <= 1 || messages.every(({ content }) => isBlank(content))) {
      this.#add(only?.content ?? '', isOptional)
      return
    }
    for (const [at, { role, content }] of messages.entries()) {
      this.literal(`${at === 0 ? '' : '\n'}[${roleName.test(role) ? role : 'turn'}]\n`)
      this.#add(content, true)
    }
  }
}

const roleName = /^[a-z][a-z_-]{0,31}$/i

const isSimple = (value: unknown): boolean =>
  (typeof value === 'number' && Number.isFinite(value)) ||
  typeof value === 'boolean' ||
  typeof value === 'bigint'

function isMessages(value: unknown): value is readonly Message[] {
  return (
    Array.isArray(value) &&
    value.every(
      (one: Partial<Message> | null | undefined) =>
        typeof one === 'object' && typeof one?.role === 'string' && typeof one.content === 'string',
    )
  )
}

const isOptional = (value: unknown): value is Optional =>
  typeof value === 'object' && (value as Partial<Optional> | null)?.kind === 'optional'

/** What is wrong with a value, and what to write instead; without any of its content. */
function refusal(place: string, value: unknown): string {
  const remedy =
    value === undefined || value === null
      ? 'check the field, or write what the judge shall read in its place'
      : Array.isArray(value)
        ? 'join its texts, or give messages of role and content (lastUserText(sample) is the last question)'
        : 'give a text: one of its fields, or JSON.stringify of it'
  return `${place} is ${kindOf(value)}: ${remedy}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array that is no list of messages'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'undefined') return 'undefined'
  if (typeof value === 'object' && (value as { kind?: unknown }).kind === 'prompt')
    return 'another prompt (write all of it as one)'
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}
