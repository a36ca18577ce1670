import type { z } from 'zod'
import { didYouMean } from '../core/nearest-name.ts'

/** One mistake that a schema found. */
export type Issue = z.core.$ZodIssue

/** The issues of the union's alternative that has the value's type, which is the one that was meant. */
export function innermost(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((inner) =>
    inner.every(({ code, path }) => path.length > 0 || !otherType.has(code)),
  )
  if (!meant) return [issue]
  return meant.flatMap((inner) => innermost({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** The codes with which an alternative rejects a value of another type. */
const otherType: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** The place of a mistake, and a message with what was expected and what kind of value came. Never quotes the value. */
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
      message: `there is no field ${shown}${issue.path.length === 0 ? remedy(key, fields) : ''}`,
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

/** What data sets and trainers call the fields of a sample. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ...['answer', 'label', 'solution', 'reference', 'target', 'expected_answer'].map(
    (name) => [name, 'ground_truth'] as const,
  ),
  ...['completion', 'output', 'output_text', 'generation', 'solution_str'].map(
    (name) => [name, 'response'] as const,
  ),
  ...['question', 'query', 'input', 'messages'].map((name) => [name, 'prompt'] as const),
  ...['metadata', 'extra'].map((name) => [name, 'extra_info'] as const),
])
const rubricColumns: ReadonlySet<string> = new Set(['rubrics', 'rubric'])
const imageColumns: ReadonlySet<string> = new Set(['image', 'images', 'multi_modal_data'])

function remedy(key: string, fields: readonly string[]): string {
  if (imageColumns.has(key) && fields.includes('prompt'))
    return '; an image is a part of a message of the prompt: {"type": "image", "image": "data:image/png;base64,..."}'
  if (rubricColumns.has(key) && fields.includes('extra_info'))
    return '; send the rubric as ground_truth, or under this name in extra_info (docs/rubrics.md)'
  const known = otherNames.get(key)
  return known !== undefined && fields.includes(known)
    ? `; did you mean '${known}'?`
    : didYouMean(key, fields)
}

/** The union's own message, or the kinds of values that it accepts. null: neither is known. */
export function unionWords({ message, errors }: z.core.$ZodIssueInvalidUnion): string | null {
  if (message !== 'Invalid input') return message
  const words = errors.flatMap(([first]) => (first?.code === 'invalid_type' ? wordOf(first.expected) : []))
  return words.length === 0 ? null : [...new Set(words)].join(' or ')
}

const counted: Readonly<Record<string, string>> = { array: 'items', string: 'characters' }

/** The message for a size out of bounds. null: another issue, or one with a message of its own. */
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

/** A type in plain words. */
export const wordOf = (expected: string): string => words[expected] ?? expected

/** A value's type in plain words. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'boolean' ? String(value) : wordOf(typeof value)
}
