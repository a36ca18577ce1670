import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parse,
  parseDocument,
  Scalar,
  visit,
} from 'yaml'
import type { Problem } from '../../core/errors.ts'
import { isSecretName, keepSecret } from '../../core/secrets.ts'

/** A config file in YAML or JSON. */
export interface ConfigText {
  /** The file's name in problems. */
  readonly file: string
  readonly text: string
  /** Where a mistake at a path is, for a config that is not a file of the user; absent: in the file. */
  readonly placeOf?: (path: ConfigPath) => string
}

/** A config's data, and the place of each value in the text. */
export interface ParsedConfig {
  readonly file: string
  /** The file, if `check --fix` can rewrite it; else null. */
  readonly fixable: string | null
  /** With variables substituted; undefined if the text cannot be parsed. */
  readonly value: unknown
  /** Mistakes in the text itself. */
  readonly problems: readonly Problem[]
  /** A problem at a path, which need not exist. `key`: at the key, not at its value. */
  problemAt(path: ConfigPath, message: string, key?: 'key'): Problem
  /**
   * The other reading of a value that came from a variable: "8" instead of 8, or the reverse (likewise true, false and
   * null). undefined: the value at this path has no variable, or only one reading.
   */
  otherReading(path: ConfigPath): { readonly value: unknown } | undefined
}

const longest = 4 * 1024 * 1024

/** Parses a text, substitutes variables, and collects every mistake in the text itself. */
export function parseConfig({ file, text, placeOf }: ConfigText, env: Environment): ParsedConfig {
  const lines = new LineCounter()
  const fixable = placeOf ? null : file
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  if (text.length > longest) {
    const problems = [{ path: file, message: `a config has at most ${longest} characters` }]
    return {
      file,
      fixable,
      value: undefined,
      problems,
      problemAt: (_, message) => ({ path: file, message }),
      otherReading: () => undefined,
    }
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true })
  const problemAt = (path: ConfigPath, message: string, key?: 'key'): Problem => ({
    path: placeOf
      ? placeOf(path)
      : path.length === 0
        ? place(0)
        : `${place(offsetOf(document, path, key))}: ${pathText(path)}`,
    message,
  })
  const problems = syntaxErrors(document, lines).map(({ offset, message }) => ({
    path: place(offset),
    message: `${message}${quotingHint(lineAt(text, offset))}`,
  }))
  const others = new Map<string, unknown>()
  const otherReading = (path: ConfigPath) => {
    const key = JSON.stringify(path)
    return others.has(key) ? { value: others.get(key) } : undefined
  }
  // What a mistake of syntax makes of the rest is no second mistake.
  if (problems.length === 0)
    problems.push(...oddKeys(document).map(({ offset, message }) => ({ path: place(offset), message })))
  if (problems.length > 0) return { file, fixable, value: undefined, problems, problemAt, otherReading }
  problems.push(
    ...fillVariables(document, env).map(({ offset, message }) => ({ path: place(offset), message })),
  )
  try {
    return {
      file,
      fixable,
      value: resolveAmbiguous(document.toJS(), [], others),
      problems,
      problemAt,
      otherReading,
    }
  } catch (error) {
    problems.push({ path: file, message: error instanceof Error ? error.message : String(error) })
    return { file, fixable, value: undefined, problems, problemAt, otherReading }
  }
}

interface PlacedMessage {
  readonly offset: number
  readonly message: string
}

function oddKeys(document: Document): PlacedMessage[] {
  const found: PlacedMessage[] = []
  visit(document, {
    Pair(_, { key }) {
      if (isNode(key) && !isScalar(key))
        found.push({ offset: startOf(key), message: 'a key must be a string' })
    },
  })
  return found
}

/** Substitutes variables. A plain scalar is parsed again, so that `port: ${PORT}` is a number; a quoted one stays a string. */
function fillVariables(document: Document, env: Environment): PlacedMessage[] {
  const found: PlacedMessage[] = []
  visit(document, {
    Scalar(key, node) {
      const offset = startOf(node)
      if (typeof node.value === 'number' && !isExact(node.value)) {
        found.push({
          offset,
          message: `${node.source ?? node.value} is not finite, or too long to be exact`,
        })
      }
      if (typeof node.value !== 'string' || !node.value.includes('${') || key === 'key') return
      const { text, mistakes } = substitute(node.value, env)
      found.push(...mistakes.map((message) => ({ offset, message })))
      const plain = mistakes.length === 0 ? plainValue(text) : text
      const [value, other] = node.type === Scalar.PLAIN ? [plain, text] : [text, plain]
      node.value = value === other ? text : new AmbiguousValue(value, other)
    },
  })
  return found
}

const isExact = (value: number): boolean =>
  Number.isFinite(value) &&
  (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21)

/** The number, boolean or null that a text spells. No other YAML is parsed in variables. */
function plainValue(text: string): unknown {
  return /^(?:[-+]?[0-9.][0-9.eE+-]*|true|false|null)$/.test(text) ? parse(text) : text
}

function offsetOf(document: Document, path: ConfigPath, key?: 'key'): number {
  let node: unknown = document.contents
  let offset = startOf(document.contents)
  for (const [index, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part))
      if (!pair) return offset
      const last = index === path.length - 1
      node = pair.value
      offset = startOf((last && key) || !isNode(node) || !node.range ? (pair.key as Node) : node)
    } else if (isSeq(node)) {
      const item = node.items[Number(part)]
      if (!isNode(item)) return offset
      node = item
      offset = startOf(item)
    } else return offset
  }
  return offset
}

