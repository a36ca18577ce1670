import type { Json } from '../../core/sample/sample.ts'

/** False where a JSON Schema takes no text at all; true where that cannot be told. */
export function takesText(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return true
  const { type, anyOf, oneOf, allOf } = schema as Readonly<Record<string, Json | undefined>>
  const types = Array.isArray(type) ? type : [type]
  if (type !== undefined && !types.includes('string')) return false
  for (const choices of [anyOf, oneOf]) if (Array.isArray(choices) && !choices.some(takesText)) return false
  return !Array.isArray(allOf) || allOf.every(takesText)
}
