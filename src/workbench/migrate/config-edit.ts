import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
} from 'yaml'

/** A key-value pair and its mapping. */
export interface Entry {
  readonly map: YAMLMap
  readonly pair: Pair<Scalar, Node | null>
}

/** The YAML nodes of a config, found by path. */
export class ConfigNodes {
  readonly #document: Document
  readonly #anchored: ReadonlyMap<Alias, Node>
  readonly #aliases = new Map<unknown, Alias[]>()

  private constructor(document: Document) {
    this.#document = document
    this.#anchored = anchoredNodes(document)
    for (const [alias, source] of this.#anchored) {
      const known = this.#aliases.get(source)
      if (known) known.push(alias)
      else this.#aliases.set(source, [alias])
    }
  }

  /** null if the text has syntax errors. */
  static of(text: string): ConfigNodes | null {
    const document = parseDocument(text, { prettyErrors: false, merge: true })
    if (document.errors.length > 0) return null
    const nodes = new ConfigNodes(document)
    return nodes.data() === undefined ? null : nodes
  }

  get root(): unknown {
    return this.#document.contents
  }

  /** The document as plain data; undefined if it cannot be converted. */
  data(): unknown {
    try {
      return this.#document.toJS()
    } catch {
      return undefined
    }
  }

  /** The target of an alias; any other node itself. */
  resolved(node: unknown): unknown {
    return isAlias(node) ? this.#anchored.get(node) : node
  }

  /** The aliases that refer to a node. */
  aliasesOf(node: unknown): readonly Alias[] {
    return this.#aliases.get(node) ?? []
  }

  /** The entries at a path; `*` matches any key or index. Shared nodes (anchors, merges) are found once, at their definition. */
  entriesAt(parts: readonly string[]): readonly Entry[] {
    let nodes: ReadonlySet<unknown> = new Set([this.root])
    for (const part of parts.slice(0, -1)) {
      const inner = [...nodes].flatMap((node) => this.#inner(node, part))
      nodes = new Set(inner.map((node) => this.resolved(node)))
    }
    const seen = new Set<unknown>()
    return [...nodes]
      .flatMap((node) => this.#entriesOf(node, seen))
      .filter((one) => one.pair.key.value === parts.at(-1))
  }

  /** The value of a mapping's key, with aliases resolved. */
  valueOf(node: unknown, key: string): unknown {
    const entry = this.#entriesOf(this.resolved(node), new Set()).find(({ pair }) => pair.key.value === key)
    return entry && this.resolved(entry.pair.value)
  }

  #inner(node: unknown, part: string): readonly unknown[] {
    if (isSeq(node)) return part === '*' ? node.items : []
    return this.#entriesOf(node, new Set())
      .filter(({ pair }) => part === '*' || pair.key.value === part)
      .map(({ pair }) => pair.value)
  }

  #entriesOf(node: unknown, seen: Set<unknown>): readonly Entry[] {
    if (!isMap(node) || seen.has(node)) return []
    seen.add(node)
    return node.items.flatMap((item): readonly Entry[] => {
      const { key, value } = item
      if (!isScalar(key)) return []
      if (!isMerge(key)) return [{ map: node, pair: item as Entry['pair'] }]
      const merged = this.resolved(value)
      const maps = isSeq(merged) ? merged.items : [merged]
      return maps.flatMap((map) => this.#entriesOf(this.resolved(map), seen))
    })
  }
}

/** The node of each alias, found in one pass. To resolve each alias alone would search the whole document each time. */
function anchoredNodes(document: Document): ReadonlyMap<Alias, Node> {
  const byName = new Map<string, Node>()
  const found = new Map<Alias, Node>()
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) {
        const source = byName.get(node.source)
        if (source) found.set(node, source)
      } else if (isNode(node) && node.anchor !== undefined) byName.set(node.anchor, node)
    },
  })
  return found
}

const isMerge = ({ source, type }: Scalar): boolean => source === '<<' && type === Scalar.PLAIN

/** A range of a text and its replacement. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Applies edits, which must not overlap. */
export function edited(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end, text: by } of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(text.slice(from, start), by)
    from = end
  }
  return parts.join('') + text.slice(from)
}

/** Quotes a word like the first of these scalars that is quoted, so that JSON stays JSON. */
export function quotedAs(word: string, ...likes: readonly Scalar[]): string {
  const { type } =
    likes.find((one) => one.type === Scalar.QUOTE_DOUBLE || one.type === Scalar.QUOTE_SINGLE) ?? {}
  if (type === Scalar.QUOTE_DOUBLE) return JSON.stringify(word)
  return type === Scalar.QUOTE_SINGLE ? `'${word}'` : word
}

/** The edit that renames a key. */
export const renamedKey = (key: Scalar, name: string): Edit => {
  const [start, end] = key.range ?? [0, 0]
  return { start, end, text: quotedAs(name, key) }
}

export const breakOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
export const joined = (lines: readonly string[], text: string): string =>
  lines.map((line) => line + breakOf(text)).join('')
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1
export const startsLine = (text: string, at: number): boolean =>
  text.slice(lineStart(text, at), at).trim() === ''

/** Whether a setting is alone on its line, apart from a comma and a comment. */
export const isWholeLine = (text: string, start: number, end: number): boolean =>
  startsLine(text, start) && /^[ \t]*,?[ \t]*(?:#.*)?$/.test(text.slice(end, lineEnd(text, end)))

/** The end of the line, without its line break. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  if (end === -1) return text.length
  return text[end - 1] === '\r' && end > at ? end - 1 : end
}

export function nextLine(text: string, end: number): number {
  const next = text.indexOf('\n', end)
  return next === -1 ? text.length : next + 1
}

/** The start of the comment lines directly above a line, or of the line itself. */
export function linesAbove(text: string, at: number): number {
  let start = lineStart(text, at)
  while (start > 0) {
    const above = lineStart(text, start - 1)
    if (!text.slice(above, start).trim().startsWith('#')) break
    start = above
  }
  return start
}

export function lineCounterOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}
