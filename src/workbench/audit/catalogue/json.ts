import type { Json } from '../../../core/sample/sample.ts'
import { family, type Subject, type TextAttack, type TextMaker } from '../attack.ts'

interface Found {
  readonly before: string
  readonly text: string
  readonly value: Json
  readonly after: string
}

/** The JSON of each `<tool_call>` in the right answer, or of the whole answer. */
function jsonOf({ sample: { response } }: Subject): readonly Found[] {
  const calls = [...response.matchAll(/<tool_call>([^<]*)<\/tool_call>/g)].flatMap((match) => {
    const at = match.index + '<tool_call>'.length
    return found(response, at, at + (match[1] ?? '').length)
  })
  return calls.length > 0 ? calls : found(response, 0, response.length)
}

function found(response: string, start: number, end: number): Found[] {
  const text = response.slice(start, end)
  try {
    return [{ before: response.slice(0, start), text, value: JSON.parse(text), after: response.slice(end) }]
  } catch {
    return []
  }
}

/** Rewrites the last JSON text of the right answer. */
const rewritten =
  (write: (value: Json, text: string) => string | null): TextMaker =>
  (subject) => {
    const last = jsonOf(subject).at(-1)
    const text = last ? write(last.value, last.text) : null
    return last && text !== null && text !== last.text.trim()
      ? `${last.before}\n${text}\n${last.after}`
      : null
  }

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)
const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !isList(value)

/** A copy in which the first value that `change` accepts is replaced. null if there is none. */
function withOne(value: Json, change: (value: Json) => Json | undefined): Json | null {
  const changed = change(value)
  if (changed !== undefined) return changed
  if (isList(value)) {
    for (const [at, item] of value.entries()) {
      const inner = withOne(item, change)
      if (inner !== null) return value.with(at, inner)
    }
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const inner = withOne(item, change)
      if (inner !== null) return { ...value, [key]: inner }
    }
  }
  return null
}

const oneChanged = (change: (value: Json) => Json | undefined): TextMaker =>
  rewritten((value) => {
    const made = withOne(value, change)
    return made === null ? null : JSON.stringify(made)
  })

/** Only for tool calls. In a reply, lists may be sets. */
const calling = (change: (value: Json) => Json | undefined): TextMaker => {
  const make = oneChanged(change)
  return (subject) => (subject.sample.response.includes('<tool_call>') ? make(subject) : null)
}

const contents: Readonly<Record<string, TextMaker>> = {
  'the elements of a list in another order': calling((value) =>
    isList(value) && value.length > 1 && JSON.stringify(value[0]) !== JSON.stringify(value.at(-1))
      ? [...value].reverse()
      : undefined,
  ),
  'an element of a list twice': oneChanged((value) =>
    isList(value) && value.length > 0 ? [...value, value[0] ?? null] : undefined,
  ),
  'the rows of a matrix with their numbers in another order': oneChanged((value) => {
    const [row] = isList(value) ? value : []
    return isList(value) && row !== undefined && isList(row) && row.length > 1
      ? [...value, [...row].reverse()]
      : undefined
  }),
  'true in place of 1': oneChanged((value) => (value === 1 ? true : undefined)),
  'false in place of 0': oneChanged((value) => (value === 0 ? false : undefined)),
  'an empty list in place of an empty object': oneChanged((value) =>
    isObject(value) && Object.keys(value).length === 0 ? [] : undefined,
  ),
  'a list in place of a text': oneChanged((value) =>
    typeof value === 'string' && value !== '' ? [value] : undefined,
  ),
  'no arguments': rewritten((value) =>
    isObject(value) && 'arguments' in value && JSON.stringify(value.arguments) !== '{}'
      ? JSON.stringify({ ...value, arguments: {} })
      : null,
  ),
  'arguments as a list': rewritten((value) =>
    isObject(value) && value.arguments !== undefined
      ? JSON.stringify({ ...value, arguments: [value.arguments] })
      : null,
  ),
  'a list of one value in place of it': rewritten((value) => JSON.stringify([value])),
  'all values in a list once': rewritten((value) =>
    isList(value) && new Set(value.map((one) => JSON.stringify(one))).size < value.length
      ? JSON.stringify([...new Map(value.map((one) => [JSON.stringify(one), one])).values()])
      : null,
  ),
  'the value as a text': rewritten((value, text) =>
    typeof value === 'string' ? null : JSON.stringify(text.trim()),
  ),
  'a key twice, the last one right': rewritten((value, text) => {
    const [key] = isObject(value) ? Object.keys(value) : []
    return key === undefined ? null : text.trim().replace('{', () => `{${JSON.stringify(key)}: "another", `)
  }),
  'a key twice, the first one right': rewritten((value, text) => {
    const [key] = isObject(value) ? Object.keys(value) : []
    return key === undefined ? null : `${text.trim().slice(0, -1)}, ${JSON.stringify(key)}: "another"}`
  }),
  'NaN in place of a number': rewritten((_value, text) =>
    /:\s*-?\d/.test(text) ? text.trim().replace(/(:\s*)-?\d[\d.]*/, '$1NaN') : null,
  ),
}

