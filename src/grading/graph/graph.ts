/** A node's id with its type: number 1 and text "1" are different nodes. */
export type NodeKey = string

/** What a node carries beside its id, of any type. */
export interface NodeAttributes {
  name?: unknown
  label?: unknown
}

/** An undirected simple graph with self-loops; nodes keep the order in which they came. */
export class Graph {
  readonly nodes = new Map<NodeKey, NodeAttributes>()
  readonly #neighbours = new Map<NodeKey, Set<NodeKey>>()

  get size(): number {
    return this.nodes.size
  }

  addNode(key: NodeKey, attributes: NodeAttributes = {}): void {
    this.nodes.set(key, { ...this.nodes.get(key), ...attributes })
    if (!this.#neighbours.has(key)) this.#neighbours.set(key, new Set())
  }

  /** Adds missing endpoints after the other nodes, `a` first. */
  addEdge(a: NodeKey, b: NodeKey): void {
    if (!this.nodes.has(a)) this.addNode(a)
    if (!this.nodes.has(b)) this.addNode(b)
    this.#neighbours.get(a)?.add(b)
    this.#neighbours.get(b)?.add(a)
  }

  neighbours(key: NodeKey): ReadonlySet<NodeKey> {
    return this.#neighbours.get(key) ?? new Set()
  }

  adjacent(a: NodeKey, b: NodeKey): boolean {
    return this.#neighbours.get(a)?.has(b) ?? false
  }

  /** Every edge once, self-loops included. */
  *edges(): Generator<readonly [NodeKey, NodeKey]> {
    const passed = new Set<NodeKey>()
    for (const [a, neighbours] of this.#neighbours) {
      for (const b of neighbours) if (!passed.has(b)) yield [a, b]
      passed.add(a)
    }
  }

  /** The graph on those of `keys` that exist. */
  induced(keys: Iterable<NodeKey>): Graph {
    const part = new Graph()
    for (const key of keys) if (this.nodes.has(key)) part.addNode(key, this.nodes.get(key))
    for (const a of part.nodes.keys()) {
      for (const b of this.neighbours(a)) if (part.nodes.has(b)) part.addEdge(a, b)
    }
    return part
  }
}

/** The key of an id; null where it cannot be one. Python holds true and 1 for the same. */
export function nodeKey(id: unknown): NodeKey | null {
  if (typeof id === 'string') return `s:${id}`
  if (typeof id === 'number' || typeof id === 'boolean') return `n:${Number(id)}`
  return null
}
