import { badRequest } from './refusal.ts'

/** A text that matches a whole regex: the first matching candidate, or else one built from the pattern. */
export function regexReply(
  pattern: string,
  candidates: readonly string[],
  choose: (labels: readonly string[]) => string,
): string {
  const whole = compiled(pattern)
  return candidates.find((text) => whole?.test(text)) ?? new Builder(pattern, choose).build()
}

/** A matcher of the whole pattern, or null if it is not a regex. Escapes of other dialects are accepted. */
function compiled(pattern: string): RegExp | null {
  for (const flags of ['su', 's']) {
    try {
      return new RegExp(`^(?:${pattern})$`, flags)
    } catch {}
  }
  return null
}

/** Walks a pattern with the fewest repeats and takes the branch that `choose` prefers. */
class Builder {
  readonly #pattern: string
  readonly #choose: (labels: readonly string[]) => string
  #at = 0

  constructor(pattern: string, choose: (labels: readonly string[]) => string) {
    this.#pattern = pattern
    this.#choose = choose
  }

  build(): string {
    return this.#branches()
  }

  #branches(): string {
    const branches = [this.#sequence()]
    while (this.#pattern[this.#at] === '|') {
      this.#at += 1
      branches.push(this.#sequence())
    }
    return branches.length === 1 ? (branches[0] ?? '') : this.#choose(branches)
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at] ?? '')) {
      const atom = this.#atom()
      text += atom.repeat(this.#repeats())
    }
    return text
  }

  #atom(): string {
    const sign = this.#pattern[this.#at++] ?? ''
    if (sign === '(') return this.#group()
    if (sign === '[') return this.#class()
    if (sign === '\\') return escaped(this.#pattern[this.#at++] ?? '')
    if (sign === '^' || sign === '$') return ''
    return sign === '.' ? 'a' : sign
  }

  #group(): string {
    const prefix = /^\?(?::|<[A-Za-z]\w*>)/u.exec(this.#pattern.slice(this.#at, this.#at + 60))?.[0] ?? ''
    this.#at += prefix.length
    const text = this.#branches()
    this.#at += 1
    return text
  }

  /** Single characters of a class are labels to choose from. A range stands for its two ends. */
  #class(): string {
    const members: string[] = []
    const isNegated = this.#pattern[this.#at] === '^'
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']') {
      const sign = this.#pattern[this.#at++] ?? ''
      members.push(sign === '\\' ? escaped(this.#pattern[this.#at++] ?? '') : sign)
    }
    this.#at += 1
    if (isNegated) return ['a', '0', ' ', '-'].find((sign) => !members.includes(sign)) ?? '~'
    const ends = members.filter((sign, index) => sign !== '-' || index === 0 || index === members.length - 1)
    return ends.length === 1 ? (ends[0] ?? '') : this.#choose(ends)
  }

  #repeats(): number {
    const rest = this.#pattern.slice(this.#at, this.#at + 24)
    const quantifier = /^(?:[*+?]|\{(\d{1,6})(?:,\d{0,6})?\})[?+]?/u.exec(rest)
    if (!quantifier) return 1
    this.#at += quantifier[0].length
    if (quantifier[1] !== undefined) return Math.min(Number(quantifier[1]), 1000)
    return quantifier[0].startsWith('+') ? 1 : 0
  }
}

function escaped(sign: string): string {
  if (sign === 'd') return '0'
  if (sign === 'w') return 'a'
  if (sign === 's') return ' '
  if (sign === 'n') return '\n'
  if (sign === 't') return '\t'
  return 'bBAzZ'.includes(sign) ? '' : sign
}

/** Lowest and highest score. */
export type Scale = readonly [low: number, high: number]

/** The form in which a judge must give its verdict. */
export type ReplyForm =
  | { readonly kind: 'choice'; readonly labels: readonly string[] }
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'schema'; readonly schema: unknown }
  | { readonly kind: 'json'; readonly keys: readonly string[]; readonly scale: Scale }
  | { readonly kind: 'rating'; readonly scale: Scale }
  | { readonly kind: 'pair' }
  | { readonly kind: 'score'; readonly scale: Scale }
  | { readonly kind: 'words'; readonly yes: string; readonly no: string }
  | {
      readonly kind: 'letters'
      readonly labels: readonly string[]
      readonly names: readonly string[]
      /** What is asked, without its options. */
      readonly question: string
    }

/**
 * A request's structured output (vLLM, OpenAI, the older guided_* names, SGLang's `regex`), or null. Throws
 * 400 for an invalid one.
 */
