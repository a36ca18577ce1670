/** A node's id with its type: the number 1 and the text "1" are different nodes. */
export type NodeKey = string

/** A node's other attributes, of any type. */
interface NodeAttributes {
  name?: unknown
  label?: unknown
}

/** An undirected simple graph with self-loops. Nodes keep their insertion order. */
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

  /** The subgraph induced by the existing nodes of `keys`. */
  induced(keys: Iterable<NodeKey>): Graph {
    const part = new Graph()
    for (const key of keys) if (this.nodes.has(key)) part.addNode(key, this.nodes.get(key))
    for (const a of part.nodes.keys()) {
      for (const b of this.neighbours(a)) if (part.nodes.has(b)) part.addEdge(a, b)
    }
    return part
  }
}

/** The key of an id, or null if it cannot be one. Like in Python, true and 1 are the same id. */
export function nodeKey(id: unknown): NodeKey | null {
  if (typeof id === 'string') return `s:${id}`
  if (typeof id === 'number' || typeof id === 'boolean') return `n:${Number(id)}`
  return null
}

/** A graph, a list of graphs, or null if unreadable. */
type GraphValue = Graph | readonly GraphValue[] | null

type Fields = Readonly<Record<string, unknown>>

/** Reads node-link JSON, or text that contains it, like networkx: undeclared endpoints become nodes. */
export function readGraph(value: unknown): GraphValue {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (Array.isArray(parsed)) return parsed.map(readGraph)
  return isObject(parsed) ? publishedGraph(parsed) : null
}

/** Reads one graph whose links all join declared nodes. A string is the reason for failure. */
export function readStrictGraph(value: unknown): Graph | string {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (!isObject(parsed)) return 'the graph is not an object'
  const { nodes, links = parsed.edges } = parsed
  if (!Array.isArray(nodes) || nodes.length === 0) return 'the graph has no nodes'
  if (!Array.isArray(links)) return 'the graph has no links'
  const graph = new Graph()
  for (const node of nodes.map(fieldsOf)) {
    const key = strictKey(node.id)
    if (key === null || graph.nodes.has(key)) return 'a node has no id of its own'
    graph.addNode(key, attributesOf(node))
  }
  for (const { source, target } of links.map(fieldsOf)) {
    const [a, b] = [strictKey(source), strictKey(target)]
    if (a === null || b === null || !graph.nodes.has(a) || !graph.nodes.has(b)) {
      return 'a link leads to an undeclared node'
    }
    graph.addEdge(a, b)
  }
  return graph
}

/** Reads two valid graphs. A string is the reason for failure. */
export function readStrictPair(value: unknown): readonly [Graph, Graph] | string {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (!Array.isArray(parsed) || parsed.length !== 2) return 'there are not two graphs'
  const [a, b] = parsed.map(readStrictGraph) as [Graph | string, Graph | string]
  if (typeof a === 'string') return a
  return typeof b === 'string' ? b : [a, b]
}

/** Whether Python treats the value as false: no graph, an empty list, or a graph without nodes. */
export function isEmptyGraph(value: GraphValue): boolean {
  return value === null || (value instanceof Graph ? value.size === 0 : value.length === 0)
}

function publishedGraph(value: Fields): Graph | null {
  const nodes = entries(value.nodes)
  const links = entries(value.links)
  if (!nodes || !links) return null
  const graph = new Graph()
  for (const node of nodes.map(fieldsOf)) {
    const key = nodeKey(node.id)
    if (key === null) return null
    graph.addNode(key, attributesOf(node))
  }
  for (const { source, target } of links.map(fieldsOf)) {
    const [a, b] = [nodeKey(source), nodeKey(target)]
    if (a === null || b === null) return null
    graph.addEdge(a, b)
  }
  return graph
}

function entries(value: unknown): readonly unknown[] | null {
  if (value === undefined || value === '') return []
  if (isObject(value) && Object.keys(value).length === 0) return []
  return Array.isArray(value) ? value : null
}

function attributesOf(node: Fields): NodeAttributes {
  const attributes: NodeAttributes = {}
  if (Object.hasOwn(node, 'name')) attributes.name = node.name
  if (Object.hasOwn(node, 'label')) attributes.label = node.label
  return attributes
}

const strictKey = (id: unknown): NodeKey | null => (typeof id === 'boolean' ? null : nodeKey(id))

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses JSON. null if the text is invalid. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
