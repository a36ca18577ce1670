import { hash } from 'node:crypto'
import type { Json } from '../../../core/sample/sample.ts'

/** What the record holds of prompts, responses, answers and everything made of them. */
export type TextPolicy = 'full' | 'hash' | 'none'

/** A text as the record holds it. */
export type RecordedText = string | { readonly sha256: string; readonly chars: number } | null

/** Applies the policy. */
export interface TextKeeper {
  text(text: string): RecordedText
  /** The same; remembers the last one, since the answers to one prompt come one after the other. */
  prompt(text: string): RecordedText
  /** Any JSON that holds text of a sample; hashed as its JSON. */
  json(value: Json | unknown): unknown
  /** Numbers and booleans stay; what could hold text of a sample does not. */
  details(details: Readonly<Record<string, Json>> | undefined): Readonly<Record<string, unknown>>
}

/** What may stay of texts and values under this policy. */
export function textKeeper(policy: TextPolicy): TextKeeper {
  const text = keepers[policy]
  const json = (value: unknown): unknown => {
    if (value === null || value === undefined) return null
    if (policy === 'full') return value
    return text(typeof value === 'string' ? value : JSON.stringify(value))
  }
  let last: readonly [text: string, kept: RecordedText] = ['', text('')]
  return {
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
