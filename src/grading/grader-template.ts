import { afterThink } from './tags.ts'

interface Graded {
  readonly response: string
  readonly groundTruth: unknown
  readonly extraInfo: Readonly<Record<string, unknown>>
}

/** The values of `{{ item.x }}` and `{{ sample.x }}` in an OpenAI grader. */
interface GraderValues {
  readonly item: Readonly<Record<string, unknown>>
  /** The response after its thinking. */
  readonly outputText: string
}

/**
 * A filled template, shaped like a prompt: its own texts around the inserted values, with one more text than
 * values.
 */
export interface FilledTemplate {
  readonly kind: 'prompt'
  readonly literals: readonly string[]
  readonly values: readonly string[]
}

/** Why a template cannot be filled: the row lacks a field, or the response is not the required JSON. */
export type Unfilled = { readonly lacks: string } | { readonly unreadable: string }

const placeholder = /\{\{([^{}]{0,500})\}\}/g
const step = /\.([A-Za-z_][\w-]*)|\[(\d{1,6})\]/y
const namespaces = ['item', 'sample'] as const
const sampleFields = ['output_text', 'output_json']

type Reference = { readonly namespace: (typeof namespaces)[number]; readonly path: readonly string[] }

/** Inserted values are not scanned for placeholders again. */
function fillGrader(template: string, values: GraderValues): FilledTemplate | Unfilled {
  const filled: string[] = []
  const literals: string[] = []
  let end = 0
  for (const match of template.matchAll(placeholder)) {
    const reference = readReference(match[1] ?? '')
    if ('mistake' in reference) return { lacks: reference.mistake }
    const found = valueAt(reference, values)
    if ('unreadable' in found || 'lacks' in found) return found
    literals.push(template.slice(end, match.index))
    filled.push(found.value)
    end = match.index + match[0].length
  }
  return { kind: 'prompt', literals: [...literals, template.slice(end)], values: filled }
}

/**
 * Fills all templates from a sample. `item` is its extra_info plus `ground_truth`; the output is the text
 * after the thinking.
 */
export function fillGraders(
  { response, groundTruth, extraInfo }: Graded,
  templates: readonly string[],
): readonly FilledTemplate[] | Unfilled {
  const answer = afterThink(response)
  if (answer === null) return { unreadable: 'thinking_unclosed' }
  const values = { item: { ground_truth: groundTruth, ...extraInfo }, outputText: answer.trim() }
  const filled = templates.map((template) => fillGrader(template, values))
  // A missing field comes first, because it is not the answer's fault.
  const lacking = filled.find((one) => 'lacks' in one) ?? filled.find((one) => 'unreadable' in one)
  return lacking ?? filled.filter((one) => 'literals' in one)
}

export const graderText = ({ literals, values }: FilledTemplate): string =>
  literals.map((literal, index) => literal + (values[index] ?? '')).join('')

/** Whether every placeholder of a template has a known name. */
export const isGraderTemplate = (text: string): boolean =>
  Array.from(text.matchAll(placeholder)).every(([, inside = '']) => !('mistake' in readReference(inside)))

function readReference(inside: string): Reference | { readonly mistake: string } {
  const text = inside.trim()
  const namespace = namespaces.find((name) => text === name || new RegExp(`^${name}[.[]`).test(text))
  if (namespace === undefined) return { mistake: 'only item.<field> and sample.<field> are known' }
  const path: string[] = []
  let at = namespace.length
  while (at < text.length) {
    step.lastIndex = at
    const found = step.exec(text)
    if (!found) return { mistake: `cannot be read after '${text.slice(0, at)}'` }
    path.push(found[1] ?? found[2] ?? '')
    at += found[0].length
  }
  if (path.length === 0) return { mistake: `name a field of ${namespace}` }
  if (namespace === 'sample' && !sampleFields.includes(path[0] ?? ''))
    return { mistake: `of a sample only ${sampleFields.join(' and ')} are known` }
  return { namespace, path }
}

function valueAt(
  { namespace, path }: Reference,
  { item, outputText }: GraderValues,
): { value: string } | Unfilled {
  const name = `${namespace}.${path.join('.')}`
  if (namespace === 'item') {
    const value = within(item, path)
    return value === undefined
      ? { lacks: `${name} is not in the row's extra_info` }
      : { value: spelled(value) }
  }
  const [field, ...rest] = path
  if (field === 'output_text') return { value: outputText }
  try {
    const value = within(JSON.parse(outputText), rest)
    return value === undefined ? { unreadable: `the response has no ${name}` } : { value: spelled(value) }
  } catch {
    return { unreadable: 'the response is not JSON' }
  }
}

const spelled = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const within = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? Reflect.get(inner, key)
        : undefined,
    value,
  )
