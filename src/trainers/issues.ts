import type { z } from 'zod'
import { didYouMean } from '../core/nearest-name.ts'

/** One mistake that a schema found. */
export type Issue = z.core.$ZodIssue

/** Of a union's alternatives the one that the value was meant to be: the one whose type it has. */
export function innermost(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((inner) =>
    inner.every(({ code, path }) => path.length > 0 || !otherType.has(code)),
  )
  if (!meant) return [issue]
  return meant.flatMap((inner) => innermost({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** What an alternative says of a value of another type. */
const otherType: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** The field of a mistake, and what was expected there and what came, without the text that came. */
export function fieldProblem(
  issue: Issue,
  value: unknown,
  fields: readonly string[],
): { readonly path: string; readonly message: string } {
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys
    const shown = JSON.stringify(key.slice(0, 100))
    return {
      path,
      message: `there is no field ${shown}${issue.path.length === 0 ? didYouMean(key, fields) : ''}`,
    }
  }
  const expected =
    issue.code === 'invalid_type'
      ? wordOf(issue.expected)
      : issue.code === 'invalid_union'
        ? unionWords(issue)
        : null
  if (expected === null) return { path, message: sizeWords(issue) ?? issue.message }
  const found = issue.path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  return {
    path,
    message:
      found === undefined ? `is missing; expected ${expected}` : `expected ${expected}, got ${kindOf(found)}`,
  }
}

/** What a union says of itself, else the kinds that it takes; null: neither is known. */
export function unionWords({ message, errors }: z.core.$ZodIssueInvalidUnion): string | null {
  if (message !== 'Invalid input') return message
  const words = errors.flatMap(([first]) => (first?.code === 'invalid_type' ? wordOf(first.expected) : []))
  return words.length === 0 ? null : [...new Set(words)].join(' or ')
}

const counted: Readonly<Record<string, string>> = { array: 'items', string: 'characters' }

/** What a size that is out of bounds must be; null: the issue is of another kind, or has words of its own. */
function sizeWords(issue: z.core.$ZodIssue): string | null {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return null
  if (!/^Too (small|big)/.test(issue.message)) return null
  const [bound, side] = issue.code === 'too_small' ? [issue.minimum, 'at least'] : [issue.maximum, 'at most']
  if (issue.origin === 'array' && issue.code === 'too_small' && bound === 1)
    return 'is empty; give at least one'
  const of = counted[issue.origin]
  if (of !== undefined) return `must have ${side} ${bound} ${of}`
  return issue.inclusive === false
    ? `must be ${issue.code === 'too_small' ? 'above' : 'below'} ${bound}`
    : `must be ${side} ${bound}`
}

const words: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
}

/** A kind of value in plain words. */
export const wordOf = (expected: string): string => words[expected] ?? expected

/** The kind of a value in plain words. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'boolean' ? String(value) : wordOf(typeof value)
}