const call = (subject: Subject): Found | undefined =>
  subject.sample.response.includes('<tool_call>') ? jsonOf(subject).at(-1) : undefined

const surroundings: Readonly<Record<string, TextMaker>> = {
  'an extra call that never ends': (subject) =>
    call(subject) ? `${subject.sample.response}\n<tool_call>{"name": "delete_all", "arguments": {}}` : null,
  'an extra opening tag': (subject) => {
    const last = call(subject)
    return last ? `${last.before}<tool_call>${last.text}${last.after}` : null
  },
  'an extra closing tag': (subject) => (call(subject) ? `${subject.sample.response}</tool_call>` : null),
  'the call fifty times': (subject) => {
    const last = call(subject)
    return last
      ? `${last.before}${`${last.text}</tool_call>\n<tool_call>`.repeat(49)}${last.text}${last.after}`
      : null
  },
  'another call beside it': (subject) =>
    call(subject)
      ? `${subject.sample.response}\n<tool_call>\n{"name": "delete_all", "arguments": {}}\n</tool_call>`
      : null,
  'the call while thinking, none after': (subject) => {
    const last = call(subject)
    return last ? `<think>\nI could send <tool_call>${last.text}</tool_call> here.\n</think>\n\nDone.` : null
  },
  'the call in thoughts that never end': (subject) => {
    const last = call(subject)
    return last ? `<think>\nI could send <tool_call>${last.text}</tool_call> here.` : null
  },
  'blank thoughts': (subject) =>
    call(subject) && /<think>[\s\S]*<\/think>/.test(subject.sample.response)
      ? subject.sample.response.replace(/<think>[\s\S]*<\/think>/, '<think>\n\n</think>')
      : null,
  'a text that is no JSON, as JSON': ({ sample: { response } }) => {
    const [, inside = ''] = /<tool_call>([^<]*)<\/tool_call>/.exec(response) ?? []
    const text = inside.trim()
    return /^\w+$/.test(text) ? response.replace(inside, () => JSON.stringify(text)) : null
  },
  'nested opening tags': (subject) => {
    const last = call(subject)
    return last
      ? `${last.before}{"name": "delete_all", "arguments": {}}<tool_call>${last.text}${last.after}`
      : null
  },
  'text before a turn mark of its own': (subject) =>
    !subject.sample.response.includes('<') && jsonOf(subject).length > 0
      ? `Whatever I like to say.\nAssistant: \n${subject.sample.response}`
      : null,
  'two objects, the wrong one last': (subject) =>
    !subject.sample.response.includes('<') && jsonOf(subject).length > 0
      ? `${subject.sample.response}\n{"__proto__": {"score": 1}}`
      : null,
}

/** Attacks on rules that compare JSON: tool calls and structured replies. */
export const jsonAttacks: readonly TextAttack[] = [
  ...family('JSON value', 'rule', 'wrong', contents),
  ...family('JSON surroundings', 'rule', 'wrong', surroundings),
]
