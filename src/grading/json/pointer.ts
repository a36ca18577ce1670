/** JSON Pointers (RFC 6901): where a value stands in JSON. */

import type { Json } from '../../core/sample/sample.ts'

/** The parts of `/a/0/b~1c`, unescaped. */
export type Pointer = readonly string[]

/**
 * The parts of a pointer; null if the text is none. '' is the whole value.
 *
 * @example
 * ```ts
 * import { readPointer, valueAt } from 'reward-gateway/grading'
 *
 * valueAt({ results: [{ score: 1 }] }, readPointer('/results/0/score') ?? []) // 1
 * ```
 */
export function readPointer(text: string): Pointer | null {
  if (text === '') return []
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null
  return text
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const index = /^(?:0|[1-9]\d{0,8})$/

/**
 * The value at a pointer; undefined if there is none. Inherited names such as `constructor` are none.
 *
 * @example
 * ```ts
 * import { valueAt } from 'reward-gateway/grading'
 *
 * valueAt({ a: [1, 2] }, ['a', '1']) // 2
 * ```
 */
export function valueAt(value: Json, pointer: Pointer): Json | undefined {
  let at: Json = value
  for (const part of pointer) {
    if (typeof at !== 'object' || at === null) return undefined
    if (Array.isArray(at) ? !index.test(part) : !Object.hasOwn(at, part)) return undefined
    const next: Json | undefined = (at as Readonly<Record<string, Json>>)[part]
    if (next === undefined) return undefined
    at = next
  }
  return at
}
