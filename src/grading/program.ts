/** Finds the program in a response. */

import { fencesOf } from './fences.ts'
import { afterThink } from './tags.ts'

/**
 * The text of the last closed fence after the response's thinking, whatever its language. null: there is none.
 *
 * @example
 * ```ts
 * import { lastFence } from 'reward-gateway/grading'
 *
 * lastFence(['The proof:', '```lean4', 'by simp', '```'].join('\n')) // 'by simp\n'
 * ```
 */
export function lastFence(response: string): string | null {
  const text = afterThink(response)
  return text === null ? null : (fencesOf(text).at(-1)?.text ?? null)
}

const languages = {
  python: new Set(['', 'python', 'python3', 'py', 'py3']),
  cpp: new Set(['', 'cpp', 'c++', 'cc', 'cxx', 'cpp17', 'c++17', 'cpp20', 'c++20']),
  javascript: new Set(['', 'javascript', 'js', 'node', 'nodejs', 'mjs', 'cjs']),
}

/** Which fence holds the program. `only`: there must be one. `none`: the whole response is the program. */
export const programFences = ['last', 'first', 'only', 'none'] as const

/**
 * The program of a response: a closed fence after its thinking whose language is the wanted one or empty. `bare`: a
 * response without any fence is a program as a whole. null: there is none.
 *
 * @example
 * ```ts
 * import { programIn } from 'reward-gateway/grading'
 *
 * programIn(['Here:', '```python', 'print(1)', '```'].join('\n'), 'python') // 'print(1)\n'
 * ```
 */
export function programIn(
  response: string,
  language: keyof typeof languages,
  {
    fence = 'last',
    bare = false,
  }: { readonly fence?: (typeof programFences)[number]; readonly bare?: boolean } = {},
): string | null {
  if (fence === 'none') return response.trim() === '' ? null : response
  const text = afterThink(response)
  if (text === null) return null
  const all = fencesOf(text)
  if (all.length === 0 && !text.includes('```')) return bare && text.trim() !== '' ? text : null
  const fitting = all.filter((one) => languages[language].has(one.language))
  if (fence === 'only' && fitting.length !== 1) return null
  return (fence === 'first' ? fitting[0] : fitting.at(-1))?.text ?? null
}
