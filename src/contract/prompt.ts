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

const placeholder = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * Fills `{name}` of a template from a config or a row, in one pass; names without a value stay text.
 * `trusted` texts, the author's own, become part of the literals.
 */
export function fill(
  template: string,
  values: Readonly<Record<string, string>>,
  trusted: Readonly<Record<string, string>> = {},
): Prompt {
  const literals: string[] = []
  const filled: string[] = []
  let literal = ''
  let end = 0
  for (const match of template.matchAll(placeholder)) {
    const [whole, name = ''] = match
    const own = Object.hasOwn(trusted, name)
    if (!own && !Object.hasOwn(values, name)) continue
    literal += template.slice(end, match.index)
    end = match.index + whole.length
    if (own) literal += trusted[name] ?? ''
    else {
      literals.push(literal)
      filled.push(values[name] ?? '')
      literal = ''
    }
  }
  literals.push(literal + template.slice(end))
  return { kind: 'prompt', literals, values: filled }
}
