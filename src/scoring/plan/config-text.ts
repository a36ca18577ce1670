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
import { type ConfigPath, pathText } from './config-path.ts'
import { type Environment, substitute } from './environment.ts'
import { syntaxErrors } from './syntax-errors.ts'
import { decided, TwoReadings } from './two-readings.ts'

export { type ConfigPath, pathText } from './config-path.ts'

/** A config file: YAML, or JSON, which YAML contains. */
export interface ConfigText {
  /** As it is to be named in problems. */
  readonly file: string
  readonly text: string
  /** Where a mistake at a path stands, for a config that is no file of the user's; absent: in the file. */
  readonly placeOf?: (path: ConfigPath) => string
}

/** A config's data, and where in the text each piece stands. */
export interface ParsedConfig {
  readonly file: string
  /** The file, where it is the user's and `check --fix` can rewrite it; else null. */
  readonly fixable: string | null
  /** Variables filled in; undefined where the text could not be read. */
  readonly value: unknown
  /** What is wrong with the text itself. */
  readonly problems: readonly Problem[]
  /** A mistake at a path, which need not exist. `key`: the key is meant, not its value. */
  problemAt(path: ConfigPath, message: string, key?: 'key'): Problem
  /**
   * What a value with a variable is if it is read the other way: a text as the number, true, false or null that it may
   * stand for, such a value as a text. undefined: the value at this path holds no variable, or there is no other way.
   */
  otherReading(path: ConfigPath): { readonly value: unknown } | undefined
}

const longest = 4 * 1024 * 1024

/** Reads a text and fills in the environment; finds every mistake that the text itself has. */
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
  problems.push(...oddKeys(document).map(({ offset, message }) => ({ path: place(offset), message })))
  if (problems.length > 0) return { file, fixable, value: undefined, problems, problemAt, otherReading }
  problems.push(
    ...fillVariables(document, env).map(({ offset, message }) => ({ path: place(offset), message })),
  )
  try {
    return { file, fixable, value: decided(document.toJS(), [], others), problems, problemAt, otherReading }
  } catch (error) {
    problems.push({ path: file, message: error instanceof Error ? error.message : String(error) })
    return { file, fixable, value: undefined, problems, problemAt, otherReading }
  }
}

interface Found {
  readonly offset: number
  readonly message: string
}

function oddKeys(document: Document): Found[] {
  const found: Found[] = []
  visit(document, {
    Pair(_, { key }) {
      if (isNode(key) && !isScalar(key)) found.push({ offset: startOf(key), message: 'a key must be a text' })
    },
  })
  return found
}

/** A plain scalar that held a variable is read again, so that `port: ${PORT}` is a number; a quoted one may be meant so. */
function fillVariables(document: Document, env: Environment): Found[] {
  const found: Found[] = []
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
      node.value = value === other ? text : new TwoReadings(value, other)
    },
  })
  return found
}

const isExact = (value: number): boolean =>
  Number.isFinite(value) &&
  (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21)

/** A number, true, false or null where the text is one; nothing else of YAML is read in a variable. */
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

/** What most likely broke the YAML of a line. */
function quotingHint(line: string): string {
  if (line.includes('${')) return '; put a text with a variable into quotes here'
  return / \? .* : /.test(line) ? "; put an expression with '? :' into quotes" : ''
}

const lineAt = (text: string, offset: number): string => {
  const end = text.indexOf('\n', offset)
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, end === -1 ? undefined : end)
}