const startOf = (node: Node | null): number => node?.range?.[0] ?? 0

/** The likely cause of a YAML error in a line. */
function quotingHint(line: string): string {
  if (line.includes('${')) return '; put a text with a variable into quotes here'
  return / \? .* : /.test(line) ? "; put an expression with '? :' into quotes" : ''
}

const lineAt = (text: string, offset: number): string => {
  const end = text.indexOf('\n', offset)
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, end === -1 ? undefined : end)
}

/** Keys and indices from the root on. */
export type ConfigPath = readonly (string | number)[]

/** `steps[2].weight` */
export function pathText(path: ConfigPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      const plain = /^[\w-]+$/.test(part)
      return plain ? `${index === 0 ? '' : '.'}${part}` : `[${JSON.stringify(part)}]`
    })
    .join('')
}

/** The environment variables for configs: process.env, or a test's own. */
export type Environment = Readonly<Record<string, string | undefined>>

const reference = /\$?\$\{([^${}]*)\}/g
const named = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/**
 * Substitutes `${NAME}` and `${NAME:-default}` once; values are not scanned again. An empty variable counts as unset, and
 * `$${` means `${`. If a name looks like a secret's, its value is hidden in all output from here on.
 */
function substitute(
  text: string,
  env: Environment,
): { readonly text: string; readonly mistakes: readonly string[] } {
  const mistakes: string[] = []
  const filled = text.replaceAll(reference, (whole: string, inner: string) => {
    if (whole.startsWith('$$')) return whole.slice(1)
    const [, name = '', fallback] = named.exec(inner) ?? []
    if (name === '') {
      mistakes.push(`'${whole}' is not of the form \${NAME} or \${NAME:-default}; write $\${ for a plain \${`)
      return ''
    }
    const own = Object.hasOwn(env, name) ? env[name] : undefined
    if (isSecretName(name)) keepSecret(name, own)
    const value = own || fallback
    if (value === undefined) {
      mistakes.push(`the environment variable ${name} is not set; set it, or write \${${name}:-default}`)
    }
    return value ?? ''
  })
  return { text: filled, mistakes }
}

/** A value from a variable that has two readings; `value` is the likelier one. */
class AmbiguousValue {
  readonly value: unknown
  readonly other: unknown

  constructor(value: unknown, other: unknown) {
    this.value = value
    this.other = other
  }
}

/** Replaces ambiguous values by their likelier reading, and keeps the other one by path. */
function resolveAmbiguous(value: unknown, path: ConfigPath, others: Map<string, unknown>): unknown {
  if (value instanceof AmbiguousValue) {
    others.set(JSON.stringify(path), value.other)
    return value.value
  }
  if (Array.isArray(value)) return value.map((one, at) => resolveAmbiguous(one, [...path, at], others))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, resolveAmbiguous(one, [...path, key], others)]),
  )
}

/** A copy with the value at an existing path replaced. */
export function replacedAt(value: unknown, [part, ...rest]: ConfigPath, by: unknown): unknown {
  if (part === undefined) return by
  if (Array.isArray(value)) return value.map((one, at) => (at === part ? replacedAt(one, rest, by) : one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === part ? replacedAt(one, rest, by) : one]),
  )
}

interface PlacedMessage {
  readonly offset: number
  readonly message: string
}

/** The first syntax error, because later ones follow from it, and every duplicate key. */
function syntaxErrors(document: Document, lines: LineCounter): PlacedMessage[] {
  const [first, ...later] = document.errors
  const reported = [...(first ? [first] : []), ...later.filter(({ code }) => code === 'DUPLICATE_KEY')]
  return reported.map((error) => ({
    offset: error.pos[0],
    message: wordsOf(error.message, document, lines, error.pos[0]),
  }))
}

/** What YAML's messages about common mistakes mean. */
const plainWords: readonly (readonly [RegExp, string])[] = [
  [
    /^Unexpected flow-(?:map|seq)-start at node end/,
    'a second value begins here: is this a file of rows, and no config?',
  ],
  [
    /without - indicator|sequence may not be used as an implicit map key/i,
    'this line is not indented like its neighbours',
  ],
]

/** YAML's own message or what it means, or which bracket is not closed. */
function wordsOf(message: string, document: Document, lines: LineCounter, at: number): string {
  const [, end] = /and end with a ([\]}])$/.exec(message) ?? []
  if (end === undefined) {
    const [, words] = plainWords.find(([pattern]) => pattern.test(message)) ?? []
    return words === undefined ? message : `${words} (${message})`
  }
  let opened = -1
  visit(document, {
    Collection(_, node) {
      const isKind = end === ']' ? isSeq(node) : isMap(node)
      const start = node.range?.[0] ?? 0
      // The innermost collection that ends here lacks its closing bracket.
      if (isKind && node.flow && start < at && (node.range?.[1] ?? 0) >= at - 1)
        opened = Math.max(opened, start)
    },
  })
  const bracket = end === ']' ? '[' : '{'
  const where = opened === -1 ? '' : ` of line ${lines.linePos(opened).line}`
  return `the '${bracket}'${where} is not closed: a '${end}' is missing`
}
