/** Reads what Lean's REPL says of a proof, as servers of Kimina's kind pass it on. */

import type { Json } from '../core/sample/sample.ts'

const severities: readonly unknown[] = ['trace', 'info', 'warning', 'error']

/** Lean warns of every use of the axiom `sorryAx`; the list `sorries` has only those that are written `sorry`. */
const usesSorry = /^declaration uses\W{1,3}sorry/

/**
 * Whether Lean accepted a text without an error and without a gap in its proofs. null: it says neither, as an error of the
 * REPL does. Linear in the reply.
 *
 * @example
 * ```ts
 * import { leanAccepts } from 'reward-gateway/grading'
 *
 * leanAccepts({ env: 0, messages: [{ severity: 'error', data: 'unsolved goals' }] }) // false
 * ```
 */
export function leanAccepts(response: Json): boolean | null {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return null
  const { message, messages, sorries } = response as Readonly<Record<string, Json | undefined>>
  if (message !== undefined && message !== null) return null
  const gaps = listOf(sorries)
  const said = listOf(messages)
  if (gaps === null || said === null) return null
  let isAccepted = gaps.length === 0
  for (const one of said) {
    if (typeof one !== 'object' || one === null) return null
    const { severity, data } = one as Readonly<Record<string, Json>>
    if (!severities.includes(severity) || typeof data !== 'string') return null
    if (severity === 'error' || usesSorry.test(data)) isAccepted = false
  }
  return isAccepted
}

function listOf(value: Json | undefined): readonly Json[] | null {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? (value as readonly Json[]) : null
}
