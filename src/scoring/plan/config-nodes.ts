import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
} from 'yaml'

/** A key of a mapping, and the mapping. */
export interface Entry {
  readonly map: YAMLMap
  readonly pair: Pair<Scalar, Node | null>
}

/** The nodes of a config's text, to be found by path and to be changed. */
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

  /** null where the text has mistakes. */
  static of(text: string): ConfigNodes | null {
    const document = parseDocument(text, { prettyErrors: false, merge: true })
    if (document.errors.length > 0) return null
    const nodes = new ConfigNodes(document)
    return nodes.data() === undefined ? null : nodes
  }

  get root(): unknown {
    return this.#document.contents
  }

  /** What the text says; undefined where that cannot be told. */
  data(): unknown {
    try {
      return this.#document.toJS()
    } catch {
      return undefined
    }
  }

  /** The node that an alias stands for; another node itself. */
  resolved(node: unknown): unknown {
    return isAlias(node) ? this.#anchored.get(node) : node
  }

  /** The aliases of a node. */
  aliasesOf(node: unknown): readonly Alias[] {
    return this.#aliases.get(node) ?? []
  }

  /**
   * The keys at a path, `*` being any key or place. What is written once and used by anchors and merges is found where it is
   * written, and once.
   */
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

  /** The value of a key of a mapping, through aliases. */
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

/** In one pass, since each alias by itself would search the whole document. */
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
