import { isWordless } from '../core/sample/blank.ts'
import { BadSample } from './bad-sample.ts'
import { Parts, type PromptValue } from './prompt-value.ts'
import { QuestionError } from './question-error.ts'

/** A judge's question: the author's literals around untrusted values. `literals` has one entry more than `values`. */
export interface Prompt {
  readonly kind: 'prompt'
  readonly literals: readonly string[]
  readonly values: readonly string[]
  /** Which values may be empty, by their place; absent: none. */
  readonly mayBeEmpty?: readonly number[]
  /** How many numbers a process reward model has to answer it with; absent: any. */
  readonly steps?: number
}

/** Messages of a judge's conversation. A plain string is the author's own text. */
export interface ChatPrompt {
  readonly kind: 'chat'
  readonly messages: readonly { readonly role: string; readonly content: Prompt | string }[]
}

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * Template tag: literals are trusted, every interpolated value is fenced and neutralised before a judge sees it. Messages
 * are shown turn by turn; what is no text throws, so that no judge is asked about `[object Object]` or `undefined`.
 */
export function prompt(literals: TemplateStringsArray, ...values: readonly PromptValue[]): Prompt {
  if (values.every(isText)) return { kind: 'prompt', literals: [...literals], values }
  const parts = new Parts()
  for (const [at, literal] of literals.entries()) {
    parts.literal(literal)
    if (at < values.length) parts.value(values[at], `value ${at + 1} of prompt\`...\``, prompt)
  }
  return promptOf(parts)
}

const promptOf = ({ literals, values, mayBeEmpty }: Parts): Prompt =>
  mayBeEmpty.length > 0
    ? { kind: 'prompt', literals, values, mayBeEmpty }
    : { kind: 'prompt', literals, values }

/** The places of values that are empty and may not be. */
export function emptyPlaces({ values, mayBeEmpty }: Prompt): readonly number[] {
  const places: number[] = []
  for (const [at, value] of values.entries())
    if (isWordless(value) && !mayBeEmpty?.includes(at)) places.push(at)
  return places
}

/** A conversation; use `prompt` for every content that holds text of a sample. */
export function chat(...messages: ChatPrompt['messages']): ChatPrompt {
  for (const [at, message] of messages.entries()) {
    const { role, content } = (message ?? {}) as Partial<ChatPrompt['messages'][number]>
    const place = `message ${at + 1} of chat(...)`
    if (!isText(role)) throw new QuestionError(`${place} has no role: give { role, content } for each`, chat)
    if (!isText(content) && content?.kind !== 'prompt')
      throw new QuestionError(`the content of ${place} is neither a text nor a prompt\`...\``, chat)
  }
  return { kind: 'chat', messages }
}

/**
 * A response's steps, each with the mark behind it at which a process reward model gives its number: `<extra_0>` of
 * Qwen's, ` ки\n` of Math-Shepherd's. A mark that stands in a text itself is broken by the guard. An answer of another
 * number of values than there are steps fails the sample.
 */
export function steps(texts: readonly string[], mark: string): Prompt {
  if (!Array.isArray(texts) || !texts.every(isText))
    throw new QuestionError('the first argument of steps(...) is no list of texts', steps)
  if (!isText(mark) || mark === '')
    throw new QuestionError(
      'the second argument of steps(...) is no mark: give the text after each step',
      steps,
    )
  if (texts.length === 0) throw new BadSample('there is no step to ask about')
  return {
    kind: 'prompt',
    literals: ['', ...texts.map(() => mark)],
    values: texts,
    mayBeEmpty: texts.map((_text, at) => at),
    steps: texts.length,
  }
}

const placeholder = /\{([A-Za-z_][A-Za-z0-9_]*)\}/

/**
 * Fills `{name}` of a template from a config or a row, in one pass; names without a value stay text.
 * `trusted` texts, the author's own, become part of the literals.
 */
export function fill(
  template: string,
  values: Readonly<Record<string, PromptValue>>,
  trusted: Readonly<Record<string, string>> = {},
): Prompt {
  if (!isText(template)) throw new QuestionError('the template of fill(...) is no text', fill)
  const { around, names } = slotsOf(template)
  if (
    names.every(
      (name) => Object.hasOwn(values, name) && isText(values[name]) && !Object.hasOwn(trusted, name),
    )
  )
    return { kind: 'prompt', literals: around, values: names.map((name) => values[name] as string) }
  const parts = new Parts()
  parts.literal(around[0] ?? '')
  for (const [at, name] of names.entries()) {
    const place = `{${name}} of fill(...)`
    if (Object.hasOwn(trusted, name)) {
      const own: unknown = trusted[name]
      if (!isText(own)) throw new QuestionError(`${place} is trusted and no text`, fill)
      parts.literal(own)
    } else if (Object.hasOwn(values, name)) parts.value(values[name], place, fill)
    else parts.literal(`{${name}}`)
    parts.literal(around[at + 1] ?? '')
  }
  return promptOf(parts)
}

/** A template's placeholders, and the texts around them: one more. */
interface Slots {
  readonly around: readonly string[]
  readonly names: readonly string[]
}

const slots = new Map<string, Slots>()
const slotsKept = 256

/** A config's template fills thousands of questions: it is taken apart once. */
function slotsOf(template: string): Slots {
  const known = slots.get(template)
  if (known) return known
  // Every second piece is what the group took: a name.
  const pieces = template.split(placeholder)
  const made = {
    around: pieces.filter((_, at) => at % 2 === 0),
    names: pieces.filter((_, at) => at % 2 === 1),
  }
  if (slots.size >= slotsKept) slots.clear()
  slots.set(template, made)
  return made
}
