import type { ZodType } from 'zod'
import type { Json } from '../../../core/sample/sample.ts'
import { type JsonValue, readJson } from '../../../grading/json/json.ts'
import type { CallResult } from '../function-host.ts'

/** What the text of a ground truth says, as the schema parsed it, or why that is not the truth either. */
export type TextTruth = { readonly truth: unknown } | { readonly problem: string }

const deepest = 128

/**
 * Trainers whose columns are texts send an object as its JSON text. This is asked where the schema refused what was sent:
 * the truth is then what the text says, if the schema takes that. Nothing is rounded: a text with NaN, an integer beyond
 * 2^53 or a key twice is not read. null: no text, or no JSON. Linear in the text. Throws what the schema throws.
 */
export function textTruth(schema: ZodType, sent: Json): TextTruth | null {
  const reading = typeof sent === 'string' ? readJson(sent, deepest) : null
  if (!reading) return null
  const problem = reading.repeatedKeys ? 'it names a key twice' : inexact(reading.value)
  if (problem !== null) return { problem }
  const said = schema.safeParse(plain(reading.value))
  if (said.success) return { truth: said.data }
  const [issue] = said.error.issues
  return { problem: [...(issue?.path ?? []), issue?.message].map(String).join(': ') }
}

/** Why no double carries the value as it is written; null: one does. */
function inexact(value: JsonValue): string | null {
  if (typeof value === 'bigint') return 'it holds an integer beyond 2^53, which would be rounded'
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : 'it holds NaN, or a number that is too large'
  if (typeof value !== 'object' || value === null) return null
  for (const item of value.values()) {
    const reason = inexact(item)
    if (reason !== null) return reason
  }
  return null
}

function plain(value: JsonValue): unknown {
  if (value instanceof Map) return Object.fromEntries(Array.from(value, ([key, item]) => [key, plain(item)]))
  return Array.isArray(value) ? value.map(plain) : value
}

/** The flag of a score whose row's truth is what its text said. */
const flag = 'truth_from_text'

/** Flags the scores of those rows; a verdict about several rows is about each of them. */
export function flagged(result: CallResult, fromText: readonly number[], rows: number): CallResult {
  if (result.status !== 'verdicts' || fromText.length === 0) return result
  const { verdicts } = result
  const meant = verdicts.length === rows ? new Set(fromText) : null
  return {
    status: 'verdicts',
    verdicts: verdicts.map((score, index) =>
      score && (meant?.has(index) ?? true) ? { ...score, flags: [...(score.flags ?? []), flag] } : score,
    ),
  }
}