export function structuredForm(body: Readonly<Record<string, unknown>>): ReplyForm | null {
  const outputs = asObject(body.structured_outputs)
  const choice = outputs?.choice ?? body.guided_choice
  if (Array.isArray(choice) && choice.length > 0) return { kind: 'choice', labels: choice.map(String) }
  const pattern = outputs?.regex ?? body.guided_regex ?? body.regex
  if (typeof pattern === 'string') return { kind: 'regex', pattern: checked(pattern) }
  const schema = outputs?.json ?? body.guided_json
  if (schema !== undefined) return schemaForm(schema)
  const format = asObject(body.response_format)
  if (format?.type === 'json_schema') return schemaForm(asObject(format.json_schema)?.schema)
  const isJson = format?.type === 'json_object' || outputs?.json_object === true
  return isJson ? { kind: 'json', keys: ['score', 'reason'], scale: [0, 1] } : null
}

function schemaForm(schema: unknown): ReplyForm {
  if (typeof schema !== 'string') return { kind: 'schema', schema }
  try {
    return { kind: 'schema', schema: JSON.parse(schema) }
  } catch {
    throw badRequest('The JSON schema is not JSON.', 'structured_outputs')
  }
}

function checked(pattern: string): string {
  if (compiled(pattern) === null) throw badRequest('The regex cannot be compiled.', 'structured_outputs')
  return pattern
}

/**
 * The form that the author's words ask for. JSON takes precedence over a pair, a rating, a score, a bare
 * digit and a word.
 */
export function askedForm(instructions: string): ReplyForm {
  const keys = jsonKeys(instructions)
  const scale = scaleOf(instructions)
  if (keys.length > 0) return { kind: 'json', keys, scale }
  if (/\[\[A\]\]|\bA or B\b|"A" or "B"/u.test(instructions)) return { kind: 'pair' }
  if (instructions.includes('[[')) return { kind: 'rating', scale: scale[1] === 1 ? [1, 10] : scale }
  if (/score|rating|grade|评分|打分/iu.test(instructions)) return { kind: 'score', scale }
  const wantsDigit = /\b([01])\b[^.\n]{0,20}\bor\b[^.\n]{0,10}\b(?!\1)[01]\b/u.test(instructions)
  if (!wantsDigit && /\byes\b/iu.test(instructions)) {
    const isUpper = /\bYES\b/u.test(instructions)
    const isTitle = /\bYes\b/u.test(instructions)
    return isUpper
      ? { kind: 'words', yes: 'YES', no: 'NO' }
      : { kind: 'words', yes: isTitle ? 'Yes' : 'yes', no: isTitle ? 'No' : 'no' }
  }
  return { kind: 'words', yes: '1', no: '0' }
}

const lettersAsked = 'Answer with the letter of one option only.'
const lettered = /^([A-Z]): (.*)$/u

const longestOptions = 20_000

/** Options by letter at the end of a prompt, as decisions are asked through a chat; null: it ends in another way. */
export function lettersForm(prompt: string): ReplyForm | null {
  const end = prompt.lastIndexOf(lettersAsked)
  if (end < 0 || prompt.length - end > 200) return null
  const lines = prompt
    .slice(Math.max(0, end - longestOptions), end)
    .trimEnd()
    .split('\n')
  const options: (readonly [letter: string, name: string])[] = []
  while (lines.length > 0) {
    const [, letter, name = ''] = lettered.exec(lines.at(-1) ?? '') ?? []
    if (letter === undefined) break
    options.unshift([letter, name])
    lines.pop()
    if (letter === 'A') break
  }
  if (options.length < 2) return null
  const before = lines.join('\n')
  return {
    kind: 'letters',
    labels: options.map(([letter]) => letter),
    names: options.map(([, name]) => name),
    question: before.slice(before.lastIndexOf('\n\nQuestion: ') + 1),
  }
}

/** The keys of the last `{"key": ...}` in the author's text. */
function jsonKeys(instructions: string): string[] {
  const tail = instructions.slice(-8000)
  const end = tail.lastIndexOf('}')
  const start = tail.lastIndexOf('{', end)
  if (end < 0 || start < 0) return []
  const keys = [...tail.slice(start, end).matchAll(/"([^"\n]{1,80})"\s?:/gu)].map(([, key = '']) => key)
  return [...new Set(keys)]
}

/** '0 to 10', '1-5', 'between 0 and 100', '0, 1 or 2'. 0 to 1 by default. */
function scaleOf(instructions: string): Scale {
  const range =
    /\b([01])(?:\.0)?\s?(?:to|-|–|and|\.\.)\s?(100|10|[1-9])\b/u.exec(instructions) ??
    /\b([01])(?:, ?\d){1,9},? or (10|[1-9])\b/u.exec(instructions)
  return range ? [Number(range[1]), Number(range[2])] : [0, 1]
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
}
