/** Finds the program in a response, and the tests in a data set's ground truth. */

import { afterThink } from './tags.ts'

/** A fenced block: its language in lower case ('' if none) and its text. */
interface Fence {
  readonly language: string
  readonly text: string
}

/**
 * Closed fenced blocks by CommonMark: three or more backticks or tildes at the start of a line, closed by at least as many.
 * Linear in the text.
 */
function fencesOf(text: string): Fence[] {
  const found: Fence[] = []
  let open: { readonly mark: string; readonly language: string; readonly from: number } | null = null
  let at = 0
  while (at <= text.length) {
    const end = text.indexOf('\n', at)
    const next = end < 0 ? text.length + 1 : end + 1
    const line = text.slice(at, Math.min(next - 1, at + 200))
    const [, mark = '', info = ''] = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\r]*?)[ \t\r]*$/.exec(line) ?? []
    if (mark !== '') {
      if (open === null) {
        if (!(mark.startsWith('`') && info.includes('`')))
          open = { mark, language: (info.split(/[\s{,]/)[0] ?? '').toLowerCase(), from: next }
      } else if (info === '' && mark[0] === open.mark[0] && mark.length >= open.mark.length) {
        found.push({ language: open.language, text: text.slice(open.from, at) })
        open = null
      }
    }
    at = next
  }
  return found
}

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

/**
 * Splits `assert L == R` into both sides. null: another statement, or more than this comparison. Linear in the text.
 *
 * @example
 * ```ts
 * import { equalityOf } from 'reward-gateway/grading'
 *
 * equalityOf('assert f(1) == [2]') // ['f(1)', '[2]']
 * ```
 */
export function equalityOf(statement: string): readonly [string, string] | null {
  const [, body] = /^\s*assert\b([\s\S]*)$/.exec(statement.trimEnd()) ?? []
  if (body === undefined) return null
  const pieces = topLevel(body)
  if (pieces === null) return null
  const { equals, comma, hasOther } = pieces
  if (hasOther || equals.length !== 1) return null
  const [at = 0] = equals
  const left = body.slice(0, at).trim()
  const right = body.slice(at + 2, comma ?? undefined).trim()
  return left === '' || right === '' ? null : [left, right]
}

interface TopLevel {
  /** Offsets of `==` outside of brackets and texts. */
  readonly equals: readonly number[]
  /** Offset of the comma before the message of an assert. */
  readonly comma: number | null
  /** Another comparison, a Boolean word, a statement's end or a comment. */
  readonly hasOther: boolean
}

const otherWords = /^(?:and|or|not|in|is|if|else|lambda|for|await|yield)$/

/** null: brackets or quotes do not match. */
function topLevel(text: string): TopLevel | null {
  const equals: number[] = []
  let depth = 0
  let comma: number | null = null
  let hasOther = false
  for (const { at, token } of tokensOf(text)) {
    if (token === openText) return null
    if ('([{'.includes(token)) depth++
    else if (')]}'.includes(token)) {
      depth--
      if (depth < 0) return null
    } else if (depth > 0 || comma !== null) {
      if (token === '#' || (depth === 0 && ';\n'.includes(token))) hasOther = true
    } else if (token === ',') comma = at
    else if (token === '==') equals.push(at)
    else if ('<>!=;#\n'.includes(token) || otherWords.test(token)) hasOther = true
  }
  return depth === 0 ? { equals, comma, hasOther } : null
}

/**
 * Whether a Python expression compares something, as `(f(1) == 2)` does: the objects of a program decide such a comparison where it runs. What
 * stands in its texts does not count.
 *
 * @example
 * ```ts
 * import { hasComparison } from 'reward-gateway/grading'
 *
 * hasComparison('all(f(x) == x for x in [1, 2])') // true
 * ```
 */
export function hasComparison(expression: string): boolean {
  let isLoop = false
  for (const { token } of tokensOf(expression)) {
    if (token === openText || comparisons.test(token) || (token === 'in' && !isLoop)) return true
    if (token === 'for' || token === 'in') isLoop = token === 'for'
  }
  return false
}

const comparisons = /^(?:==|[<>!]|not|is|and|or)$/

/** The token of a text that does not end; the last one. */
const openText = ''

/** Words, `==` and single signs of Python, with their offsets. What stands in its texts is left out. */
function* tokensOf(text: string): Generator<{ readonly at: number; readonly token: string }> {
  for (let at = 0; at < text.length; at++) {
    const start = at
    const sign = text[at] as string
    if (sign === '"' || sign === "'") {
      const end = endOfText(text, at)
      if (end === null) return yield { at, token: openText }
      at = end
      continue
    }
    if (sign === '=' && text[at + 1] === '=') at++
    else if (/[A-Za-z_]/.test(sign)) while (at + 1 < text.length && /\w/.test(text[at + 1] as string)) at++
    yield { at: start, token: text.slice(start, at + 1) }
  }
}

/** The offset of the quote that closes the text which begins at `at`. */
function endOfText(text: string, at: number): number | null {
  const quote = text[at] as string
  const mark = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
  for (let from = at + mark.length; from < text.length; from++) {
    if (text[from] === '\\') from++
    else if (text.startsWith(mark, from)) return from + mark.length - 1
    else if (text[from] === '\n' && mark.length === 1) return null
  }
  return null
}
