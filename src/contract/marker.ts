import type { Json } from '../core/sample/json.ts'
import type { AskName, Asks } from './asks.ts'
import type { ChatPrompt, Prompt } from './prompt.ts'

/** A word that no author writes: where it comes out of rm_preprocess, a response could speak. */
export const marker = 'marker7f3a9c'

/** In every text of a JSON response, so that a function which reads one of them meets it; else at the end. */
export function withMarker(response: string): string {
  try {
    const value: unknown = JSON.parse(response)
    if (typeof value === 'object' && value !== null) return JSON.stringify(markedJson(value as Json))
  } catch {
    // Not JSON: plain text.
  }
  return `${response} ${marker}`
}

function markedJson(value: Json): Json {
  if (typeof value === 'string') return value === '' ? value : `${value} ${marker}`
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(markedJson)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markedJson(inner)]))
}

/** A question's texts: the author's own, and what came from a sample. */
export interface QuestionTexts {
  readonly trusted: readonly string[]
  readonly untrusted: readonly string[]
}

/** Texts of embeddings count as a sample's. */
export function questionTexts(question: Asks[AskName]['input']): QuestionTexts {
  if (typeof question === 'string') return { trusted: [question], untrusted: [] }
  if (!('kind' in question)) {
    if (!('question' in question)) return { trusted: [], untrusted: question }
    return questionTexts(question.question)
  }
  const parts = question.kind === 'prompt' ? [question] : contentsOf(question)
  return {
    trusted: parts.flatMap((part) => (typeof part === 'string' ? [part] : part.literals)),
    untrusted: parts.flatMap((part) => (typeof part === 'string' ? [] : part.values)),
  }
}

const contentsOf = ({ messages }: ChatPrompt): readonly (Prompt | string)[] =>
  messages.map(({ content }) => content)
