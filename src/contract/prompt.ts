/** A judge's question: the author's literals around untrusted values. `literals` has one entry more than `values`. */
export interface Prompt {
  readonly kind: 'prompt'
  readonly literals: readonly string[]
  readonly values: readonly string[]
}

/** Messages of a judge's conversation. A plain string is the author's own text. */
export interface ChatPrompt {
  readonly kind: 'chat'
  readonly messages: readonly { readonly role: string; readonly content: Prompt | string }[]
}

/** Template tag: literals are trusted, every interpolated value is fenced and neutralised before a judge sees it. */
export function prompt(literals: TemplateStringsArray, ...values: readonly (string | number)[]): Prompt {
  return { kind: 'prompt', literals: [...literals], values: values.map(String) }
}

/** A conversation; use `prompt` for every content that holds text of a sample. */
export function chat(...messages: ChatPrompt['messages']): ChatPrompt {
  return { kind: 'chat', messages }
}

const placeholder = /\{([A-Za-z_][A-Za-z0-9_]*)\}/

/**
 * Fills `{name}` of a template from a config or a row, in one pass; names without a value stay text.
 * `trusted` texts, the author's own, become part of the literals.
 */
export function fill(
  template: string,
  values: Readonly<Record<string, string>>,
  trusted: Readonly<Record<string, string>> = {},
): Prompt {
  const { around, names } = slotsOf(template)
  if (names.every((name) => Object.hasOwn(values, name) && !Object.hasOwn(trusted, name)))
    return { kind: 'prompt', literals: around, values: names.map((name) => values[name] ?? '') }
  const literals: string[] = []
  const filled: string[] = []
  let literal = around[0] ?? ''
  for (const [at, name] of names.entries()) {
    const after = around[at + 1] ?? ''
    if (Object.hasOwn(trusted, name)) literal += `${trusted[name] ?? ''}${after}`
    else if (!Object.hasOwn(values, name)) literal += `{${name}}${after}`
    else {
      literals.push(literal)
      filled.push(values[name] ?? '')
      literal = after
    }
  }
  literals.push(literal)
  return { kind: 'prompt', literals, values: filled }
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
