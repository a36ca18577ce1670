import { hash } from 'node:crypto'
import type { Json } from '../../../core/sample/sample.ts'

/** How much the record and the inspector keep of prompts, responses, answers and anything derived from them. */
export type TextPolicy = 'full' | 'hash' | 'none'

/** A text as the policy keeps it. */
export type RecordedText = string | { readonly sha256: string; readonly chars: number } | null

/** Applies a text policy. */
export interface TextKeeper {
  readonly policy: TextPolicy
  text(text: string): RecordedText
  /** Like `text`; caches the last prompt, because the rows of a group share one. */
  prompt(text: string): RecordedText
  /** JSON that may contain text of a sample; hashed as a whole. */
  json(value: Json | unknown): unknown
  /** Keeps numbers and booleans; applies the policy to everything that may contain text of a sample. */
  details(details: Readonly<Record<string, Json>> | undefined): Readonly<Record<string, unknown>>
}

/** The functions that apply a policy. */
export function textKeeper(policy: TextPolicy): TextKeeper {
  const text = keepers[policy]
  const json = (value: unknown): unknown => {
    if (value === null || value === undefined) return null
    if (policy === 'full') return value
    return text(typeof value === 'string' ? value : JSON.stringify(value))
  }
  let last: readonly [text: string, kept: RecordedText] = ['', text('')]
  return {
    policy,
    text,
    prompt(prompt) {
      if (prompt !== last[0]) last = [prompt, text(prompt)]
      return last[1]
    },
    json,
    details(details) {
      if (!details) return {}
      if (policy === 'full') return details
      return Object.fromEntries(
        Object.entries(details).map(([name, value]) => [
          name,
          typeof value === 'number' || typeof value === 'boolean' ? value : json(value),
        ]),
      )
    },
  }
}

const keepers: Readonly<Record<TextPolicy, (text: string) => RecordedText>> = {
  full: (text) => text,
  hash: (text) => ({ sha256: hash('sha256', text), chars: text.length }),
  none: () => null,
}

/** The text, or its first characters with a note of how many more there were. */
export function cutText(text: string, longest: number): string {
  const more = text.length - longest
  if (more <= 0) return text
  // Half of a character is no text for readers of JSON.
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}\n[${more} more characters]`
}
